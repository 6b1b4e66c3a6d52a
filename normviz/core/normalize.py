"""The general form, once, for NumPy arrays and torch tensors (array API).

    v  = x - E_A[x]                    A: summation field; v = x where there is none
    x̂  = v / sqrt(ε + E_B[v²])         B: suppression field
    y  = γ x̂ + β

The four axes are counted from the end, so any number of leading axes may stand before them: a stack of
networks is one array. Numerical care, all of it exact in exact arithmetic:

- the smallest element of the field is subtracted before the mean is, so that a large mean does not cost a small
  spread its digits, and a constant field becomes exactly zero;
- v is divided by a power of two, near the field's largest magnitude, before it is squared, so that 1e20 and 1e-20
  neither overflow nor vanish in float32;
- both hold for each window alone: windows overlap, so before neighbours' statistics are averaged over a window,
  they are converted to the smallest element, or the largest magnitude, of that window;
- 0/0, a constant field at ε = 0, is 0: the limit of ε towards 0.

Where a scheme is pointwise there are no fields: x̂ = f(αx + s), element by element.
"""

from typing import Any, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from normviz.core.arrays import Array, ArrayLike, to_floating_point
from normviz.core.errors import InvalidInput
from normviz.core.fields import Field, Rule, check_shape
from normviz.core.registry import Scheme
from normviz.core.whitening import whiten


class NormalizationResult(NamedTuple):
    """The steps of the general form; statistics have the shape of the field's statistics.

    Attributes:
        mean: E_A[x]; None without centring.
        v: the centred tensor.
        deviation: sqrt(ε + E_B[v²]), or the largest singular value; None if nothing or a matrix divides.
        xhat: the normalized tensor x̂.
        y: γ x̂ + β.
    """

    mean: Array | None
    v: Array
    deviation: Array | None
    xhat: Array
    y: Array


ignore_float_warnings = np.errstate(invalid="ignore", over="ignore")
"""NaN, Inf and numbers at the edge of their format are data to look at: their fields become NaN without a warning."""


@ignore_float_warnings
def normalize(
    x: ArrayLike, scheme: Scheme, eps: float | None = None, gain: Array | float = 1.0, bias: Array | float = 0.0
) -> NormalizationResult:
    """Normalize x by the scheme's fields: v = x - E_A[x], x̂ = scale · v / sqrt(ε + E_B[v²]), y = γ x̂ + β.

    Args:
        x: (..., N, H, W, C), or (..., kh, kw, Cin, Cout) for a scheme that acts on weights. A NumPy array or a torch
            tensor, on any device and with gradients, or nested lists. Integers and booleans are converted to the
            default floating type: float64 in NumPy, `torch.get_default_dtype()` in torch. Half precision (float16,
            bfloat16) is computed in float32, as in torch: mean and deviation stay float32; v, x̂ and y are rounded to
            the type of x.
        scheme: a row of `SCHEMES`, or one with fields of your own.
        eps: ε >= 0; the scheme's own where None.
        gain, bias: γ and β, numbers or arrays that broadcast against x.

    Raises:
        InvalidInput: not an array of real numbers, fewer than four axes or an empty one, a field that does not fit
            them, or a negative ε.

    >>> import numpy as np
    >>> from normviz import get_scheme, normalize
    >>> x = np.arange(4.0).reshape(2, 1, 1, 2)  # two examples of two channels
    >>> normalize(x, get_scheme("batch"), eps=0).xhat.squeeze()
    array([[-1., -1.],
           [ 1.,  1.]])
    >>> normalize(x, get_scheme("layer"), eps=0).mean.squeeze()
    array([0.5, 2.5])

    Source: Ren et al. 2017, the general form above Table 2; spectral norm: Miyato et al. 2018, eq. 8; whitening:
    Huang et al. 2018, Section 3.
    """
    x, result = to_floating_point(x)
    shape = check_shape(x.shape[-4:], scheme.axes)
    scheme.check(shape)
    eps = (scheme.eps or 0.0) if eps is None else eps
    if not 0 <= eps < float("inf"):
        raise InvalidInput(f"ε is a number from 0; this one is {eps}.")
    v, mean = (x, None) if scheme.summation is None else centre(x, scheme.summation)
    deviation, xhat = None, v
    if scheme.function is not None:
        xhat = scheme.function.value(scheme.inside(x))
    elif scheme.suppression is not None and scheme.whitens:
        xhat = whiten(v, scheme.matrices(shape), eps)
    elif scheme.suppression is not None:
        deviation = compute_spectral_norm(x) if scheme.spectral else compute_rms(v, scheme.suppression, eps)
        xhat = _divide(v, broadcast_statistic(deviation, scheme.suppression, v.shape))
        xhat = xhat * scheme.scale(shape)
    y = xhat * gain + bias
    if result != x.dtype:
        v, xhat, y = (array_namespace(x).astype(part, result) for part in (v, xhat, y))
    return NormalizationResult(mean, v, deviation, xhat, y)


def centre(x: Array, field: Field) -> tuple[Array, Array]:
    """Compute v = x - E_A[x], and E_A[x] in the shape of the field's statistics."""
    xp = array_namespace(x)
    anchor = _constant(reduce_boxes(x, field.blocks, xp.min))
    anchor = xp.where(xp.isfinite(anchor), anchor, xp.zeros_like(anchor))
    above = reduce_boxes(
        x - broadcast_statistic(anchor, field.blocks, x.shape), field.blocks, xp.mean
    )  # E_A[x] - anchor
    for axis, rule in field.windows:
        near = gather_windows(anchor, rule, axis)
        lowest = xp.min(near, axis=axis, keepdims=True)
        above = average_windows(gather_windows(above, rule, axis) + (near - lowest), rule, axis)
        anchor = xp.squeeze(lowest, axis=axis)
    v = (x - broadcast_statistic(anchor, field, x.shape)) - broadcast_statistic(above, field, x.shape)
    return v, anchor + above


