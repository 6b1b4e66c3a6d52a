"""The derivative of the general form, once, for NumPy arrays and torch tensors (array API).

    v = x - E_A x,   σ² = ε + E_B v²,   x̂ = v / σ        E_A, E_B: averages over fields, as `normalize` has them

    ∂l/∂v = g/σ - v · E_Bᵀ[g·v/σ³],   ∂l/∂x = ∂l/∂v - E_Aᵀ ∂l/∂v        with g = ∂l/∂x̂ = γ ∂l/∂y

Each average becomes its transpose, since element i is part of the statistics of others.
Averages over equal boxes are their own transpose; of windows, which are cut at the border, the transpose divides by the
neighbour's number of elements. Without B, ∂l/∂v = g; without A, ∂l/∂x = ∂l/∂v. `normviz.train.gradient` is the
same for loops that train, in torch, in few operations, and without this numerical care:

- nothing is divided by σ³: g·v/σ³ is (g·x̂)/σ², of which a power of the largest 1/σ in a window is taken out first, so
  that 1e20 and 1e-20 neither overflow nor vanish in float32;
- where x̂ is 0/0, a constant field at ε = 0, its derivative is 0, as x̂ itself is.

Spectral norm and whitening have a ∂l/∂v of their own, by the singular vectors and by the eigenvectors. A pointwise
scheme, x̂ = f(αx + s), has ∂l/∂x = g α f'(αx + s): nothing comes back from others.
"""

from math import prod
from typing import NamedTuple

import numpy as np
from array_api_compat import array_namespace

from normviz.core.arrays import Array, ArrayLike, to_floating_point
from normviz.core.errors import InvalidInput
from normviz.core.fields import Field, Shape, check_shape
from normviz.core.normalize import (
    NormalizationResult,
    average_windows,
    broadcast_statistic,
    centre,
    gather_windows,
    ignore_float_warnings,
    normalize,
    reduce_boxes,
)
from normviz.core.registry import Scheme
from normviz.core.whitening import backpropagate_whitening, compute_whitening_diagonal

MAX_JACOBIAN_ELEMENTS = 512
"""The most elements of a tensor whose Jacobian is computed: 2 MB of float64."""


class Gradients(NamedTuple):
    """The gradients of a loss l with respect to each step of the general form.

    Attributes:
        dxhat: ∂l/∂x̂ = γ ∂l/∂y.
        dv: ∂l/∂v, with the path through the divisor.
        dx: ∂l/∂x, with the path through the mean too.
        dgain, dbias: ∂l/∂γ and ∂l/∂β, summed to the shapes of γ and β.
        deps: ∂l/∂ε, one number for each tensor of a stack; with ε = s², ∂l/∂s = 2s ∂l/∂ε. None where nothing divides,
            and for spectral norm, which has no ε.
    """

    dxhat: Array
    dv: Array
    dx: Array
    dgain: Array
    dbias: Array
    deps: Array | None


def backward(x: ArrayLike, dy: ArrayLike, scheme: Scheme, eps: float | None = None) -> Array:
    """Compute ∂l/∂x of y = x̂ (γ = 1, β = 0) from dy = ∂l/∂y, in the type of x.

    ∂l/∂v = g/σ - v · E_Bᵀ[g·v/σ³] and ∂l/∂x = ∂l/∂v - E_Aᵀ ∂l/∂v with g = dy. The arguments and errors are those of
    `compute_gradients`. The gradient of batch norm sums to 0 over every channel:

    >>> import numpy as np
    >>> from normviz import backward, get_scheme
    >>> rng = np.random.default_rng(0)
    >>> x, dy = rng.normal(size=(2, 4, 3, 3, 6))
    >>> dx = backward(x, dy, get_scheme("batch"))
    >>> dx.shape, bool(np.allclose(dx.sum((0, 1, 2)), 0))
    ((4, 3, 3, 6), True)
    """
    return compute_gradients(x, dy, scheme, eps).dx


