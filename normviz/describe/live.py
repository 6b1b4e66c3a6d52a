"""Formulas for the steps of an element, x → v → x̂ → y, with places for numbers, and the numbers of all elements.

The browser fills in the numbers of the selected element.
"""

from typing import NamedTuple

import numpy as np

from normviz.core.fields import Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import LayerScalars, ignore_float_warnings
from normviz.core.registry import Scheme
from normviz.describe.kinds import KIND_FORMULAS, MEAN_PART
from normviz.describe.symbols import format_gain_symbol


class LiveFormula(NamedTuple):
    r"""LaTeX with placeholders for numbers: \num{name}, or \num*{name} to put negative numbers in brackets.

    Attributes:
        name: what it says: element, centred, normalized, output or activation; of a statistic, mean or divides.
        forms: how it is written; one for all elements, or one for each of ROOT, PLAIN and LIMIT.
    """

    name: str
    forms: tuple[str, ...]


class ElementNumbers(NamedTuple):
    """One number for every element, stored once (`values`, of `shape`) for all elements that share the number."""

    values: np.ndarray
    shape: Shape


def build_step_formulas(scheme: Scheme, shape: Shape) -> list[LiveFormula]:
    """List the formulas of a scheme's steps, with placeholders for the numbers from `compute_live_numbers`."""
    x, base = scheme.symbol, "x"
    found = [LiveFormula("element", (rf"{x}_{{\num{{n}},\num{{h}},\num{{w}},\num{{c}}}} = \num{{x}}",))]
    symbol = x
    if scheme.summation is not None:
        mean = r"\part{mean}{\num*{mean}}"
        symbol, base = rf"{x} - {MEAN_PART}", "v"
        found.append(LiveFormula("centred", (rf"{symbol} = \num{{x}} - {mean} = \num{{v}}",)))
    if scheme.has_xhat:
        found.append(
            LiveFormula("normalized", KIND_FORMULAS[scheme.kind.key].format_live_xhat(scheme, shape, symbol, base))
        )
        symbol, base = rf"\hat{{{x}}}", "xhat"
    if scheme.gain is not None or scheme.bias is not None:
        gain = scheme.gain is not None
        factor = f"({symbol})" if base == "v" else symbol
        letters = f"{format_gain_symbol(scheme)} {factor}" if gain else symbol
        product = rf"\num{{gain}} \cdot \num*{{{base}}}" if gain else rf"\num{{{base}}}"
        if scheme.bias is not None:
            letters, product = rf"{letters} + \beta", rf"{product} + \num*{{bias}}"
        found.append(LiveFormula("output", (rf"y = {letters} = {product} = \num{{y}}",)))
    elif not scheme.has_effect:
        found.append(LiveFormula("output", (rf"y = {symbol} = \num{{y}}",)))
    if scheme.threshold is not None:
        found.append(LiveFormula("activation", (r"z = \max(y, \tau) = \max(\num{y}, \num{threshold}) = \num{z}",)))
    return found


def build_statistic_formulas(scheme: Scheme) -> list[LiveFormula]:
    """List the formulas of an element's mean and divisor, with placeholders for numbers."""
    found = []
    if scheme.summation is not None:
        found.append(LiveFormula("mean", (r"\mu = \num{mean}",)))
    if scheme.suppression is not None:
        found.append(LiveFormula("divides", KIND_FORMULAS[scheme.kind.key].format_live_divisor(scheme)))
    return found


@ignore_float_warnings
def compute_live_numbers(
    scheme: Scheme, x: np.ndarray, result: NormalizationResult, scalars: LayerScalars
) -> dict[str, ElementNumbers]:
    """Map each placeholder, such as "mean", to its numbers; "form" to the form (ROOT, PLAIN, LIMIT) at each element.

    `divides` is the number below the fraction: the mean square, or the divisor if it is written as it is. For a scheme
    that whitens it is the channel's variance, on the diagonal of Σ. `w0`, … and `v0`, … are the element's row of
    (Σ + εI)^(-1/2) and the channels of its group at its position, which the row multiplies.
    """
    one = (1, 1, 1, 1)
    given = scalars._asdict()
    if scheme.threshold is None:
        del given["threshold"]
    found = {name: ElementNumbers(np.full(one, value), one) for name, value in given.items()}
    found["x"] = ElementNumbers(x, x.shape)
    if scheme.summation is not None and result.mean is not None:
        found["mean"] = ElementNumbers(result.mean, result.mean.shape)
        found["v"] = ElementNumbers(result.v, x.shape)
    numbers = KIND_FORMULAS[scheme.kind.key].find_live_numbers(scheme, result, scalars.eps)
    found |= {name: ElementNumbers(*each) for name, each in numbers.items()}
    if numbers:
        found["xhat"] = ElementNumbers(result.xhat, x.shape)
    if scheme.gain is not None or scheme.bias is not None or not scheme.has_effect:
        found["y"] = ElementNumbers(result.y, x.shape)
    if scheme.threshold is not None:
        found["z"] = ElementNumbers(np.maximum(result.y, scalars.threshold), x.shape)
    return found
