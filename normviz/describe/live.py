"""Formulas for the steps of an element, x → v → x̂ → y, with places for numbers, and the numbers of all elements.

The browser fills in the numbers of the selected element.
"""

from math import inf, prod
from typing import NamedTuple

import numpy as np

from normviz.core.fields import Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.kinds.whitening import compute_inverse_root
from normviz.core.normalize import ignore_float_warnings
from normviz.core.registry import Scheme
from normviz.describe.notation import TENSOR_SYMBOLS, format_argument_latex, format_function_latex, format_gain_symbol

ROOT, PLAIN, LIMIT = range(3)
"""The forms of the divisor: sqrt(σ² + ε); plain, if its square is out of a float's range; and with an arrow, if 0/0 is
replaced by its limit for ε towards 0."""


MAX_SUM_TERMS = 3
"""The most terms of a sum that are written out."""


class LiveFormula(NamedTuple):
    r"""A line of LaTeX: \num{name} is the place of a number, \num*{name} of one that has brackets where it is negative.

    Attributes:
        name: what it says: element, centred, normalized, output or activation; of a statistic, mean or divides.
        forms: how it is written; one for all elements, or one for each of ROOT, PLAIN and LIMIT.
    """

    name: str
    forms: tuple[str, ...]


class ElementNumbers(NamedTuple):
    """A number of every element: `values`, in the shape of the statistics of which elements share one."""

    values: np.ndarray
    shape: Shape

    def look_up(self, index: tuple[int, ...], shape: Shape) -> float:
        """Return the number of the element at `index` of a tensor of this shape."""
        at = tuple(i * count // n for i, count, n in zip(index, self.shape, shape, strict=True))
        return float(self.values.reshape(self.shape)[at])


def build_step_formulas(scheme: Scheme, shape: Shape) -> list[LiveFormula]:
    """Build formulas for the steps of a scheme, with places for the numbers of `compute_live_numbers`."""
    x, base = TENSOR_SYMBOLS.get(scheme.acts_on, "x"), "x"
    found = [LiveFormula("element", (rf"{x}_{{\num{{n}},\num{{h}},\num{{w}},\num{{c}}}} = \num{{x}}",))]
    symbol = x
    if scheme.summation is not None:
        mean = r"\part{mean}{\num*{mean}}"
        symbol, base = rf"{x} - {_MEAN}", "v"
        found.append(LiveFormula("centred", (rf"{symbol} = \num{{x}} - {mean} = \num{{v}}",)))
    if scheme.has_xhat:
        found.append(LiveFormula("normalized", _normalized(scheme, shape, symbol, base)))
        symbol, base = rf"\hat{{{x}}}", "xhat"
    if scheme.gain is not None or scheme.bias is not None:
        gain = scheme.gain is not None
        factor = f"({symbol})" if base == "v" else symbol
        letters = f"{format_gain_symbol(scheme)} {factor}" if gain else symbol
        product = rf"\num{{gain}} \cdot \num*{{{base}}}" if gain else rf"\num{{{base}}}"
        if scheme.bias is not None:
            letters, product = rf"{letters} + \beta", rf"{product} + \num*{{bias}}"
        found.append(LiveFormula("output", (rf"y = {letters} = {product} = \num{{y}}",)))
    elif not scheme.acts:
        found.append(LiveFormula("output", (rf"y = {symbol} = \num{{y}}",)))
    if scheme.threshold is not None:
        found.append(LiveFormula("activation", (r"z = \max(y, \tau) = \max(\num{y}, \num{threshold}) = \num{z}",)))
    return found


def build_statistic_formulas(scheme: Scheme) -> list[LiveFormula]:
    """Build formulas for the statistics that an element shares: its mean and its divisor."""
    found = []
    if scheme.summation is not None:
        found.append(LiveFormula("mean", (r"\mu = \num{mean}",)))
    if scheme.suppression is not None:
        square = _square(scheme)
        if scheme.whitens:
            return [*found, LiveFormula("divides", (rf"{square} = \num{{divides}}",))]
        eps = "" if scheme.eps is None else r" + \varepsilon"
        root, plain = rf"{square} = \num{{divides}}", rf"\sqrt{{{square}{eps}}} = \num{{divides}}"
        found.append(LiveFormula("divides", (root, root if scheme.spectral else plain, root)))
    return found


@ignore_float_warnings
def compute_live_numbers(
    scheme: Scheme,
    x: np.ndarray,
    result: NormalizationResult,
    eps: float,
    gain: float,
    bias: float,
    threshold: float = 0.0,
) -> dict[str, ElementNumbers]:
    """Compute the numbers of every element, by their names in the formulas, and the `form` that a formula has.

    `divides` is the number below the fraction: the mean square, or the divisor if it is written as it is. For a scheme
    that whitens it is the channel's variance, on the diagonal of Σ. `w0`, … and `v0`, … are the element's row of
    (Σ + εI)^(-1/2) and the channels of its group at its position, which the row multiplies.
    """
    one = (1, 1, 1, 1)
    found = {
        name: ElementNumbers(np.full(one, value), one) for name, value in (("eps", eps), ("gain", gain), ("bias", bias))
    }
    found["x"] = ElementNumbers(x, x.shape)
    if scheme.summation is not None and result.mean is not None:
        found["mean"] = ElementNumbers(result.mean, result.mean.shape)
        found["v"] = ElementNumbers(result.v, x.shape)
    if scheme.whitens:
        found |= _whitened(scheme, result, eps)
        found["xhat"] = ElementNumbers(result.xhat, x.shape)
    elif scheme.suppression is not None and result.deviation is not None:
        below, form = find_squares_under_root(result.deviation, eps, scheme.spectral)
        found |= {"divides": ElementNumbers(below, below.shape), "form": ElementNumbers(form, below.shape)}
        found["xhat"] = ElementNumbers(result.xhat, x.shape)
    elif scheme.pointwise is not None:
        inside = {"alpha": scheme.alpha, "s": scheme.shift or 0.0}
        found |= {name: ElementNumbers(np.full(one, value), one) for name, value in inside.items()}
        found["xhat"] = ElementNumbers(result.xhat, x.shape)
    if scheme.gain is not None or scheme.bias is not None or not scheme.acts:
        found["y"] = ElementNumbers(result.y, x.shape)
    if scheme.threshold is not None:
        found["threshold"] = ElementNumbers(np.full(one, threshold), one)
        found["z"] = ElementNumbers(np.maximum(result.y, threshold), x.shape)
    return found


_MEAN = r"\part{mean}{\mu}"


def _normalized(scheme: Scheme, shape: Shape, symbol: str, base: str) -> tuple[str, ...]:
    x = TENSOR_SYMBOLS.get(scheme.acts_on, "x")
    if scheme.pointwise is not None:
        numbers = format_argument_latex(scheme, r"\cdot \num*{x}", r"\num{alpha}", r"\num*{s}")
        value = rf"\operatorname{{{scheme.pointwise}}}({numbers})"
        return (rf"\hat{{{x}}} = {format_function_latex(scheme, x)} = {value} = \num{{xhat}}",)
    if scheme.whitens:
        return (_product(shape[-1] // scheme.matrices(shape)),)
    eps = "" if scheme.eps is None else r" + \varepsilon"
    given = "" if scheme.eps is None else r" + \num{eps}"
    scale = rf"\frac{{1}}{{\sqrt{{{prod(shape[:-1])}}}}} \cdot " if scheme.per_fan_in else ""
    square, number = rf"\part{{divides}}{{{_square(scheme)}}}", r"\part{divides}{\num{divides}}"
    letters = square if scheme.spectral else rf"\sqrt{{{square}{eps}}}"
    root = number if scheme.spectral else rf"\sqrt{{{number}{given}}}"
    start = rf"\hat{{{x}}} = {scale}\frac{{{symbol}}}{{{letters}}} = {scale}"
    forms = {ROOT: (root, "="), PLAIN: (number, "="), LIMIT: (root, r"\to")}
    return tuple(rf"{start}\frac{{\num{{{base}}}}}{{{below}}} {sign} \num{{xhat}}" for below, sign in forms.values())


def _product(channels: int) -> str:
    """Format x̂ as a sum over the channels of a group, only the first and the last if there are many."""
    terms = [rf"\num*{{w{k}}} \cdot \num*{{v{k}}}" for k in range(channels)]
    terms[0] = terms[0].replace("*", "", 1)
    if channels > MAX_SUM_TERMS:
        terms = [terms[0], r"\cdots", terms[-1]]
    root = r"\part{divides}{(\Sigma + \varepsilon I)^{-1/2}}"
    return rf"\hat{{x}} = {root} (x - {_MEAN}) = {' + '.join(terms)} = \num{{xhat}}"


def _whitened(scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, ElementNumbers]:
    """Compute the numbers of a channel's variance, and of the terms of `_product`."""
    shape = result.v.shape
    groups = scheme.matrices(shape)
    channels = shape[-1] // groups
    variance = np.mean(np.square(result.v), axis=(0, 1, 2))
    found = {"divides": ElementNumbers(variance, (1, 1, 1, shape[-1]))}
    terms = list(range(channels) if channels <= MAX_SUM_TERMS else (0, channels - 1))
    matrices = compute_inverse_root(result.v, groups, eps, terms)
    for k, column in zip(terms, np.moveaxis(matrices, -1, 0), strict=True):
        found[f"w{k}"] = ElementNumbers(column.ravel(), (1, 1, 1, shape[-1]))
        found[f"v{k}"] = ElementNumbers(result.v[..., k::channels], (*shape[:3], groups))
    return found


def _square(scheme: Scheme) -> str:
    """Format the square under the root of the divisor."""
    if scheme.whitens:
        return r"\Sigma_{cc}"
    if scheme.spectral:
        return r"\sigma_{\max}"
    return r"\sigma^2" if scheme.summation is not None else rf"\overline{{{TENSOR_SYMBOLS.get(scheme.acts_on, 'x')}^2}}"


@ignore_float_warnings
def find_squares_under_root(deviation: np.ndarray, eps: float, spectral: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean squares beside ε under the root, and the form in which each is written.

    Where the square leaves the range of a float, and of a spectral scheme, the deviation stands for it.
    """
    square = deviation * deviation
    extreme = (deviation != 0) & np.isfinite(deviation) & ~((square > 1e-300) & (square < inf))
    variance = square - eps
    # What is left below this is the rounding of the deviation, in float32 at least.
    variance = np.where(variance < 2**-22 * square, 0.0, variance)
    form = np.where(deviation == 0, LIMIT, np.where(extreme, PLAIN, ROOT)).astype(np.uint8)
    return np.where(extreme | spectral, deviation, variance), form
