"""Stages of a normalization for the animated cube: x, its statistics, and the results."""

from collections.abc import Iterator
from math import prod
from typing import NamedTuple

import numpy as np

from normviz.charts.cube import CubeStage
from normviz.core.fields import Field, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import LayerScalars
from normviz.core.registry import Scheme
from normviz.core.text import typeset
from normviz.describe import wording
from normviz.describe.general_form import PLAIN, find_squares_under_root
from normviz.describe.kinds import KIND_FORMULAS

MAX_ANIMATED_ELEMENTS = 16_384
"""Most elements that a browser animates smoothly."""


def build_stages(
    scheme: Scheme, x: np.ndarray, result: NormalizationResult, layer: LayerScalars
) -> Iterator[CubeStage]:
    """Yield the stages of normalization for the animation: x → μ → x − μ → σ² → x̂ → y, and max(y, τ).

    A pointwise scheme has x → x̂ → y. Where σ² leaves the range of a float, √(σ² + ε) stands for it.
    """
    eps, gain, bias, threshold = layer
    symbol = scheme.symbol
    v, hat = (symbol if scheme.summation is None else f"{symbol} − μ"), f"{symbol}̂"
    yield CubeStage(symbol, f"{symbol}, the tensor as it comes: {wording.pluralize(x.size, 'number')}.", x, "element")
    if scheme.summation is not None and result.mean is not None:
        yield from _yield_statistic_stages(
            scheme, scheme.summation, x.shape, result.mean, "μ", f"mean μ of {symbol}", "centred"
        )
        yield CubeStage(v, f"Subtract its mean from every element: {v}.", result.v, "centred")
    root = ""
    if scheme.suppression is not None and result.deviation is not None:
        divisor = _compute_divisor(scheme, v, result, eps)
        root = divisor.root
        yield from _yield_statistic_stages(
            scheme, scheme.suppression, x.shape, divisor.values, divisor.symbol, divisor.what, "normalized", scale=2
        )
    if scheme.has_xhat:
        says = KIND_FORMULAS[scheme.kind.key].describe_step(scheme, x.shape, eps, v, root)
        yield CubeStage(hat, says, result.xhat, "normalized", scale=1)
    if scheme.gain is not None or scheme.bias is not None:
        made, done, numbers = hat if scheme.has_xhat else v, [], []
        made = f"({made})" if " " in made and scheme.gain is not None else made
        if scheme.gain is not None:
            made, done = f"{scheme.gain_symbol} {made}", ["scaled"]
            numbers = [f"{scheme.gain_symbol} = {typeset(gain, 4)}"]
        if scheme.bias is not None:
            made, done, numbers = (f"{made} + β", [*done, "shifted"], [*numbers, f"β = {typeset(bias, 4)}"])
        how = wording.capitalize_first(" and ".join(done))
        says = f"{how} by what is learned: y = {made}, here {' and '.join(numbers)}."
        yield CubeStage("y", says, result.y, "output", scale=1)
    if scheme.threshold is not None:
        says = f"Nothing stays below a learned threshold: z = max(y, τ), here τ = {typeset(threshold, 4)}."
        yield CubeStage("z", says, np.maximum(result.y, threshold), "activation", scale=1)


COPIED = "copied back"
"""Label of an axis along which a stage broadcasts a statistic."""


class Divisor(NamedTuple):
    """Divisor of a scheme: symbol, description, values in the shape of the statistics, and formula of its root."""

    symbol: str
    what: str
    values: np.ndarray
    root: str


def _compute_divisor(scheme: Scheme, v: str, result: NormalizationResult, eps: float) -> Divisor:
    """Compute the mean square that a scheme divides by, or its root if the square leaves the range of floats."""
    assert result.deviation is not None
    own = KIND_FORMULAS[scheme.kind.key].symbol
    if own is not None:
        return Divisor(own, scheme.kind.statistic, result.deviation, own)
    symbol = "σ²" if scheme.summation is not None else f"mean {v}²"
    square = f"mean σ² of ({v})²" if scheme.summation is not None else f"mean of {v}²"
    eps_too = " + ε" if scheme.eps is not None else ""
    root = f"√({symbol}{eps_too})"
    values, form = find_squares_under_root(result.deviation, eps)
    if (form == PLAIN).any():
        return Divisor(root, f"{square}{eps_too}, and its root", result.deviation, root)
    return Divisor(symbol, square, values, root)


def _yield_statistic_stages(
    scheme: Scheme, field: Field, shape: Shape, values: np.ndarray, symbol: str, statistic_name: str, line: str,
    scale: int = 0,
) -> Iterator[CubeStage]:  # fmt: skip
    """Yield the stages "average" and "copy back" of the statistic `symbol`; only "average" for a window per element.

    `line` is the key of the formula that is highlighted, `scale` the index of the stages' colour scale.
    """
    field = field.simplify(shape)
    joined = KIND_FORMULAS[scheme.kind.key].joined
    how = f"of all of it as {joined}" if joined else wording.describe_reduction(field, scheme.axes, shape)
    axes = [  # how many statistics there are along each axis, and the reduction along it in words
        (rule.count_statistics(n), joined or wording.describe_rule(rule, n)) if n > 1 else (1, "")
        for rule, n in zip(field.rules, shape, strict=True)
    ]
    if field.windowed_axes and field.with_own_windows.find_smallest_size(shape) == 1:
        says = f"The {statistic_name}: {how}. Each element has its own window: nothing collapses."
        yield CubeStage(symbol, says, values, line, slides=True, axes=axes, scale=scale)
        return
    count = prod(field.compute_statistics_shape(shape))
    copied = [
        (many, "" if n == 1 else "kept" if many == n else COPIED) for (many, _), n in zip(axes, shape, strict=True)
    ]
    says = f"The {statistic_name}: {how}. {wording.pluralize(prod(shape), 'number')} become {count:,}."
    yield CubeStage(symbol, says, values, line, field, axes=axes, scale=scale)
    says = f"Broadcast: copy each {symbol} to the elements it came from."
    yield CubeStage(symbol, says, values, line, axes=copied, scale=scale)