@ignore_float_warnings
def compute_gradients(
    x: ArrayLike,
    dy: ArrayLike,
    scheme: Scheme,
    eps: float | None = None,
    gain: Array | float = 1.0,
    bias: Array | float = 0.0,
) -> Gradients:
    """Compute the gradients of a loss with respect to x, γ, β and ε of y = γ x̂ + β, from dy = ∂l/∂y.

    Args:
        x, scheme, eps, gain, bias: as for `normalize`. The value of the bias does not matter, its shape does.
        dy: an array of the shape of x, or a stack of such arrays along leading axes, all for this one x. The results
            have the type of x; in half precision dgain, dbias and deps stay float32.

    Raises:
        InvalidInput: the errors of `normalize`, and a dy of another shape.

    Source: Ioffe & Szegedy 2015, section 3, for batch norm, generalized here to any fields; Miyato et al. 2018,
    gradient analysis of the spectrally normalized weights, for spectral norm: (G - ⟨G, Ŵ⟩ u vᵀ) / σ₁.
    """
    (x, given), (dy, _) = to_floating_point(x), to_floating_point(dy)
    xp = array_namespace(x, dy)
    if tuple(dy.shape[dy.ndim - x.ndim :]) != tuple(x.shape) or dy.ndim < x.ndim:
        raise InvalidInput(f"∂l/∂y has the shape {_told(dy.shape)}, x {_told(x.shape)}; they need to be the same.")
    dy = xp.astype(dy, x.dtype)
    result = normalize(x, scheme, eps)
    dxhat = dy * gain
    inward = dxhat * scheme.scale(tuple(x.shape[-4:]))
    deps = None
    if scheme.function is not None:
        dv = inward * _slope(x, scheme)
    elif scheme.suppression is None:
        dv = inward
    elif scheme.spectral:
        dv = _spectral(x, inward)
    elif scheme.whitens:
        dv, deps = backpropagate_whitening(result.v, inward, scheme.matrices(x.shape[-4:]), _eps(scheme, eps))
    else:
        dv, deps = _divided(inward, result, scheme.suppression)
    if scheme.summation is None:
        dx = dv
    else:  # a mean over equal boxes with the care of the kernel
        dx = (
            dv - apply_transposed_average(dv, scheme.summation)
            if scheme.summation.windows
            else centre(dv, scheme.summation)[0]
        )
    if given != x.dtype:
        dxhat, dv, dx = (xp.astype(step, given) for step in (dxhat, dv, dx))
    return Gradients(dxhat, dv, dx, _sum_to(dy * result.xhat, gain), _sum_to(dy, bias), deps)


@ignore_float_warnings
def compute_jacobian(x: ArrayLike, scheme: Scheme, eps: float | None = None) -> Array:
    """Compute J with J[i, j] = ∂x̂_i/∂x_j, a matrix over the elements of a small tensor (N, H, W, C) in memory order.

    Row i is the backward pass of x̂_i. Every row sums to 0 if the scheme centres, since x̂ is invariant to a shift of
    x. J x = 0 if the scheme divides and ε = 0, since x̂ is invariant to the scale of x.

    Raises:
        InvalidInput: the errors of `normalize`, other than four axes, or more than `MAX_JACOBIAN_ELEMENTS` elements.
    """
    x, _ = to_floating_point(x)
    shape = check_shape(x.shape, scheme.axes)
    size = prod(shape)
    if size > MAX_JACOBIAN_ELEMENTS:
        raise InvalidInput(
            f"the Jacobian of {size:,} elements is not computed; up to {MAX_JACOBIAN_ELEMENTS} elements it is."
        )
    xp = array_namespace(x)
    each = xp.reshape(xp.eye(size, dtype=x.dtype, device=x.device), (size, *shape))
    return xp.reshape(backward(x, each, scheme, eps), (size, size))


