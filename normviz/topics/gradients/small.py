"""The small tensor of the page, and three ways to its gradients: the formula, central differences, Algorithm 1."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from normviz.core.backward import Gradients, compute_gradients
from normviz.core.fields import Shape
from normviz.core.normalize import ignore_float_warnings, normalize
from normviz.core.registry import Scheme
from normviz.data.samples import sample_uneven

DIFFERENCE_STEP = float(np.finfo(float).eps ** (1 / 3))
"""Step of a central difference, in units of the divisor: truncation and rounding errors are then about equal."""


class SmallTensors(NamedTuple):
    """A small example: x and ∂L/∂y (N, H, W, C), and γ and β, which broadcast to x."""

    x: np.ndarray
    dy: np.ndarray
    gain: np.ndarray
    bias: np.ndarray


def make_small_tensors(scheme: Scheme, shape: Shape, seed: int) -> SmallTensors:
    """Return a random example: x with uneven scales, a normal ∂L/∂y, γ between 1/2 and 2, and a normal β."""
    rng = np.random.default_rng([seed, 1])
    sizes = [
        tuple(n if axes and axis in axes else 1 for axis, n in zip(scheme.axes, shape, strict=True))
        for axes in (scheme.gain, scheme.bias)
    ]
    dy = rng.standard_normal(shape)
    gain = np.ones(sizes[0]) if scheme.gain is None else np.exp2(rng.uniform(-1, 1, sizes[0]))
    bias = np.zeros(sizes[1]) if scheme.bias is None else rng.standard_normal(sizes[1])
    return SmallTensors(sample_uneven(shape, seed), dy, gain, bias)


class GradientComparison(NamedTuple):
    """Gradients by the formula and by central differences, with the magnitude to which differences are relative.

    Attributes:
        formula: gradients of x, γ, β and ε.
        differences: arrays by name: dx, dgain, dbias and, if the scheme has ε, deps.
        frozen: the largest ∂L/∂x with μ and σ constant, or without saturation: that magnitude for ∂L/∂x.
    """

    formula: Gradients
    differences: dict[str, np.ndarray]
    frozen: float


@ignore_float_warnings
def compare_gradients(scheme: Scheme, tensors: SmallTensors, eps: float) -> GradientComparison:
    """Return the gradients by the formula and, independently, by central differences."""
    x, dy, gain, bias = tensors
    result = normalize(x, scheme, eps)
    inverse = np.broadcast_to(scheme.kind.compute_steepest_slope(scheme, result, eps), x.shape)

    def loss(stack: np.ndarray, eps: float = eps) -> np.ndarray:
        return np.sum(dy * gain * normalize(stack, scheme, eps).xhat, axis=(-4, -3, -2, -1))

    largest = float(np.abs(x).max()) or 1.0
    step = DIFFERENCE_STEP * np.where(inverse > 0, 1 / np.where(inverse > 0, inverse, 1.0), largest)
    moved = (np.eye(x.size) * step.reshape(-1, 1)).reshape(-1, *x.shape)
    apart = ((x + moved) - (x - moved)).reshape(x.size, -1).sum(axis=1)
    found = {"dx": ((loss(x + moved) - loss(x - moved)) / apart).reshape(x.shape)}
    xhat = result.xhat
    of_gain = _compute_central_difference(lambda changed: dy * changed * xhat, gain, dy.shape)
    of_bias = _compute_central_difference(lambda changed: dy * (gain * xhat + changed), bias, dy.shape)
    found |= {"dgain": of_gain, "dbias": of_bias}
    if scheme.suppression is not None and scheme.eps is not None:
        least = float((1 / inverse[inverse > 0]).min()) ** 2 if (inverse > 0).any() else 1.0
        h = 3e-4 * least  # forwards only, of second order: ε may be 0
        near = [float(loss(x, eps + k * h)) for k in range(3)]
        found["deps"] = np.array((4 * near[1] - near[2] - 3 * near[0]) / (2 * h))
    exact = compute_gradients(x, dy, scheme, eps, gain, bias)
    held = scheme.kind.backpropagate_frozen(scheme, result, exact.dxhat, eps) * scheme.compute_scale(x.shape)
    frozen = float(np.abs(held).max())
    return GradientComparison(exact, found, frozen or 1.0)


def _compute_central_difference(
    summands: Callable[[np.ndarray], np.ndarray], at: np.ndarray, shape: Shape
) -> np.ndarray:
    """Return the derivatives by `at`, in its shape, of the sum of `summands(at)` (`shape`), by central differences."""
    stack = at + (np.eye(at.size) * DIFFERENCE_STEP).reshape(-1, *at.shape)
    below = at - (np.eye(at.size) * DIFFERENCE_STEP).reshape(-1, *at.shape)
    axes = (-4, -3, -2, -1)
    up, down = (np.broadcast_to(summands(each), (at.size, *shape)).sum(axis=axes) for each in (stack, below))
    return ((up - down) / (2 * DIFFERENCE_STEP)).reshape(at.shape)


def compute_published_gradient(tensors: SmallTensors, eps: float) -> np.ndarray:
    """Return ∂L/∂x of batch norm, computed line by line as in section 3 of Ioffe & Szegedy 2015."""
    x, dy, gain, _ = tensors
    axes, m = (0, 1, 2), x[..., 0].size
    mean = x.mean(axis=axes)
    variance = ((x - mean) ** 2).mean(axis=axes)
    dxhat = dy * gain
    with np.errstate(divide="ignore", invalid="ignore"):
        dvariance = (dxhat * (x - mean) * -0.5 * (variance + eps) ** -1.5).sum(axis=axes)
        dmean = (dxhat * -1 / np.sqrt(variance + eps)).sum(axis=axes)
        dmean = dmean + dvariance * (-2 * (x - mean)).sum(axis=axes) / m
        return dxhat / np.sqrt(variance + eps) + dvariance * 2 * (x - mean) / m + dmean / m