def compute_rms(v: Array, field: Field, eps: float = 0.0) -> Array:
    """Compute sqrt(ε + E_B[v²]), in the shape of the field's statistics."""
    xp = array_namespace(v)
    finfo = xp.finfo(v.dtype)
    least, most = max(eps**0.5, float(finfo.smallest_normal)), float(finfo.max) / 2
    largest = xp.clip(_constant(reduce_boxes(xp.abs(v), field.blocks, xp.max)), least, most)
    scale = xp.asarray(2.0, dtype=v.dtype, device=largest.device) ** xp.floor(xp.log2(largest))
    mean_square = reduce_boxes(xp.square(v / broadcast_statistic(scale, field.blocks, v.shape)), field.blocks, xp.mean)
    for axis, rule in field.windows:
        near = gather_windows(scale, rule, axis)
        largest = xp.max(near, axis=axis, keepdims=True)
        mean_square = average_windows(gather_windows(mean_square, rule, axis) * xp.square(near / largest), rule, axis)
        scale = xp.squeeze(largest, axis=axis)
    mean_square = mean_square + (eps**0.5 / scale) ** 2
    # The root has no derivative at 0: the gradient of a constant field at ε = 0 is set to 0, where it would be NaN.
    vanishes = mean_square == 0
    root = xp.sqrt(xp.where(vanishes, xp.ones_like(mean_square), mean_square))
    return scale * xp.where(vanishes, xp.zeros_like(root), root)


def compute_spectral_norm(weight: Array) -> Array:
    """Compute the spectral norm of a weight tensor as a (kh·kw·Cin, Cout) matrix, in the shape (..., 1, 1, 1, 1)."""
    xp = array_namespace(weight)
    fan_in, fan_out = int(np.prod(weight.shape[-4:-1])), weight.shape[-1]
    matrix = xp.reshape(weight, (*weight.shape[:-4], fan_in, fan_out))
    # The decomposition raises an error on NaN and Inf; its result is NaN instead, as that of every other statistic.
    finite = xp.isfinite(matrix)
    largest = xp.linalg.svdvals(xp.where(finite, matrix, xp.zeros_like(matrix)))[..., :1]
    all_finite = xp.all(xp.all(finite, axis=-1), axis=-1)[..., None]
    return xp.where(all_finite, largest, xp.full_like(largest, float("nan")))[..., None, None, None]


def reduce_boxes(x: Array, field: Field, reduction: Any) -> Array:
    """Reduce x over every box of a field without windows, axis by axis, to the shape of the field's statistics.

    `reduction` is `xp.mean`, `xp.min` or `xp.max`: over a box they equal a reduction of one axis after another.
    """
    for axis, rule in zip(range(-4, 0), field.rules, strict=True):
        n = x.shape[axis]
        blocks = rule.count(n)
        if blocks == 1 < n:
            x = reduction(x, axis=axis, keepdims=True)
        elif blocks < n:
            x = reduction(array_namespace(x).reshape(x, _split(x.shape, axis, (blocks, n // blocks))), axis=axis)
    return x


def broadcast_statistic(statistic: Array, field: Field, shape: tuple[int, ...]) -> Array:
    """Repeat each statistic for the elements of its box; the result broadcasts against an array of this shape."""
    xp = array_namespace(statistic)
    for axis in range(-4, 0):
        blocks, n = statistic.shape[axis], shape[axis]
        if 1 < blocks < n:
            statistic = xp.repeat(statistic, n // blocks, axis=axis)
    return statistic


def gather_windows(x: Array, rule: Rule, axis: int) -> Array:
    """Lay the window of every index along a new axis after its own; a cut window repeats its last element.

    Multiplying by a banded matrix would turn windows into NaN that do not hold the non-finite element (0 · inf).
    """
    xp = array_namespace(x)
    lo, hi = rule.bounds(x.shape[axis]).T[:, :, None]
    index = np.minimum(lo + np.arange((hi - lo).max()), hi - 1)
    flat = xp.asarray(index.ravel(), device=x.device)
    return xp.reshape(xp.take(x, flat, axis=axis % x.ndim), _split(x.shape, axis, index.shape))


def average_windows(windows: Array, rule: Rule, axis: int) -> Array:
    """Average every window that `gather_windows` has laid out, without the repeated elements."""
    xp = array_namespace(windows)
    n, longest, behind = windows.shape[axis - 1], windows.shape[axis], (1,) * (-axis - 1)
    size = np.diff(rule.bounds(n))
    inside = xp.asarray((np.arange(longest) < size).reshape(n, longest, *behind), device=windows.device)
    total = xp.sum(xp.where(inside, windows, xp.zeros_like(windows)), axis=axis)
    return total / xp.asarray(size.reshape(n, *behind), dtype=windows.dtype, device=windows.device)


def _split(shape: tuple[int, ...], axis: int, parts: tuple[int, int]) -> tuple[int, ...]:
    """Return the shape with one axis replaced by two, the second of which is at `axis`, counted from the end."""
    position = axis % len(shape)
    return (*shape[:position], *parts, *shape[position + 1 :])


def _divide(v: Array, deviation: Array) -> Array:
    """Compute v / deviation, with 0/0 = 0 and the derivative 0 there."""
    xp = array_namespace(v)
    return v / xp.where(deviation == 0, xp.full_like(deviation, float("inf")), deviation)


def _constant(x: Array) -> Array:
    """Detach x from its gradient: anchors and scales cancel out of the result."""
    return x.detach() if hasattr(x, "detach") else x
