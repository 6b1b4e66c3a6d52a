"""Formulas of each kind of scheme, in LaTeX: forward, backward, and with places for the numbers of an element."""

from collections.abc import Iterator
from math import inf, prod
from typing import ClassVar

import numpy as np

from normviz.core.fields import AXIS_NAMES, FULL, OWN, Field, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.kinds.spectral import compute_spectral_norm
from normviz.core.kinds.whitening import compute_inverse_root
from normviz.core.normalize import ignore_float_warnings
from normviz.core.registry import Scheme
from normviz.core.statistics import compute_covariances
from normviz.describe.averages import build_averages, format_axis_size
from normviz.describe.symbols import (
    Formula,
    FormulaParts,
    format_argument_latex,
    format_centred,
    format_derivative,
    format_difference,
    format_element,
    format_fan_in,
    format_function_latex,
    format_hat,
    format_mean_square,
    format_neighbour,
    format_sum,
)

AIM_TOLERANCE = 5e-4
"""The largest distance from 0 or 1 at which a sentence says 0 or 1."""

ROOT, PLAIN, LIMIT = range(3)
"""The forms of the divisor: sqrt(σ² + ε); plain, if its square is out of a float's range; and with an arrow, if 0/0 is
replaced by its limit for ε towards 0."""

MAX_SUM_TERMS = 3
"""The most terms of a sum that are written out."""

MEAN_PART = r"\part{mean}{\mu}"

Numbers = tuple[np.ndarray, Shape]
"""One number per statistic, and the shape of these statistics."""


