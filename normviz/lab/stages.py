"""What a scheme does to a tensor, stage by stage: x, its statistics, and what comes of both."""

from collections.abc import Iterator

import numpy as np

from normviz.core.fields import Field, Rule
from normviz.core.normalize import Normalized, spread
from normviz.core.schemes import Scheme
from normviz.core.text import typeset
from normviz.cube.figure import Stage
from normviz.describe import wording
from normviz.describe.notation import SYMBOL

MOVED_UP_TO = 16_384
"""Elements up to which a browser moves all cells smoothly, or nearly so."""


def stages(
    scheme: Scheme, x: np.ndarray, result: Normalized, eps: float, gain: float, bias: float, threshold: float = 0.0
) -> Iterator[Stage]:
    """The stages of the general form, x → μ → v → σ → x̂ → y, and max(y, τ); those that a scheme lacks are left out.

    Of a pointwise scheme there are x → x̂ → y.
    """
    symbol = SYMBOL.get(scheme.acts_on, "x")
    v, hat = (symbol if scheme.summation is None else "v"), f"{symbol}̂"
    yield Stage(symbol, f"{symbol}, the tensor as it comes: {wording.plural(x.size, 'number')}.", x, "element")
    if scheme.summation is not None and result.mean is not None:
        mean = np.broadcast_to(spread(result.mean, scheme.summation, x.shape), x.shape)
        yield from _reduced(scheme, scheme.summation, mean, "μ", f"mean μ of {symbol}", "centred")
        yield Stage("v", f"Every element less its mean: v = {symbol} − μ.", result.v, "centred")
    if scheme.pointwise is not None:
        inside = f"α = {typeset(scheme.alpha)}"
        inside += "" if scheme.shift is None else f" and s = {typeset(scheme.shift)}"
        says = f"Every element passes through {wording.passed_words(scheme)} by itself, with {inside}."
        yield Stage(hat, says, result.xhat, "normalized", scale=1)
    elif scheme.whitens:
        groups, size = scheme.matrices(x.shape), x.shape[-1] // scheme.matrices(x.shape)
        matrices = wording.plural(groups, "covariance matrix")
        says = (
            f"{matrices} Σ of {size} × {size}, over N, H, W: the channels of every position, times (Σ + εI)^(−1/2) of "
            f"their group, with ε = {typeset(eps)}, give {hat}."
        )
        yield Stage(hat, says, result.xhat, "normalized", scale=1)
    elif scheme.suppression is not None and result.deviation is not None:
        deviation = np.broadcast_to(spread(result.deviation, scheme.suppression, x.shape), x.shape)
        beside = f" + ε, with ε = {typeset(eps)}" if scheme.eps is not None else ""
        what = "largest singular value" if scheme.spectral else f"mean of {v}²{beside}, and its root"
        yield from _reduced(scheme, scheme.suppression, deviation, "σ", what, "normalized")
        by = "times 1 over the root of fan-in, " if scheme.per_fan_in else ""
        yield Stage(hat, f"Every element divided by it, {by}gives {hat}.", result.xhat, "normalized", scale=1)
    if scheme.gain is not None or scheme.bias is not None:
        made, done, numbers = hat if scheme.has_xhat else v, [], []
        if scheme.gain is not None:
            made, done = f"{scheme.gain_symbol} {made}", ["scaled"]
            numbers = [f"{scheme.gain_symbol} = {wording.signed(gain)}"]
        if scheme.bias is not None:
            made, done, numbers = f"{made} + β", [*done, "shifted"], [*numbers, f"β = {wording.signed(bias)}"]
        how = wording.sentence(" and ".join(done))
        says = f"{how} by what is learned: y = {made}, here {' and '.join(numbers)}."
        yield Stage("y", says, result.y, "output", scale=1)
    if scheme.threshold is not None:
        says = f"Nothing stays below a learned threshold: z = max(y, τ), here τ = {wording.signed(threshold)}."
        yield Stage("z", says, np.maximum(result.y, threshold), "activation", scale=1)


COPIED = "copied back"
"""What the stage that broadcasts a statistic does along an axis with fewer statistics than indices."""


def _along(scheme: Scheme, rule: Rule, n: int) -> tuple[int, str]:
    """How many statistics there are along an axis, and what is done along it."""
    if n == 1:
        return 1, ""
    return rule.count(n), "one matrix" if scheme.spectral else wording.rule_words(rule, n)


def _reduced(scheme: Scheme, field: Field, values: np.ndarray, symbol: str, what: str, line: str) -> Iterator[Stage]:
    """A statistic: the elements of its field come together, and go back with it."""
    shape, field = values.shape, field.canonical(values.shape)
    how = "of all of it as one matrix" if scheme.spectral else wording.reduction_words(field, scheme.axes, shape)
    axes = [_along(scheme, rule, n) for rule, n in zip(field.rules, shape, strict=True)]
    if field.windows and field.blocks.least(shape) == 1:
        says = f"The {what}: {how}. Each element has its own window: nothing collapses."
        yield Stage(symbol, says, values, line, slides=True, axes=axes)
        return
    count = int(np.prod(field.statistics_shape(shape)))
    copied = [
        (many, "" if n == 1 else "kept" if many == n else COPIED) for (many, _), n in zip(axes, shape, strict=True)
    ]
    says = f"The {what}: {how}. {wording.plural(values.size, 'number')} become {count:,}."
    yield Stage(symbol, says, values, line, field, axes=axes)
    yield Stage(symbol, f"Broadcast: copy each {symbol} to the elements it came from.", values, line, axes=copied)
