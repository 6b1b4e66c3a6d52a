"""The general form in few passes, for large arrays of ordinary numbers.

`normviz.core.reductions` takes care of extremes: a mean far larger than the spread, squares that overflow or vanish,
fields that are constant. That takes three to seven times as long. A large array is first normalized plainly.
A test of its statistics, which are few, says whether the result needs that care.
"""

import sys
from math import prod
from typing import Any, NamedTuple

from array_api_compat import array_namespace

from normviz.core.arrays import Array
from normviz.core.fields import MAX_DRAWN_ELEMENTS
from normviz.core.reductions import broadcast_statistic, reduce_boxes
from normviz.core.scheme import Scheme

LARGEST_MEAN = 4.0
"""The largest mean, in units of the deviation, for which plain subtraction keeps all but two bits of v."""

RANGE_MARGIN = 2.0**40
"""The distance of a mean square from the smallest and the largest number of its type within which squares are exact."""


class PlainResult(NamedTuple):
    """Mean, centred tensor v, divisor and x̂, as in `NormalizationResult`, from `normalize_in_few_passes`."""

    mean: Array | None
    v: Array
    deviation: Array
    xhat: Array


def normalize_in_few_passes(x: Array, scheme: Scheme, eps: float) -> PlainResult | None:
    """Return v = x - E_A[x] and x̂ = v / sqrt(ε + E_B[v²]) of a large array; None if that could lose digits.

    None also for small arrays, windows, schemes of another form, and arrays without readable numbers, such as those
    that JAX or torch traces.
    """
    summation, suppression = scheme.summation, scheme.suppression
    if prod(x.shape) <= MAX_DRAWN_ELEMENTS or suppression is None or not scheme.is_general_form:
        return None
    if scheme.per_fan_in or any(field.windowed_axes for field in scheme.fields) or _is_compiled_by_torch():
        return None
    xp = array_namespace(x)
    mean, v = None, x
    if summation is not None:
        mean = reduce_boxes(x, summation, xp.mean)
        v = x - broadcast_statistic(mean, x.shape)
    mean_square = reduce_boxes(v * v, suppression, xp.mean)
    if not _is_numerically_safe(mean, mean_square, is_same_field=summation == suppression):
        return None
    deviation = xp.sqrt(mean_square + eps)
    return PlainResult(mean, v, deviation, v / broadcast_statistic(deviation, x.shape))


def _is_numerically_safe(mean: Array | None, mean_square: Array, is_same_field: bool) -> bool:
    """Return True if no mean square is near overflow or underflow, and every mean is small beside its square's root."""
    xp = array_namespace(mean_square)
    finfo = xp.finfo(mean_square.dtype)
    least, most = float(finfo.smallest_normal) * RANGE_MARGIN, float(finfo.max) / RANGE_MARGIN
    fits: Any = (mean_square > least) & (mean_square < most)
    if mean is not None:
        spread = mean_square if is_same_field else xp.min(mean_square)
        fits = xp.all(fits) & xp.all(mean * mean <= LARGEST_MEAN**2 * spread)
    try:
        return bool(xp.all(fits))
    except (RuntimeError, TypeError):  # of torch and of JAX, where an array is traced and has no values
        return False


def _is_compiled_by_torch() -> bool:
    """Return True inside of torch.compile and torch.export, which stop at the first number that is read."""
    compiler = sys.modules.get("torch.compiler")  # which another thread may still be importing, without all its names
    return getattr(compiler, "is_compiling", bool)()