@ignore_float_warnings
def compute_diagonal_gradient(x: ArrayLike, dy: ArrayLike, scheme: Scheme, eps: float | None = None) -> Array:
    """Compute ∂l/∂y_i · ∂x̂_i/∂x_i, the common mistake that omits the paths from other elements through μ and σ.

    It keeps only the diagonal of the Jacobian: (1 - 1/H)/σ - (x_i - μ)²/(H σ³) in a field of H elements. Notes on
    Ba et al. 2016 print it as the gradient of layer norm. The arguments and errors are those of `backward`.
    """
    (x, given), (dy, _) = to_floating_point(x), to_floating_point(dy)
    xp = array_namespace(x, dy)
    if tuple(dy.shape) != tuple(x.shape):
        raise InvalidInput(f"∂l/∂y has the shape {_told(dy.shape)}, x {_told(x.shape)}; they need to be the same.")
    shape = tuple(x.shape[-4:])
    result = normalize(x, scheme, eps)
    summation, suppression = scheme.summation, scheme.suppression
    kept = xp.ones_like(x) if summation is None else 1 - 1 / _sizes(summation, shape, x)
    if scheme.function is not None:
        diagonal = _slope(x, scheme)
    elif suppression is None:
        diagonal = kept
    elif scheme.whitens:
        diagonal = compute_whitening_diagonal(result.v, scheme.matrices(shape), _eps(scheme, eps))
    elif scheme.spectral:
        u, v, inverse = _leading(x)
        diagonal = (1 - result.xhat * xp.reshape(u * v, x.shape)) * inverse
    else:
        inverse = broadcast_statistic(_inverse(result.deviation), suppression, x.shape)
        unit = result.v * inverse
        through = unit  # Σ_j b_ij v_j ∂v_j/∂x_i, over σ and times the number of elements in B
        if summation is not None:
            both = result.v / _sizes(summation, shape, x)
            through = unit - _sum_over_both(both, summation, suppression, shape) * inverse
        diagonal = (kept - unit * through / _sizes(suppression, shape, x)) * inverse
    dx = dy * diagonal * scheme.scale(shape)
    return xp.astype(dx, given) if given != x.dtype else dx


def _slope(x: Array, scheme: Scheme) -> Array:
    """Compute ∂x̂/∂x = α f'(αx + s) of a pointwise scheme, element by element."""
    assert scheme.function is not None
    return scheme.alpha * scheme.function.slope(scheme.inside(x))


def _eps(scheme: Scheme, eps: float | None) -> float:
    """Return ε as `normalize` uses it."""
    return (scheme.eps or 0.0) if eps is None else eps


def _divided(g: Array, result: NormalizationResult, field: Field) -> tuple[Array, Array]:
    """Compute ∂l/∂v = g/σ - v · E_Bᵀ[g·v/σ³] and ∂l/∂ε = -½ Σ g·v/σ³."""
    xp = array_namespace(g)
    largest = _inverse(result.deviation)
    inverse = broadcast_statistic(largest, field, g.shape)
    along = g * (result.v * inverse)
    deps = -0.5 * xp.sum(along * inverse * inverse, axis=tuple(range(-4, 0)))
    total = reduce_boxes(along, field.blocks, xp.mean)
    for axis, rule in field.windows:  # Σ over a window of (1/σ)² · along, in units of the window's largest (1/σ)²
        sizes = _along(np.diff(rule.bounds(g.shape[axis]))[:, 0], axis, g)
        near = gather_windows(largest, rule, axis)
        most = xp.max(near, axis=axis, keepdims=True)
        share = near / xp.where(most == 0, xp.ones_like(most), most)
        total = average_windows(gather_windows(total / sizes, rule, axis) * share * share, rule, axis) * sizes
        largest = xp.squeeze(most, axis=axis)
    largest = broadcast_statistic(largest, field, g.shape)
    return g * inverse - (result.v * largest) * (broadcast_statistic(total, field, g.shape) * largest), deps


