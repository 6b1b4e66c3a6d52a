"""Averages over fields and their transposes, for NumPy arrays and torch tensors (array API).

The four axes are counted from the end, so any number of leading axes may stand before them. Numerical care, all of it
exact in exact arithmetic:

- the smallest element of the field is subtracted before the mean is, so that a large mean does not cost a small
  spread its digits, and a constant field becomes exactly zero;
- v is divided by a power of two, near the field's largest magnitude, before it is squared, so that 1e20 and 1e-20
  neither overflow nor vanish in float32;
- both hold for each window alone: windows overlap, so before neighbours' statistics are averaged over a window,
  they are converted to the smallest element, or the largest magnitude, of that window;
- 0/0, a constant field at ε = 0, is 0: the limit of ε towards 0.
"""

from typing import Any

import numpy as np
from array_api_compat import array_namespace

from normviz.core.arrays import Array, get_device
from normviz.core.fields import Field, Rule, Shape


def centre(x: Array, field: Field) -> tuple[Array, Array]:
    """Compute the centred tensor v = x - E_A[x] and the mean E_A[x], in the shape of the field's statistics."""
    xp = array_namespace(x)
    anchor = _detach(reduce_boxes(x, field.with_own_windows, xp.min))
    anchor = xp.where(xp.isfinite(anchor), anchor, xp.zeros_like(anchor))
    above = reduce_boxes(x - broadcast_statistic(anchor, x.shape), field.with_own_windows, xp.mean)  # E_A[x] - anchor
    for axis, rule in field.windowed_axes:
        near = gather_windows(anchor, rule, axis)
        lowest = xp.min(near, axis=axis, keepdims=True)
        above = average_windows(gather_windows(above, rule, axis) + (near - lowest), rule, axis)
        anchor = xp.squeeze(lowest, axis=axis)
    v = (x - broadcast_statistic(anchor, x.shape)) - broadcast_statistic(above, x.shape)
    return v, anchor + above


def compute_rms(v: Array, field: Field, eps: float = 0.0) -> Array:
    """Compute the root mean square sqrt(ε + E_B[v²]) over a field, in the shape of its statistics."""
    xp = array_namespace(v)
    finfo = xp.finfo(v.dtype)
    least, most = max(eps**0.5, float(finfo.smallest_normal)), float(finfo.max) / 2
    largest = xp.clip(_detach(reduce_boxes(xp.abs(v), field.with_own_windows, xp.max)), least, most)
    scale = xp.asarray(2.0, dtype=v.dtype, device=get_device(largest)) ** xp.floor(xp.log2(largest))
    mean_square = reduce_boxes(xp.square(v / broadcast_statistic(scale, v.shape)), field.with_own_windows, xp.mean)
    for axis, rule in field.windowed_axes:
        near = gather_windows(scale, rule, axis)
        largest = xp.max(near, axis=axis, keepdims=True)
        mean_square = average_windows(gather_windows(mean_square, rule, axis) * xp.square(near / largest), rule, axis)
        scale = xp.squeeze(largest, axis=axis)
    mean_square = mean_square + (eps**0.5 / scale) ** 2
    # The root has no derivative at 0: the gradient of a constant field at ε = 0 is set to 0, where it would be NaN.
    vanishes = mean_square == 0
    root = xp.sqrt(xp.where(vanishes, xp.ones_like(mean_square), mean_square))
    return scale * xp.where(vanishes, xp.zeros_like(root), root)


