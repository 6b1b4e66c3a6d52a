"""The gradients of a normalized layer Wu when W is multiplied by a.

Ioffe & Szegedy 2015, section 3.3, at ε = 0: BN((aW)u) = BN(Wu), ∂BN((aW)u)/∂u = ∂BN(Wu)/∂u and
∂BN((aW)u)/∂(aW) = 1/a · ∂BN(Wu)/∂W. With ε, (aW)u has the x̂ that Wu has with ε/a².
"""

from typing import NamedTuple

import numpy as np

from normviz.core.backward import backward
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import Scheme

FAN_IN = 5
"""Length of u at every position."""


class LinearLayer(NamedTuple):
    """A random linear layer: inputs u (N, H, W, D), weights (1, 1, D, C), and ∂L/∂x̂ (N, H, W, C)."""

    u: np.ndarray
    w: np.ndarray
    d: np.ndarray


class LayerGradients(NamedTuple):
    """The output x̂ of a normalized layer with inputs u and weights aW, ∂L/∂u, and ∂L/∂(aW)."""

    xhat: np.ndarray
    du: np.ndarray
    dw: np.ndarray


class ScalingGaps(NamedTuple):
    """Relative differences between layers with weights aW and W, and inputs u: of x̂, ∂L/∂u, and a · ∂L/∂(aW)."""

    xhat: float
    du: float
    dw: float


def make_linear_layer(shape: Shape, seed: int) -> LinearLayer:
    """Return a random layer whose pre-activations have this shape (N, H, W, C)."""
    rng = np.random.default_rng([seed, 7])
    sizes = ((*shape[:3], FAN_IN), (1, 1, FAN_IN, shape[3]), shape)
    return LinearLayer(*(rng.standard_normal(size) for size in sizes))


def run_scaled_layer(scheme: Scheme, linear_layer: LinearLayer, a: float, eps: float) -> LayerGradients:
    """Return output and gradients of the layer with weights aW, normalized by `scheme`."""
    w, front = a * linear_layer.w, scheme.weight_part
    own = eps if front is scheme else 0.0
    used = w if front is None else normalize(w, front, own).xhat
    matrix = used[0, 0]
    z = linear_layer.u @ matrix
    if scheme.activation_part is None:
        xhat, dz = z, linear_layer.d
    else:
        xhat, dz = normalize(z, scheme, eps).xhat, backward(z, linear_layer.d, scheme, eps)
    dw = np.einsum("nhwd,nhwc->dc", linear_layer.u, dz)[None, None]
    return LayerGradients(xhat, dz @ matrix.T, dw if front is None else backward(w, dw, front, own))


def measure_scaling_gaps(scheme: Scheme, linear_layer: LinearLayer, a: float, eps: float) -> ScalingGaps:
    """Return the relative differences of output and gradients between weights aW and W."""
    one, other = run_scaled_layer(scheme, linear_layer, 1.0, eps), run_scaled_layer(scheme, linear_layer, a, eps)
    pairs = zip(one, other._replace(dw=a * other.dw), strict=True)
    return ScalingGaps(*(_measure_relative_gap(before, after) for before, after in pairs))


def measure_sign_gap(scheme: Scheme, linear_layer: LinearLayer, a: float, eps: float) -> float:
    """Return the relative difference between x̂ with weights −aW and −x̂ with weights aW."""
    return _measure_relative_gap(
        run_scaled_layer(scheme, linear_layer, a, eps).xhat, -run_scaled_layer(scheme, linear_layer, -a, eps).xhat
    )


def _measure_relative_gap(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.abs(after - before).max()) / (float(np.abs(before).max()) or 1.0)