def apply_transposed_average(x: Array, field: Field) -> Array:
    """Compute E_Aᵀ x, in a shape that broadcasts against x; averages over equal boxes are their own transpose."""
    total = reduce_boxes(x, field.blocks, array_namespace(x).mean)
    for axis, rule in field.windows:
        sizes = _along(np.diff(rule.bounds(x.shape[axis]))[:, 0], axis, x)
        total = average_windows(gather_windows(total / sizes, rule, axis), rule, axis) * sizes
    return broadcast_statistic(total, field, x.shape)


def _spectral(weight: Array, g: Array) -> Array:
    """Compute (G - ⟨G, Ŵ⟩ u vᵀ) / σ₁ for the (kh·kw·Cin, Cout) matrix W, Ŵ = W/σ₁, leading singular vectors u, v."""
    xp = array_namespace(weight)
    u, v, inverse = _leading(weight)
    along = xp.sum(g * (weight * inverse), axis=tuple(range(-4, 0)), keepdims=True)
    return (g - along * xp.reshape(u * v, weight.shape)) * inverse


def _leading(weight: Array) -> tuple[Array, Array, Array]:
    """Compute u (…, fan-in, 1), v (…, 1, Cout) and 1/σ₁ (…, 1, 1, 1, 1) of a weight tensor as a matrix."""
    xp = array_namespace(weight)
    matrix = xp.reshape(weight, (*weight.shape[:-4], -1, weight.shape[-1]))
    finite = xp.isfinite(matrix)
    u, s, v = xp.linalg.svd(xp.where(finite, matrix, xp.zeros_like(matrix)), full_matrices=False)
    known = xp.all(xp.all(finite, axis=-1), axis=-1)[..., None]
    largest = xp.where(known, s[..., :1], xp.full_like(s[..., :1], float("nan")))
    return u[..., :, :1], v[..., :1, :], _inverse(largest)[..., None, None, None]


def _inverse(deviation: Array) -> Array:
    """Compute 1/σ, and 0 where σ is 0."""
    xp = array_namespace(deviation)
    return 1 / xp.where(deviation == 0, xp.full_like(deviation, float("inf")), deviation)


def _sum_over_both(x: Array, first: Field, second: Field, shape: Shape) -> Array:
    """Sum, for every element, over the elements that are in both of its fields."""
    xp = array_namespace(x)
    for axis, ours, theirs in zip(range(-4, 0), first.bounds(shape), second.bounds(shape), strict=True):
        lo, hi = np.maximum(ours[:, 0], theirs[:, 0]), np.minimum(ours[:, 1], theirs[:, 1])
        if np.all(hi - lo == 1):
            continue
        sums = xp.cumulative_sum(x, axis=axis % x.ndim, include_initial=True)
        lo, hi = (xp.asarray(index, device=x.device) for index in (lo, hi))
        x = xp.take(sums, hi, axis=axis % x.ndim) - xp.take(sums, lo, axis=axis % x.ndim)
    return x


def _sizes(field: Field, shape: Shape, like: Array) -> Array:
    """Return the number of elements in the box of every element."""
    return array_namespace(like).asarray(field.sizes(shape), dtype=like.dtype, device=like.device)


def _along(numbers: np.ndarray, axis: int, like: Array) -> Array:
    """Reshape numbers so that they lie along one of the last four axes."""
    behind = (1,) * (-axis - 1)
    return array_namespace(like).asarray(numbers.reshape(-1, *behind), dtype=like.dtype, device=like.device)


def _sum_to(x: Array, parameter: Array | float) -> Array:
    """Sum x to the shape of a parameter that was broadcast against it; a number has no axes."""
    xp = array_namespace(x)
    shape = tuple(getattr(parameter, "shape", ()))
    in_front = x.ndim - len(shape)
    if in_front < 0:
        raise InvalidInput(f"a gain or bias of the shape {_told(shape)} does not broadcast against {_told(x.shape)}.")
    axes = [*range(in_front), *(in_front + axis for axis, n in enumerate(shape) if n == 1)]
    return xp.reshape(xp.sum(x, axis=tuple(axes)) if axes else x, shape)


def _told(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "()"