def reduce_boxes(x: Array, field: Field, reduction: Any) -> Array:
    """Apply `reduction` to each set of elements that share a statistic, for fields without windows.

    `reduction` is `xp.mean`, `xp.min` or `xp.max`, which may reduce one axis after another. The result has the shape of
    the statistics.
    """
    for axis, rule in zip(range(-4, 0), field.rules, strict=True):
        n = x.shape[axis]
        blocks = rule.count_statistics(n)
        if blocks == 1 < n:
            x = reduction(x, axis=axis, keepdims=True)
        elif blocks < n:
            x = reduction(array_namespace(x).reshape(x, _split_axis(x.shape, axis, (blocks, n // blocks))), axis=axis)
    return x


def broadcast_statistic(statistic: Array, shape: tuple[int, ...]) -> Array:
    """Copy each statistic to the elements that share it; the result broadcasts against an array of this shape.

    Axes of length 1 stay. A longer axis is shorter than the array's where blocks of equal size share a statistic.
    """
    xp = array_namespace(statistic)
    for axis in range(-4, 0):
        blocks, n = statistic.shape[axis], shape[axis]
        if 1 < blocks < n:
            statistic = xp.repeat(statistic, n // blocks, axis=axis)
    return statistic


def gather_windows(x: Array, rule: Rule, axis: int) -> Array:
    """Gather the window of every index along a new axis after its own; a cut window repeats its last element.

    Multiplying by a banded matrix would turn windows into NaN that do not hold the non-finite element (0 · inf).
    """
    xp = array_namespace(x)
    lo, hi = rule.compute_bounds(x.shape[axis]).T[:, :, None]
    index = np.minimum(lo + np.arange((hi - lo).max()), hi - 1)
    flat = xp.asarray(index.ravel(), device=get_device(x))
    return xp.reshape(xp.take(x, flat, axis=axis % x.ndim), _split_axis(x.shape, axis, index.shape))


def average_windows(windows: Array, rule: Rule, axis: int) -> Array:
    """Average each window in the result of `gather_windows`, without the repeated elements."""
    xp = array_namespace(windows)
    n, longest, behind = windows.shape[axis - 1], windows.shape[axis], (1,) * (-axis - 1)
    size = np.diff(rule.compute_bounds(n))
    inside = xp.asarray((np.arange(longest) < size).reshape(n, longest, *behind), device=get_device(windows))
    total = xp.sum(xp.where(inside, windows, xp.zeros_like(windows)), axis=axis)
    return total / xp.asarray(size.reshape(n, *behind), dtype=windows.dtype, device=get_device(windows))


def apply_transposed_average(x: Array, field: Field) -> Array:
    """Compute E_Aᵀ x, the backward pass of an average over a field; the result broadcasts against x."""
    total = reduce_boxes(x, field.with_own_windows, array_namespace(x).mean)
    for axis, rule in field.windowed_axes:
        sizes = reshape_along_axis(np.diff(rule.compute_bounds(x.shape[axis]))[:, 0], axis, x)
        total = average_windows(gather_windows(total / sizes, rule, axis), rule, axis) * sizes
    return broadcast_statistic(total, x.shape)


def divide_by_divisor(v: Array, deviation: Array) -> Array:
    """Compute v / deviation, with 0/0 = 0 and derivative 0 where the deviation is 0."""
    xp = array_namespace(v)
    return v / xp.where(deviation == 0, xp.full_like(deviation, float("inf")), deviation)


def invert_deviation(deviation: Array) -> Array:
    """Compute 1/σ, and 0 where σ is 0."""
    xp = array_namespace(deviation)
    return 1 / xp.where(deviation == 0, xp.full_like(deviation, float("inf")), deviation)


def reshape_along_axis(numbers: np.ndarray, axis: int, like: Array) -> Array:
    """Reshape a vector to lie along one of the last four axes of `like`, in the dtype and on the device of `like`."""
    behind = (1,) * (-axis - 1)
    return array_namespace(like).asarray(numbers.reshape(-1, *behind), dtype=like.dtype, device=get_device(like))


def count_elements(field: Field, shape: Shape, like: Array) -> Array:
    """Return for every element how many elements share its statistic, in the dtype and on the device of `like`."""
    return array_namespace(like).asarray(field.compute_sizes(shape), dtype=like.dtype, device=get_device(like))


def sum_over_intersection(x: Array, first: Field, second: Field, shape: Shape) -> Array:
    """Sum x, for every element, over the elements that belong to both its `first` and its `second` field."""
    xp = array_namespace(x)
    for axis, ours, theirs in zip(range(-4, 0), first.compute_bounds(shape), second.compute_bounds(shape), strict=True):
        lo, hi = np.maximum(ours[:, 0], theirs[:, 0]), np.minimum(ours[:, 1], theirs[:, 1])
        if np.all(hi - lo == 1):
            continue
        sums = xp.cumulative_sum(x, axis=axis % x.ndim, include_initial=True)
        lo, hi = (xp.asarray(index, device=get_device(x)) for index in (lo, hi))
        x = xp.take(sums, hi, axis=axis % x.ndim) - xp.take(sums, lo, axis=axis % x.ndim)
    return x


def _split_axis(shape: tuple[int, ...], axis: int, parts: tuple[int, int]) -> tuple[int, ...]:
    """Return the shape with one axis split in two, of lengths `parts`; `axis` < 0 is the place of the second."""
    position = axis % len(shape)
    return (*shape[:position], *parts, *shape[position + 1 :])


def _detach(x: Array) -> Array:
    """Detach x from its gradient: the numbers by which x is shifted and scaled cancel out of the result."""
    return x.detach() if hasattr(x, "detach") else x
