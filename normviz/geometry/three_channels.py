"""Layer norm of one example with three channels, as vectors in space: the forward and the backward pass."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from normviz.core.backward import backward
from normviz.core.normalize import normalize
from normviz.core.schemes import DEFAULT_EPS, SCHEMES
from normviz.core.settings import real, switch

CHANNELS = 3
RADIUS = float(np.sqrt(CHANNELS))
"""Of the sphere that layer norm projects onto at ε = 0: the mean of x̂² is 1, so ‖x̂‖² is the number of channels."""

INCOMING = (1.0, 2.0, -0.5)
"""∂l/∂x̂, the gradient that arrives from the layers above, in the example of the backward pass."""

_LIMIT = 3.0
_STOPS = tuple(np.linspace(-_LIMIT, _LIMIT, 25).tolist())


@dataclass(frozen=True)
class Example:
    """The three values of an example, ε, and which pass is shown."""

    x1: float = real(3.0, -_LIMIT, _LIMIT, label="x₁, channel 1", stops=_STOPS, control="drag")
    x2: float = real(1.0, -_LIMIT, _LIMIT, label="x₂, channel 2", stops=_STOPS, control="drag")
    x3: float = real(-1.0, -_LIMIT, _LIMIT, label="x₃, channel 3", stops=_STOPS, control="drag")
    eps: float = real(
        DEFAULT_EPS, 0.0, 10.0, label="ε, added to σ²", symbol="ε", stops=(0.0, 1e-5, 0.1, 0.3, 1.0, 3.0, 10.0),
        control="drag",
    )  # fmt: skip
    gradient: bool = switch(False, label="Show the gradient", help="The backward pass, drawn at the end of x̂.")

    @property
    def x(self) -> np.ndarray:
        """The three values, (3,)."""
        return np.array([self.x1, self.x2, self.x3])


class Forward(NamedTuple):
    """The forward pass: x, its mean μ, v = x − μ, the divisor √(σ² + ε), and x̂ = v / √(σ² + ε); vectors are (3,)."""

    x: np.ndarray
    mean: float
    v: np.ndarray
    divisor: float
    xhat: np.ndarray


class Backward(NamedTuple):
    """The backward pass: ∂l/∂x̂, the same without its mean, then without its part along x̂, and ∂l/∂x; each (3,)."""

    incoming: np.ndarray
    centred: np.ndarray
    projected: np.ndarray
    outgoing: np.ndarray


def forward(x: Sequence[float] | np.ndarray, eps: float) -> Forward:
    """Normalize three values with layer norm.

    Example:
        >>> forward([3, 1, -1], 0).v.tolist()
        [2.0, 0.0, -2.0]
    """
    result = normalize(_tensor(x), SCHEMES["layer"], eps)
    assert result.mean is not None
    assert result.deviation is not None
    mean, divisor = (float(np.ravel(each)[0]) for each in (result.mean, result.deviation))
    return Forward(np.asarray(x, float), mean, np.ravel(result.v), divisor, np.ravel(result.xhat))


def backpropagate(x: Sequence[float] | np.ndarray, eps: float) -> Backward:
    """Backpropagate `INCOMING` through layer norm of three values.

    ∂l/∂x = (g − E[g] − x̂ E[g x̂]) / √(σ² + ε) with g = ∂l/∂x̂. At ε = 0 both subtractions are projections.
    """
    g, xhat = np.array(INCOMING), forward(x, eps).xhat
    centred = g - g.mean()
    outgoing = backward(_tensor(x), _tensor(g), SCHEMES["layer"], eps)
    return Backward(g, centred, centred - xhat * np.mean(g * xhat), np.ravel(outgoing))


def _tensor(x: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return three values as one example (1, 1, 1, 3)."""
    return np.reshape(np.asarray(x, float), (1, 1, 1, CHANNELS))
