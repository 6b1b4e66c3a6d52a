"""A layer Wu behind which, or in whose weights, something is normalized, as W is multiplied by a.

Ioffe & Szegedy 2015, section 3.3, at ε = 0: BN((aW)u) = BN(Wu), ∂BN((aW)u)/∂u = ∂BN(Wu)/∂u and
∂BN((aW)u)/∂(aW) = 1/a · ∂BN(Wu)/∂W. With ε, (aW)u has the x̂ that Wu has with ε/a².
"""

from typing import NamedTuple

import numpy as np

from normviz.core.backward import backward
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import Scheme

INPUTS = 5
"""Numbers of u at every position."""


class Layer(NamedTuple):
    """u (N, H, W, D), weights (1, 1, D, C), and ∂l/∂x̂ (N, H, W, C), all normal."""

    u: np.ndarray
    w: np.ndarray
    d: np.ndarray


class Passed(NamedTuple):
    """What comes out, x̂, and the gradients of l with respect to u and to the weights that there are, aW."""

    xhat: np.ndarray
    du: np.ndarray
    dw: np.ndarray


class Gaps(NamedTuple):
    """How far aW is from W, relative to the largest number of W's: in x̂, in ∂l/∂u, and in a times ∂l/∂(aW)."""

    xhat: float
    du: float
    dw: float


def layer(shape: Shape, seed: int) -> Layer:
    """A layer whose sums have this shape."""
    rng = np.random.default_rng([seed, 7])
    sizes = ((*shape[:3], INPUTS), (1, 1, INPUTS, shape[3]), shape)
    return Layer(*(rng.standard_normal(size) for size in sizes))


def passed(scheme: Scheme, at: Layer, a: float, eps: float) -> Passed:
    """Forward and backward with the weights aW; a scheme of weights, or one in front, normalizes these."""
    w, front = a * at.w, scheme.on_weights
    own = eps if front is scheme else 0.0
    used = w if front is None else normalize(w, front, own).xhat
    matrix = used[0, 0]
    z = at.u @ matrix
    if scheme.on_activations is None:
        xhat, dz = z, at.d
    else:
        xhat, dz = normalize(z, scheme, eps).xhat, backward(z, at.d, scheme, eps)
    dw = np.einsum("nhwd,nhwc->dc", at.u, dz)[None, None]
    return Passed(xhat, dz @ matrix.T, dw if front is None else backward(w, dw, front, own))


def gaps(scheme: Scheme, at: Layer, a: float, eps: float) -> Gaps:
    """At one a, against a = 1."""
    one, other = passed(scheme, at, 1.0, eps), passed(scheme, at, a, eps)
    pairs = zip(one, other._replace(dw=a * other.dw), strict=True)
    return Gaps(*(_relative(before, after) for before, after in pairs))


def turned(scheme: Scheme, at: Layer, a: float, eps: float) -> float:
    """How far x̂ of −aW is from −x̂ of aW, relative."""
    return _relative(passed(scheme, at, a, eps).xhat, -passed(scheme, at, -a, eps).xhat)


def _relative(before: np.ndarray, after: np.ndarray) -> float:
    return float(np.abs(after - before).max()) / (float(np.abs(before).max()) or 1.0)
