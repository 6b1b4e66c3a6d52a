"""The general form, once, for NumPy arrays and torch tensors (array API).

    v  = z - E_A[z]                    A: summation field; no centring where there is none
    ẑ  = v / sqrt(ε + E_B[v²])         B: suppression field
    y  = γ ẑ + β

The four axes are counted from the end, so any number of leading axes may stand before them: a stack of
networks is one array. Numerical care, all of it exact in exact arithmetic:

- an element of the field is taken off before the mean is, so that a huge mean costs a small spread nothing,
  and a constant field becomes exactly zero;
- v is divided by a power of two before it is squared, so that 1e20 and 1e-20 neither overflow nor vanish in
  float32;
- 0/0, a constant field at ε = 0, is 0: the limit of ε towards 0.
"""

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from normviz.errors import InvalidInput
from normviz.fields import Field, Rule
from normviz.schemes import Scheme

Array = Any
"""A NumPy array or a torch tensor, of floating point."""


class Normalized(NamedTuple):
    """What the general form computes on its way; statistics have the shape of the field's statistics.

    mean: E_A[z], or None without centring. v: the centred tensor. deviation: sqrt(ε + E_B[v²]) or the
    largest singular value, or None. xhat: the normalized tensor. y: γ ẑ + β.
    """

    mean: Array | None
    v: Array
    deviation: Array | None
    xhat: Array
    y: Array


def normalize(
    z: Array, scheme: Scheme, eps: float | None = None, gain: Array | float = 1.0, bias: Array | float = 0.0
) -> Normalized:
    """Normalize z by the scheme's fields: y = γ · scale · v / sqrt(ε + E_B[v²]) + β.

    Args:
        z: (..., N, H, W, C), or (..., kh, kw, Cin, Cout) for a scheme that acts on weights.
        scheme: a row of `SCHEMES`, or one with fields of your own.
        eps: ε >= 0; the scheme's own where None.
        gain, bias: γ and β, numbers or arrays that broadcast against z.

    Raises:
        InvalidInput: a field does not fit z's shape, or ε is negative.

    Source: Ren et al. 2017, the general form above Table 2; spectral norm: Miyato et al. 2018, eq. 8.
    """
    if z.ndim < 4:
        raise InvalidInput(f"a tensor has four axes, {', '.join(scheme.axes)}; this one has {z.ndim}.")
    scheme.check(tuple(z.shape[-4:]))
    eps = (scheme.eps or 0.0) if eps is None else eps
    if not 0 <= eps < float("inf"):
        raise InvalidInput(f"ε is a number from 0; this one is {eps}.")
    v, mean = (z, None) if scheme.summation is None else centre(z, scheme.summation)
    if scheme.suppression is None:
        deviation, xhat = None, v
    else:
        deviation = largest_singular_value(z) if scheme.spectral else root_mean_square(v, scheme.suppression, eps)
        xhat = _divide(v, spread(deviation, scheme.suppression, v.shape))
        xhat = xhat * scheme.scale(tuple(z.shape[-4:]))
    return Normalized(mean, v, deviation, xhat, xhat * gain + bias)


def centre(z: Array, field: Field) -> tuple[Array, Array]:
    """v = z - E_A[z], and E_A[z] in the shape of the field's statistics."""
    xp = array_namespace(z)
    anchor = _constant(reduce(z, field.coarse, xp.min))
    anchor = xp.where(xp.isfinite(anchor), anchor, xp.zeros_like(anchor))
    shifted = z - spread(anchor, field.coarse, z.shape)
    mean = reduce(shifted, field, xp.mean)
    # Where the field's boxes are cut finer than the anchor's, the anchor broadcasts against the mean.
    return shifted - spread(mean, field, z.shape), anchor + mean


def root_mean_square(v: Array, field: Field, eps: float = 0.0) -> Array:
    """sqrt(ε + E_B[v²]), in the shape of the field's statistics."""
    xp = array_namespace(v)
    largest = _constant(reduce(xp.abs(v), field.coarse, xp.max))
    largest = xp.where(xp.isfinite(largest) & (largest > eps**0.5), largest, xp.full_like(largest, eps**0.5 or 1.0))
    scale = xp.asarray(2.0, dtype=v.dtype, device=largest.device) ** xp.floor(xp.log2(largest))
    mean_square = reduce(xp.square(v / spread(scale, field.coarse, v.shape)), field, xp.mean) + (eps**0.5 / scale) ** 2
    # The root has no derivative at 0; a constant field at ε = 0 gets none, rather than NaN.
    vanishes = mean_square == 0
    root = xp.sqrt(xp.where(vanishes, xp.ones_like(mean_square), mean_square))
    return scale * xp.where(vanishes, xp.zeros_like(root), root)


