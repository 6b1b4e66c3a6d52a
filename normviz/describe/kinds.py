"""The formulas and words of each kind of scheme: forward, backward, and with places for the numbers of an element."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np

from normviz.core.fields import AXIS_NAMES, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.kinds.spectral import compute_spectral_norm
from normviz.core.kinds.whitening import compute_inverse_root
from normviz.core.registry import Scheme
from normviz.core.statistics import compute_covariances
from normviz.core.text import join_words, typeset
from normviz.describe.averages import build_averages, format_axis_size
from normviz.describe.general_form import KindFormulas, Numbers
from normviz.describe.symbols import (
    Formula,
    FormulaSymbols,
    format_argument_latex,
    format_derivative,
    format_element_subscript,
    format_fan_in,
    format_function_latex,
    format_neighbour_subscript,
    format_sum,
    format_xhat,
)
from normviz.describe.wording import format_function_text, pluralize

AIM_TOLERANCE = 5e-4
"""The largest distance from 0 or 1 at which a sentence says 0 or 1."""

MAX_SUM_TERMS = 3
"""The most terms of a sum that are written out."""

MEAN_PART = r"\part{mean}{\mu}"


class SpectralFormulas(KindFormulas):
    """LaTeX of spectral norm, which has no ε (Miyato et al. 2018, eq. 8 and 12)."""

    incoming: ClassVar[str | None] = r"d = \frac{\partial L}{\partial\hat W}"
    symbol: ClassVar[str | None] = "σ₁"
    joined: ClassVar[str | None] = "one matrix"
    jacobian: ClassVar[str | None] = (
        "**One block**: all weights share one largest singular value, so each weight affects all."
    )

    def format_divisor(self, scheme: Scheme) -> str:
        return r"\sigma_{\max}"

    def define_divisor(self, scheme: Scheme) -> Iterator[Formula]:
        yield Formula("largest singular value", r"\sigma_{\max}(W) = \max_{\lVert a\rVert=1}\lVert Wa\rVert")

    def define_xhat(self, scheme: Scheme) -> Iterator[Formula]:
        yield Formula("normalized", r"\hat{W} = \frac{W}{\sigma_{\max}(W)}")

    def define_terms(self, scheme: Scheme) -> Iterator[Formula]:
        letters, out = format_element_subscript(scheme), scheme.axes[-1]
        row = "".join(AXIS_NAMES[axis].letter for axis in scheme.axes[:-1])
        matrix = rf"W\in\mathbb{{R}}^{{{format_fan_in(scheme)}\times {format_axis_size(out)}}}"
        yield Formula("where", rf"{matrix},\quad W_{{({row}){AXIS_NAMES[out].letter}}} = {scheme.symbol}{letters}")

    def differentiate(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        change = r"d-\langle d,\hat W\rangle\,a\,b^\top"
        yield Formula(
            "input", rf"\frac{{\partial L}}{{\partial W}} = \frac{{1}}{{\sigma_{{\max}}}}\left({change}\right)"
        )
        yield Formula("where", r"a,\ b\text{: the singular vectors of }W\text{ of }\sigma_{\max}")

    def differentiate_eps_or_alpha(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        return iter(())

    def format_squared_divisor(self, scheme: Scheme) -> str:
        return r"\sigma_{\max}"

    def format_live_divisor(self, scheme: Scheme) -> tuple[str, ...]:
        return (r"\sigma_{\max} = \num{divides}",) * 3

    def format_live_xhat(self, scheme: Scheme, shape: Shape, dividend: str, placeholder: str) -> tuple[str, ...]:
        number = r"\part{divides}{\num{divides}}"
        return self._format_live_fraction(scheme, "", dividend, placeholder, r"\part{divides}{\sigma_{\max}}", number)

    def describe_guarantee(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        return "the largest singular value is 1" if are_all_near(compute_spectral_norm(result.xhat), 1) else ""

    def describe_computation(self, axes: Sequence[str], matrices: int) -> str | None:
        return "The matrix of w over its largest singular value"


class WhiteningFormulas(KindFormulas):
    """LaTeX of whitening the channels of one group (after Huang et al. 2018)."""

    symbol: ClassVar[str | None] = "√Σ"
    note: ClassVar[str] = "correlations are removed, too"
    constant: ClassVar[str] = "μ and Σ were constants"
    square: ClassVar[str] = "the variance along an eigenvector of Σ"
    response: ClassVar[str] = "that part of x̂"

    def define_divisor(self, scheme: Scheme) -> Iterator[Formula]:
        averages, index = build_averages(scheme), format_element_subscript(scheme)
        together = averages["B"].terms[-1].sum.removeprefix(r"\sum_{c").removesuffix("}")
        within = rf",\quad c,j{together}" if together else ""
        covariance = rf"{averages['A'].prefix}v{index} v{format_neighbour_subscript(scheme)}"
        yield Formula("covariance", rf"\Sigma_{{cj}} = {covariance}{within}")

    def define_xhat(self, scheme: Scheme) -> Iterator[Formula]:
        over = build_averages(scheme)["B"].terms[-1].sum.replace("{c", "{j") or r"\sum_j"
        root = r"\big[(\Sigma+\varepsilon I)^{-1/2}\big]_{cj}"
        yield Formula("normalized", rf"{format_xhat(scheme)} = {over} {root}\, v{format_neighbour_subscript(scheme)}")

    def differentiate(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        yield Formula("along", r"S = \frac{1}{2}\sum_{n,h,w}\left(v_{nhw}\,d_{nhw}^\top + d_{nhw}\,v_{nhw}^\top\right)")
        yield Formula(
            "divided",
            r"\frac{\partial L}{\partial v_{nhw}} = R\,d_{nhw} + \frac{2}{NHW}\,"
            r"Q\left(K\circ Q^\top S\,Q\right)Q^\top\,v_{nhw}",
        )
        yield self._differentiate_mean(scheme, symbols, format_derivative(symbols.centred + symbols.element), None)

    def differentiate_eps_or_alpha(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        total = r"\sum_{n,h,w} d_{nhw}^\top\,(\Sigma+\varepsilon I)^{-3/2}\,v_{nhw}"
        yield Formula("smoothing", rf"\frac{{\partial L}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")

    def define_backward_symbols(self, scheme: Scheme) -> Iterator[Formula]:
        yield Formula(
            "where",
            r"R = (\Sigma+\varepsilon I)^{-1/2},\quad \Sigma = Q\,\mathrm{diag}(\lambda)\,Q^\top,\quad "
            r"K_{ij} = \frac{-1}{\sqrt{\lambda_i+\varepsilon}"
            r"\sqrt{\lambda_j+\varepsilon}\left(\sqrt{\lambda_i+\varepsilon}+\sqrt{\lambda_j+\varepsilon}\right)}",
        )

    def format_live_divisor(self, scheme: Scheme) -> tuple[str, ...]:
        return (r"\Sigma_{cc} = \num{divides}",)

    def format_live_xhat(self, scheme: Scheme, shape: Shape, dividend: str, placeholder: str) -> tuple[str, ...]:
        channels = shape[-1] // scheme.count_covariances(shape)
        terms = [rf"\num*{{w{k}}} \cdot \num*{{v{k}}}" for k in range(channels)]
        terms[0] = terms[0].replace("*", "", 1)
        if channels > MAX_SUM_TERMS:
            terms = [terms[0], r"\cdots", terms[-1]]
        root = r"\part{divides}{(\Sigma + \varepsilon I)^{-1/2}}"
        return (rf"\hat{{x}} = {root} (x - {MEAN_PART}) = {' + '.join(terms)} = \num{{xhat}}",)

    def find_live_numbers(self, scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, Numbers]:
        shape = result.v.shape
        groups = scheme.count_covariances(shape)
        channels = shape[-1] // groups
        variance = np.mean(np.square(result.v), axis=(0, 1, 2))
        found: dict[str, Numbers] = {"divides": (variance, (1, 1, 1, shape[-1]))}
        terms = list(range(channels) if channels <= MAX_SUM_TERMS else (0, channels - 1))
        matrices = compute_inverse_root(result.v, groups, eps, terms)
        for k, column in zip(terms, np.moveaxis(matrices, -1, 0), strict=True):
            found[f"w{k}"] = column.ravel(), (1, 1, 1, shape[-1])
            found[f"v{k}"] = result.v[..., k::channels], (*shape[:3], groups)
        return found

    def describe_guarantee(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        groups = scheme.count_covariances(result.v.shape)
        size = result.v.shape[-1] // groups
        matrices = np.stack([compute_covariances(part) for part in np.split(result.xhat, groups, axis=-1)])
        if not are_all_near(matrices - np.eye(size), 0) or not are_all_near(result.xhat.mean((0, 1, 2)), 0):
            return ""
        alone = "and no two channels are correlated" if groups == 1 else "and channels of one group are not correlated"
        return f"every channel has mean 0 and variance 1{f', {alone}' if size > 1 else ''}"

    def describe_computation(self, axes: Sequence[str], matrices: int) -> str | None:
        groups = "all channels" if matrices == 1 else f"each of {matrices} groups of C"
        return f"Mean over {', '.join(axis for axis in axes if axis != 'C')}; covariance matrix of {groups}"

    def describe_step(self, scheme: Scheme, shape: Shape, eps: float, dividend: str, divisor: str) -> str:
        groups = scheme.count_covariances(shape)
        size = shape[-1] // groups
        return (
            f"{pluralize(groups, 'covariance matrix')} Σ of {size} × {size}, over N, H, W: the channels of every "
            f"position, times (Σ + εI)^(−1/2) of their group, with ε = {typeset(eps)}, give {scheme.symbol}̂."
        )


class PointwiseFormulas(KindFormulas):
    """LaTeX of the pointwise schemes x̂ = f(αx + s)."""

    constant: ClassVar[str] = "nothing were saturated"
    jacobian: ClassVar[str | None] = "**Only the diagonal**: every x̂ depends on its own x alone."
    kept: ClassVar[str] = (
        "nothing is shared: each element has a slope of its own, which is near 0 where it is saturated"
    )

    def define_xhat(self, scheme: Scheme) -> Iterator[Formula]:
        function = format_function_latex(scheme, scheme.symbol + format_element_subscript(scheme))
        yield Formula("normalized", f"{format_xhat(scheme)} = {function}")

    def differentiate(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        dx = format_derivative(symbols.tensor + symbols.element)
        yield Formula("input", rf"{dx} = d{symbols.element}\,\alpha\,{self._format_slope(scheme, symbols)}")

    def differentiate_eps_or_alpha(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        moved = rf"{format_sum(scheme, ())}d{symbols.element}\,{self._format_slope(scheme, symbols)}"
        by_alpha = format_derivative(r"\alpha")
        yield Formula("inside", rf"{by_alpha} = {moved}\,{symbols.tensor}{symbols.element}")
        if scheme.shift is not None:
            yield Formula("inside", f"{format_derivative('s')} = {moved}")

    def format_live_xhat(self, scheme: Scheme, shape: Shape, dividend: str, placeholder: str) -> tuple[str, ...]:
        numbers = format_argument_latex(scheme, r"\cdot \num*{x}", r"\num{alpha}", r"\num*{s}")
        value = rf"\operatorname{{{scheme.kind.function}}}({numbers})"
        x = scheme.symbol
        return (rf"\hat{{{x}}} = {format_function_latex(scheme, x)} = {value} = \num{{xhat}}",)

    def find_live_numbers(self, scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, Numbers]:
        inside, one = {"alpha": scheme.alpha, "s": scheme.shift or 0.0}, (1, 1, 1, 1)
        return {name: (np.full(one, value), one) for name, value in inside.items()}

    def describe_guarantee(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        return "every number lies between −1 and 1"

    def format_function(self, scheme: Scheme) -> str:
        return format_function_text(scheme)

    def describe_computation(self, axes: Sequence[str], matrices: int) -> str | None:
        return "Each element by itself"

    def describe_step(self, scheme: Scheme, shape: Shape, eps: float, dividend: str, divisor: str) -> str:
        inside = join_words(
            [f"{name} = {typeset(number)}" for name, number in scheme.function_parameters.items()], "and"
        )
        return f"Every element {self.describe_element(scheme)}, with {inside}."

    def _format_slope(self, scheme: Scheme, symbols: FormulaSymbols) -> str:
        assert scheme.function is not None
        return scheme.function.slope_latex.format(u=format_argument_latex(scheme, symbols.tensor + symbols.element))


KIND_FORMULAS: dict[str, KindFormulas] = {
    "general": KindFormulas(),
    "spectral": SpectralFormulas(),
    "whitening": WhiteningFormulas(),
    "pointwise": PointwiseFormulas(),
}


def are_all_near(values: np.ndarray, number: float) -> bool:
    """Return True if all values differ from `number` by at most `AIM_TOLERANCE`."""
    return bool((np.abs(np.asarray(values) - number) <= AIM_TOLERANCE).all())