class KindFormulas:
    """The formulas of the general form, and the interface of the others.

    Attributes:
        incoming: the definition of d = ∂l/∂x̂; None for the usual one.
    """

    incoming: ClassVar[str | None] = None

    def format_divisor(self, scheme: Scheme) -> str:
        """Format the divisor; empty if nothing divides."""
        eps = "" if scheme.eps is None else r"+\varepsilon"
        return "" if scheme.suppression is None else rf"\sqrt{{{format_mean_square(scheme)}{eps}}}"

    def define_statistic(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the statistic that divides."""
        if scheme.suppression is None:
            return
        square = build_averages(scheme)["B"]
        summand = (
            f"({format_difference(scheme)})"
            if scheme.divides_by_variance
            else f"{format_centred(scheme)}{square.summand}"
        )
        name = "variance" if scheme.divides_by_variance else "mean square"
        yield Formula(name, f"{format_mean_square(scheme)} = {square.prefix}{summand}^2")

    def define_normalized(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield x̂."""
        if scheme.suppression is None:
            return
        numerator = (
            format_difference(scheme) if scheme.divides_by_variance else format_centred(scheme) + format_element(scheme)
        )
        scale = rf"\frac{{1}}{{\sqrt{{{format_fan_in(scheme)}}}}}" if scheme.per_fan_in else ""
        yield Formula(
            "normalized", rf"{format_hat(scheme)} = {scale}\frac{{{numerator}}}{{{self.format_divisor(scheme)}}}"
        )

    def define_terms(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the definitions of lengths and matrices in the other lines."""
        if scheme.per_fan_in and scheme.eps is None and scheme.suppression == Field((FULL, FULL, FULL, OWN)):
            square, v = build_averages(scheme)["B"], format_centred(scheme)
            length = rf"\lVert {v}{square.index}\rVert"
            quotient = rf"{format_hat(scheme)} = \frac{{{v}{format_element(scheme)}}}{{{length}}}"
            yield Formula("where", rf"{quotient},\quad {length}^2 = {square.sums}{v}{square.summand}^2")

    def differentiate(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        """Yield the lines from d = ∂l/∂x̂ to ∂l/∂x."""
        dx = format_derivative(parts.tensor + parts.element)
        if scheme.suppression is None:
            yield self._differentiate_mean(scheme, parts, f"d{parts.element}", "d")
            return
        yield from _build_averages(scheme, parts)
        divided = _format_divided(scheme, parts)
        if scheme.summation is None or scheme.divides_by_variance:
            yield Formula("input", f"{dx} = {divided}")
            return
        dv = format_derivative(parts.centred + parts.element)
        yield Formula("divided", f"{dv} = {divided}")
        yield self._differentiate_mean(scheme, parts, dv, None)

    def _differentiate_mean(self, scheme: Scheme, parts: FormulaParts, before: str, letter: str | None) -> Formula:
        """Format ∂l/∂x from ∂l/∂v, written as `before`, which is d if `letter` says so."""
        dx = format_derivative(parts.tensor + parts.element)
        if scheme.summation is None:
            return Formula("input", f"{dx} = {before}")
        mean = parts.averages["A"]
        summand = f"{letter}{mean.summand}" if letter else format_derivative(parts.centred + mean.summand)
        return Formula("input", f"{dx} = {before} - {mean.format_transposed(summand)}")

    def differentiate_inside(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        """Yield the derivative by ε, or by the parameters of a function."""
        if scheme.suppression is not None and scheme.eps is not None:
            cube = _format_cubed_deviation(parts, "", "")
            total = rf"{format_sum(scheme, ())}\frac{{d{parts.element}\,{parts.centred}{parts.element}}}{{{cube}}}"
            yield Formula("smoothing", rf"\frac{{\partial l}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")

    def define_inverse(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the definitions that only the backward pass needs."""
        return iter(())

    def format_square(self, scheme: Scheme) -> str:
        """Format the statistic that divides, without ε."""
        return r"\sigma^2" if scheme.summation is not None else rf"\overline{{{scheme.symbol}^2}}"

    def fill_statistic(self, scheme: Scheme) -> tuple[str, ...]:
        """Format the statistic that divides with places for its number, in each form."""
        eps = "" if scheme.eps is None else r" + \varepsilon"
        square = self.format_square(scheme)
        root, plain = rf"{square} = \num{{divides}}", rf"\sqrt{{{square}{eps}}} = \num{{divides}}"
        return root, plain, root

    def fill_normalized(self, scheme: Scheme, shape: Shape, symbol: str, base: str) -> tuple[str, ...]:
        """Format x̂ with places for numbers, in each form, from a dividend and the name of its number."""
        eps = "" if scheme.eps is None else r" + \varepsilon"
        given = "" if scheme.eps is None else r" + \num{eps}"
        square, number = rf"\part{{divides}}{{{self.format_square(scheme)}}}", r"\part{divides}{\num{divides}}"
        letters, root = rf"\sqrt{{{square}{eps}}}", rf"\sqrt{{{number}{given}}}"
        scale = rf"\frac{{1}}{{\sqrt{{{prod(shape[:-1])}}}}} \cdot " if scheme.per_fan_in else ""
        return self._fill_fraction(scheme, scale, symbol, base, letters, root)

    def _fill_fraction(
        self, scheme: Scheme, scale: str, symbol: str, base: str, letters: str, root: str
    ) -> tuple[str, ...]:
        number = r"\part{divides}{\num{divides}}"
        start = rf"\hat{{{scheme.symbol}}} = {scale}\frac{{{symbol}}}{{{letters}}} = {scale}"
        forms = {ROOT: (root, "="), PLAIN: (number, "="), LIMIT: (root, r"\to")}
        return tuple(
            rf"{start}\frac{{\num{{{base}}}}}{{{below}}} {sign} \num{{xhat}}" for below, sign in forms.values()
        )

    def compute_numbers(self, scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, Numbers]:
        """Compute the numbers for the divisor."""
        if result.deviation is None:
            return {}
        below, form = find_squares_under_root(result.deviation, eps, not scheme.kind.has_eps)
        return {"divides": (below, below.shape), "form": (form, below.shape)}

    def describe_aim(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        """Describe what holds for x̂, measured on it and empty if it does not; None for the general form."""
        return None


class SpectralFormulas(KindFormulas):
    """The formulas of spectral norm, which has no ε (Miyato et al. 2018, eq. 8 and 12)."""

    incoming: ClassVar[str | None] = r"d = \frac{\partial l}{\partial\hat W}"

    def format_divisor(self, scheme: Scheme) -> str:
        return r"\sigma_{\max}"

    def define_statistic(self, scheme: Scheme) -> Iterator[Formula]:
        yield Formula("largest singular value", r"\sigma_{\max}(W) = \max_{\lVert a\rVert=1}\lVert Wa\rVert")

    def define_normalized(self, scheme: Scheme) -> Iterator[Formula]:
        yield Formula("normalized", r"\hat{W} = \frac{W}{\sigma_{\max}(W)}")

    def define_terms(self, scheme: Scheme) -> Iterator[Formula]:
        letters, out = format_element(scheme), scheme.axes[-1]
        row = "".join(AXIS_NAMES[axis].letter for axis in scheme.axes[:-1])
        matrix = rf"W\in\mathbb{{R}}^{{{format_fan_in(scheme)}\times {format_axis_size(out)}}}"
        yield Formula("where", rf"{matrix},\quad W_{{({row}){AXIS_NAMES[out].letter}}} = {scheme.symbol}{letters}")

    def differentiate(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        change = r"d-\langle d,\hat W\rangle\,a\,b^\top"
        yield Formula(
            "input", rf"\frac{{\partial l}}{{\partial W}} = \frac{{1}}{{\sigma_{{\max}}}}\left({change}\right)"
        )
        yield Formula("where", r"a,\ b\text{: the singular vectors of }W\text{ of }\sigma_{\max}")

    def differentiate_inside(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        return iter(())

    def format_square(self, scheme: Scheme) -> str:
        return r"\sigma_{\max}"

    def fill_statistic(self, scheme: Scheme) -> tuple[str, ...]:
        return (r"\sigma_{\max} = \num{divides}",) * 3

    def fill_normalized(self, scheme: Scheme, shape: Shape, symbol: str, base: str) -> tuple[str, ...]:
        number = r"\part{divides}{\num{divides}}"
        return self._fill_fraction(scheme, "", symbol, base, r"\part{divides}{\sigma_{\max}}", number)

    def describe_aim(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        return "the largest singular value is 1" if is_near(compute_spectral_norm(result.xhat), 1) else ""


class WhiteningFormulas(KindFormulas):
    """The formulas of whitening, of one group's channels (after Huang et al. 2018)."""

    def define_statistic(self, scheme: Scheme) -> Iterator[Formula]:
        averages, index = build_averages(scheme), format_element(scheme)
        together = averages["B"].terms[-1].sum.removeprefix(r"\sum_{c").removesuffix("}")
        within = rf",\quad c,j{together}" if together else ""
        covariance = rf"{averages['A'].prefix}v{index} v{format_neighbour(scheme)}"
        yield Formula("covariance", rf"\Sigma_{{cj}} = {covariance}{within}")

    def define_normalized(self, scheme: Scheme) -> Iterator[Formula]:
        over = build_averages(scheme)["B"].terms[-1].sum.replace("{c", "{j") or r"\sum_j"
        root = r"\big[(\Sigma+\varepsilon I)^{-1/2}\big]_{cj}"
        yield Formula("normalized", rf"{format_hat(scheme)} = {over} {root}\, v{format_neighbour(scheme)}")

    def differentiate(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        yield Formula("along", r"S = \frac{1}{2}\sum_{n,h,w}\left(v_{nhw}\,d_{nhw}^\top + d_{nhw}\,v_{nhw}^\top\right)")
        yield Formula(
            "divided",
            r"\frac{\partial l}{\partial v_{nhw}} = R\,d_{nhw} + \frac{2}{NHW}\,"
            r"Q\left(K\circ Q^\top S\,Q\right)Q^\top\,v_{nhw}",
        )
        yield self._differentiate_mean(scheme, parts, format_derivative(parts.centred + parts.element), None)

    def differentiate_inside(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        total = r"\sum_{n,h,w} d_{nhw}^\top\,(\Sigma+\varepsilon I)^{-3/2}\,v_{nhw}"
        yield Formula("smoothing", rf"\frac{{\partial l}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")

    def define_inverse(self, scheme: Scheme) -> Iterator[Formula]:
        yield Formula(
            "where",
            r"R = (\Sigma+\varepsilon I)^{-1/2},\quad \Sigma = Q\,\mathrm{diag}(\lambda)\,Q^\top,\quad "
            r"K_{ij} = \frac{-1}{\sqrt{\lambda_i+\varepsilon}"
            r"\sqrt{\lambda_j+\varepsilon}\left(\sqrt{\lambda_i+\varepsilon}+\sqrt{\lambda_j+\varepsilon}\right)}",
        )

    def fill_statistic(self, scheme: Scheme) -> tuple[str, ...]:
        return (r"\Sigma_{cc} = \num{divides}",)

    def fill_normalized(self, scheme: Scheme, shape: Shape, symbol: str, base: str) -> tuple[str, ...]:
        channels = shape[-1] // scheme.count_matrices(shape)
        terms = [rf"\num*{{w{k}}} \cdot \num*{{v{k}}}" for k in range(channels)]
        terms[0] = terms[0].replace("*", "", 1)
        if channels > MAX_SUM_TERMS:
            terms = [terms[0], r"\cdots", terms[-1]]
        root = r"\part{divides}{(\Sigma + \varepsilon I)^{-1/2}}"
        return (rf"\hat{{x}} = {root} (x - {MEAN_PART}) = {' + '.join(terms)} = \num{{xhat}}",)

    def compute_numbers(self, scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, Numbers]:
        shape = result.v.shape
        groups = scheme.count_matrices(shape)
        channels = shape[-1] // groups
        variance = np.mean(np.square(result.v), axis=(0, 1, 2))
        found: dict[str, Numbers] = {"divides": (variance, (1, 1, 1, shape[-1]))}
        terms = list(range(channels) if channels <= MAX_SUM_TERMS else (0, channels - 1))
        matrices = compute_inverse_root(result.v, groups, eps, terms)
        for k, column in zip(terms, np.moveaxis(matrices, -1, 0), strict=True):
            found[f"w{k}"] = column.ravel(), (1, 1, 1, shape[-1])
            found[f"v{k}"] = result.v[..., k::channels], (*shape[:3], groups)
        return found

    def describe_aim(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        groups = scheme.count_matrices(result.v.shape)
        size = result.v.shape[-1] // groups
        matrices = np.stack([compute_covariances(part) for part in np.split(result.xhat, groups, axis=-1)])
        if not is_near(matrices - np.eye(size), 0) or not is_near(result.xhat.mean((0, 1, 2)), 0):
            return ""
        alone = "and no two channels are correlated" if groups == 1 else "and channels of one group are not correlated"
        return f"every channel has mean 0 and variance 1{f', {alone}' if size > 1 else ''}"


class PointwiseFormulas(KindFormulas):
    """The formulas of a function of every element by itself."""

    def define_normalized(self, scheme: Scheme) -> Iterator[Formula]:
        function = format_function_latex(scheme, scheme.symbol + format_element(scheme))
        yield Formula("normalized", f"{format_hat(scheme)} = {function}")

    def differentiate(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        dx = format_derivative(parts.tensor + parts.element)
        yield Formula("input", rf"{dx} = d{parts.element}\,\alpha\,{self._format_slope(scheme, parts)}")

    def differentiate_inside(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        moved = rf"{format_sum(scheme, ())}d{parts.element}\,{self._format_slope(scheme, parts)}"
        by_alpha = format_derivative(r"\alpha")
        yield Formula("inside", rf"{by_alpha} = {moved}\,{parts.tensor}{parts.element}")
        if scheme.shift is not None:
            yield Formula("inside", f"{format_derivative('s')} = {moved}")

    def fill_normalized(self, scheme: Scheme, shape: Shape, symbol: str, base: str) -> tuple[str, ...]:
        numbers = format_argument_latex(scheme, r"\cdot \num*{x}", r"\num{alpha}", r"\num*{s}")
        value = rf"\operatorname{{{scheme.kind.function}}}({numbers})"
        x = scheme.symbol
        return (rf"\hat{{{x}}} = {format_function_latex(scheme, x)} = {value} = \num{{xhat}}",)

    def compute_numbers(self, scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, Numbers]:
        inside, one = {"alpha": scheme.alpha, "s": scheme.shift or 0.0}, (1, 1, 1, 1)
        return {name: (np.full(one, value), one) for name, value in inside.items()}

    def describe_aim(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        return "every number lies between −1 and 1"

    def _format_slope(self, scheme: Scheme, parts: FormulaParts) -> str:
        assert scheme.function is not None
        return scheme.function.slope_latex.format(u=format_argument_latex(scheme, parts.tensor + parts.element))


KIND_FORMULAS: dict[str, KindFormulas] = {
    "general": KindFormulas(),
    "spectral": SpectralFormulas(),
    "whitening": WhiteningFormulas(),
    "pointwise": PointwiseFormulas(),
}
"""The formulas by `Kind.key`."""


def is_near(values: np.ndarray, number: float) -> bool:
    """Return True if all values are near a number, within `AIM_TOLERANCE`."""
    return bool((np.abs(np.asarray(values) - number) <= AIM_TOLERANCE).all())


@ignore_float_warnings
def find_squares_under_root(deviation: np.ndarray, eps: float, plain: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean squares beside ε under the root, and the form in which each is written.

    The deviation itself stands for its square if that leaves the range of a float, or if it is `plain`.
    """
    square = deviation * deviation
    extreme = (deviation != 0) & np.isfinite(deviation) & ~((square > 1e-300) & (square < inf))
    variance = square - eps
    # What is left below this is the rounding of the deviation, in float32 at least.
    variance = np.where(variance < 2**-22 * square, 0.0, variance)
    form = np.where(deviation == 0, LIMIT, np.where(extreme, PLAIN, ROOT)).astype(np.uint8)
    return np.where(extreme | plain, deviation, variance), form


def _build_averages(scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
    """Yield E[d x̂], and E[d] if A and B are one field; nothing for windows, whose σ stays under the sum."""
    square = parts.averages["B"]
    if square.window_terms:
        return
    hat = parts.hat.removesuffix(parts.element) + square.summand
    over = square.sums if scheme.per_fan_in else square.prefix  # the fan-in in x̂ takes up that of the mean
    if scheme.divides_by_variance:
        yield Formula("mean", rf"\overline{{d}}{square.index} = {square.prefix}d{square.summand}")
    yield Formula("along", rf"{_format_hat_average(scheme, parts)} = {over}d{square.summand}\,{hat}")


def _format_divided(scheme: Scheme, parts: FormulaParts) -> str:
    """Format ∂l/∂v; if A and B are one field, the mean is subtracted as well, and the result is ∂l/∂x."""
    square, d = parts.averages["B"], "d" + parts.element
    if square.window_terms:
        cube = _format_cubed_deviation(parts, square.index, square.neighbour_index)
        back = square.format_transposed(rf"\frac{{d{square.summand}\,{parts.centred}{square.summand}}}{{{cube}}}")
        return rf"\frac{{{d}}}{{{parts.below}}} - {parts.centred}{parts.element}\,{back}"
    mean = rf" - \overline{{d}}{square.index}" if scheme.divides_by_variance else ""
    return (
        rf"\frac{{1}}{{{_format_divisor(scheme, parts)}}}\left({d}{mean} - "
        rf"{parts.hat}\,{_format_hat_average(scheme, parts)}\right)"
    )


def _format_hat_average(scheme: Scheme, parts: FormulaParts) -> str:
    """Format the symbol of E[d x̂], a sum if x̂ has the fan-in."""
    both = rf"d\hat{{{parts.tensor}}}"
    return (rf"\langle {both}\rangle" if scheme.per_fan_in else rf"\overline{{{both}}}") + parts.averages["B"].index


def _format_divisor(scheme: Scheme, parts: FormulaParts) -> str:
    """Format the divisor, with the square root of the fan-in if x̂ has that."""
    if not scheme.per_fan_in:
        return parts.below
    sizes = "".join(term.size for term in parts.averages["B"].terms if term.size)
    return rf"\sqrt{{{sizes}}}\,{parts.below}"


def _format_cubed_deviation(parts: FormulaParts, index: str, neighbour: str) -> str:
    """Format (σ² + ε)^{3/2}, under the index of a neighbour."""
    inside = parts.below.removeprefix(r"\sqrt{").removesuffix("}")
    if index:
        inside = inside.replace(index, neighbour, 1)
    return rf"({inside})^{{3/2}}"