def largest_singular_value(weight: Array) -> Array:
    """The spectral norm of the (kh·kw·Cin, Cout) matrix of a weight tensor; shape (..., 1, 1, 1, 1)."""
    xp = array_namespace(weight)
    fan_in, fan_out = int(np.prod(weight.shape[-4:-1])), weight.shape[-1]
    matrix = xp.reshape(weight, (*weight.shape[:-4], fan_in, fan_out))
    # The decomposition raises on NaN and Inf, where every other statistic becomes NaN.
    finite = xp.isfinite(matrix)
    largest = xp.linalg.svdvals(xp.where(finite, matrix, xp.zeros_like(matrix)))[..., :1]
    all_finite = xp.all(xp.all(finite, axis=-1), axis=-1)[..., None]
    return xp.where(all_finite, largest, xp.full_like(largest, float("nan")))[..., None, None, None]


def reduce(x: Array, field: Field, how: Any) -> Array:
    """Reduce x over every box of the field, axis by axis, to the shape of the field's statistics.

    `how` is `xp.mean`, `xp.min` or `xp.max`: each of them over a box is the same over its axes in turn.
    """
    for axis, rule in zip(range(-4, 0), field.rules, strict=True):
        x = _reduce_axis(x, rule, how, axis)
    return x


def spread(statistic: Array, field: Field, shape: tuple[int, ...]) -> Array:
    """Give every element its statistic: an array that broadcasts against one of this shape."""
    xp = array_namespace(statistic)
    for axis in range(-4, 0):
        blocks, n = statistic.shape[axis], shape[axis]
        if 1 < blocks < n:
            statistic = xp.repeat(statistic, n // blocks, axis=axis)
    return statistic


def _reduce_axis(x: Array, rule: Rule, how: Any, axis: int) -> Array:
    n = x.shape[axis]
    blocks = rule.count(n)
    if rule.kind == "window":
        return _reduce_window(x, rule, how, axis)
    if blocks == n:
        return x
    if blocks == 1:
        return how(x, axis=axis, keepdims=True)
    return how(array_namespace(x).reshape(x, _split(x.shape, axis, (blocks, n // blocks))), axis=axis)


def _reduce_window(x: Array, rule: Rule, how: Any, axis: int) -> Array:
    """Gather the window of every index along a new axis. Multiplying by a banded matrix would let one
    non-finite element (0 · inf) spoil windows that it is not in."""
    xp = array_namespace(x)
    n = x.shape[axis]
    lo, hi = rule.bounds(n).T
    index = lo[:, None] + np.arange((hi - lo).max())
    inside = index < hi[:, None]
    flat = xp.asarray(np.minimum(index, hi[:, None] - 1).ravel(), device=x.device)
    windows = xp.reshape(xp.take(x, flat, axis=axis % x.ndim), _split(x.shape, axis, index.shape))
    if how is not xp.mean:
        return how(windows, axis=axis)  # the last index of a window, repeated, changes no minimum or maximum
    column = (n, 1) + (1,) * (-axis - 1)
    mask = xp.asarray(inside.reshape(index.shape + column[2:]), device=x.device)
    total = xp.sum(xp.where(mask, windows, xp.zeros_like(windows)), axis=axis)
    return total / xp.reshape(xp.asarray(hi - lo, dtype=x.dtype, device=x.device), (n, *column[2:]))


def _split(shape: tuple[int, ...], axis: int, parts: tuple[int, int]) -> tuple[int, ...]:
    """The shape with one axis replaced by two; the second of them is then at `axis`, counted from the end."""
    position = axis % len(shape)
    return (*shape[:position], *parts, *shape[position + 1 :])


def _divide(v: Array, deviation: Array) -> Array:
    """v / deviation, where 0/0 is 0."""
    xp = array_namespace(v)
    return v / xp.where(deviation == 0, xp.ones_like(deviation), deviation)


def _constant(x: Array) -> Array:
    """The same numbers with no gradient through them: they cancel out of the result."""
    return x.detach() if hasattr(x, "detach") else x
