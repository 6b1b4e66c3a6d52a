"""The derivative of the general form, once, for NumPy arrays and torch tensors (array API).

    v = x - E_A x,   σ² = ε + E_B v²,   x̂ = v / σ        E_A, E_B: averages over fields, as `normalize` has them

    ∂L/∂v = g/σ - v · E_Bᵀ[g·v/σ³],   ∂L/∂x = ∂L/∂v - E_Aᵀ ∂L/∂v        with g = ∂L/∂x̂ = γ ∂L/∂y

Each average becomes its transpose, since element i is part of the statistics of others. Averages over equal boxes are
their own transpose; of windows, which are cut at the border, the transpose divides by the neighbour's number of
elements. Without B, ∂L/∂v = g; without A, ∂L/∂x = ∂L/∂v. The kind of a scheme computes ∂L/∂v. `normviz.train.gradient`
is the same for loops that train, in torch, in few operations, and without the numerical care.
"""

from math import prod
from typing import NamedTuple

from array_api_compat import array_namespace

from normviz.core.arrays import Array, ArrayLike, get_device, to_floating_point
from normviz.core.errors import InvalidInput
from normviz.core.fields import check_shape
from normviz.core.normalize import ignore_float_warnings, normalize, resolve_eps
from normviz.core.reductions import apply_transposed_average, centre, count_elements
from normviz.core.registry import Scheme

MAX_JACOBIAN_ELEMENTS = 512
"""The most elements of a tensor whose Jacobian is computed: 2 MB of float64."""


class Gradients(NamedTuple):
    """The gradients of a loss L with respect to each step of the general form.

    Attributes:
        dxhat: ∂L/∂x̂ = γ ∂L/∂y.
        dv: ∂L/∂v, with the path through the divisor.
        dx: ∂L/∂x, with the path through the mean too.
        dgain, dbias: ∂L/∂γ and ∂L/∂β, summed to the shapes of γ and β.
        deps: ∂L/∂ε, one number for each tensor of a stack; with ε = s², ∂L/∂s = 2s ∂L/∂ε. None where nothing divides,
            and for spectral norm, which has no ε.
    """

    dxhat: Array
    dv: Array
    dx: Array
    dgain: Array
    dbias: Array
    deps: Array | None


def backward(x: ArrayLike, dy: ArrayLike, scheme: Scheme, eps: float | None = None) -> Array:
    """Compute ∂L/∂x of y = x̂ (γ = 1, β = 0) from dy = ∂L/∂y, in the type of x.

    ∂L/∂v = g/σ - v · E_Bᵀ[g·v/σ³] and ∂L/∂x = ∂L/∂v - E_Aᵀ ∂L/∂v with g = dy. The arguments and errors are those of
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
    """Compute the gradients of a loss with respect to x, γ, β and ε of y = γ x̂ + β, from dy = ∂L/∂y.

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
        raise InvalidInput(
            f"∂L/∂y has the shape {_format_shape(dy.shape)}, x {_format_shape(x.shape)}; they need to be the same."
        )
    dy = xp.astype(dy, x.dtype)
    result = normalize(x, scheme, eps)
    dxhat = dy * gain
    inward = dxhat * scheme.compute_scale(tuple(x.shape[-4:]))
    dv, deps = scheme.kind.backpropagate(scheme, result, inward, resolve_eps(scheme, eps))
    if scheme.summation is None:
        dx = dv
    else:  # a mean over equal boxes with the care of the kernel
        has_windows = scheme.summation.windowed_axes
        dx = dv - apply_transposed_average(dv, scheme.summation) if has_windows else centre(dv, scheme.summation)[0]
    if given != x.dtype:
        dxhat, dv, dx = (xp.astype(step, given) for step in (dxhat, dv, dx))
    return Gradients(dxhat, dv, dx, _sum_to_parameter(dy * result.xhat, gain), _sum_to_parameter(dy, bias), deps)


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
    each = xp.reshape(xp.eye(size, dtype=x.dtype, device=get_device(x)), (size, *shape))
    return xp.reshape(backward(x, each, scheme, eps), (size, size))


@ignore_float_warnings
def compute_diagonal_gradient(x: ArrayLike, dy: ArrayLike, scheme: Scheme, eps: float | None = None) -> Array:
    """Compute the wrong gradient ∂L/∂y_i · ∂x̂_i/∂x_i, which omits the paths through μ and σ.

    It keeps only the diagonal of the Jacobian: (1 - 1/H)/σ - (x_i - μ)²/(H σ³) in a field of H elements. Notes on
    Ba et al. 2016 print it as the gradient of layer norm. The arguments and errors are those of `backward`.
    """
    (x, given), (dy, _) = to_floating_point(x), to_floating_point(dy)
    xp = array_namespace(x, dy)
    if tuple(dy.shape) != tuple(x.shape):
        raise InvalidInput(
            f"∂L/∂y has the shape {_format_shape(dy.shape)}, x {_format_shape(x.shape)}; they need to be the same."
        )
    shape = tuple(x.shape[-4:])
    result = normalize(x, scheme, eps)
    summation = scheme.summation
    kept = xp.ones_like(x) if summation is None else 1 - 1 / count_elements(summation, shape, x)
    diagonal = scheme.kind.compute_diagonal(scheme, result, kept, resolve_eps(scheme, eps))
    dx = dy * diagonal * scheme.compute_scale(shape)
    return xp.astype(dx, given) if given != x.dtype else dx


def _sum_to_parameter(x: Array, parameter: Array | float) -> Array:
    """Sum x, (…, N, H, W, C), over the axes along which `parameter` was broadcast, to the shape of `parameter`."""
    xp = array_namespace(x)
    shape = tuple(getattr(parameter, "shape", ()))
    in_front = x.ndim - len(shape)
    if in_front < 0:
        raise InvalidInput(
            f"a gain or bias of the shape {_format_shape(shape)} does not broadcast against {_format_shape(x.shape)}."
        )
    axes = [*range(in_front), *(in_front + axis for axis, n in enumerate(shape) if n == 1)]
    return xp.reshape(xp.sum(x, axis=tuple(axes)) if axes else x, shape)


def _format_shape(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape)) or "()"
