"""Layer norm of one example with three channels, as vectors in space, and a step of gradient descent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from normviz.core.backward import backward
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.core.settings import choice, real
from normviz.core.text import typeset

CHANNELS = 3
CIRCLE_RADIUS = float(np.sqrt(CHANNELS))
"""Length of x̂ at ε = 0: the mean of x̂² is 1, so ‖x̂‖² is the number of channels."""

INCOMING_GRADIENT = (1.0, 3.0, 0.0)
"""∂L/∂x̂, the gradient that arrives from the layers above, in the example of a step."""

LEARNING_RATE = 0.5
"""η, the learning rate of the step."""

STAGES = {"normalize": "1 Normalize", "gradient": "2 Gradient", "step": "3 Take a step"}

_LIMIT = 4.0
_STOPS = tuple(np.linspace(-_LIMIT, _LIMIT, 33).tolist())


@dataclass(frozen=True)
class ThreeChannelExample:
    """Setting of the picture: the three values of an example, ε, and the stage."""

    x1: float = real(3.0, -_LIMIT, _LIMIT, label="x₁", stops=_STOPS, control="drag")
    x2: float = real(1.0, -_LIMIT, _LIMIT, label="x₂", stops=_STOPS, control="drag")
    x3: float = real(-1.0, -_LIMIT, _LIMIT, label="x₃", stops=_STOPS, control="drag")
    eps: float = real(
        DEFAULT_EPS, 0.0, 10.0, label="ε, added to σ²", symbol="ε", stops=(0.0, 1e-5, 0.1, 0.3, 1.0, 3.0, 10.0),
        control="drag",
    )  # fmt: skip
    stage: str = choice("normalize", STAGES, label="Stage")

    @property
    def x(self) -> np.ndarray:
        """The three values, (3,)."""
        return np.array([self.x1, self.x2, self.x3])

    def take_steps(self) -> tuple["DescentStep", "DescentStep"]:
        """Return the gradient steps from x and from x/2."""
        return take_step(self.x, self.eps), take_step(self.x / 2, self.eps)


class ForwardPass(NamedTuple):
    """Layer norm of three values: x, μ, v = x − μ, the divisor √(σ² + ε), and x̂; vectors are (3,)."""

    x: np.ndarray
    mean: float
    v: np.ndarray
    divisor: float
    xhat: np.ndarray


class DescentStep(NamedTuple):
    """Step of gradient descent on x: forward pass before it, Δx = −η ∂L/∂x (3,), and forward pass after it.

    For one example it is the step of a bias that the layer before adds to its output x: ∂L/∂b = ∂L/∂x.
    """

    before: ForwardPass
    change: np.ndarray
    after: ForwardPass

    @property
    def gradient(self) -> np.ndarray:
        """∂L/∂x, (3,)."""
        return -self.change / LEARNING_RATE

    @property
    def angle(self) -> float:
        """The angle in degrees by which the step turns x̂; 0 where x̂ is 0 before or after it."""
        a, b = self.before.xhat, self.after.xhat
        return float(np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b)))


def normalize_example(x: Sequence[float] | np.ndarray, eps: float) -> ForwardPass:
    """Normalize three values with layer norm.

    Example:
        >>> normalize_example([3, 1, -1], 0).v.tolist()
        [2.0, 0.0, -2.0]
    """
    result = normalize(_to_tensor(x), SCHEMES["layer"], eps)
    assert result.mean is not None
    assert result.deviation is not None
    mean, divisor = (float(np.ravel(each)[0]) for each in (result.mean, result.deviation))
    return ForwardPass(np.asarray(x, float), mean, np.ravel(result.v), divisor, np.ravel(result.xhat))


def take_step(x: Sequence[float] | np.ndarray, eps: float) -> DescentStep:
    """Return a gradient descent step on three values, for a fixed gradient ∂L/∂x̂, with x̂ before and after.

    Example:
        >>> long, short = (take_step([c * 3, c, -c], 0.0) for c in (1, 0.5))
        >>> round(long.angle, 1), round(short.angle, 1)
        (12.5, 41.5)
    """
    before = normalize_example(x, eps)
    change = -LEARNING_RATE * np.ravel(backward(_to_tensor(x), _to_tensor(INCOMING_GRADIENT), SCHEMES["layer"], eps))
    return DescentStep(before, change, normalize_example(before.x + change, eps))


def _to_tensor(x: Sequence[float] | np.ndarray) -> np.ndarray:
    """Return three values as a tensor of one example, (1, 1, 1, 3)."""
    return np.reshape(np.asarray(x, float), (1, 1, 1, CHANNELS))


def format_vector(values: np.ndarray) -> str:
    """Return a vector as text.

    Example:
        >>> format_vector(np.array([3, 1, -1]))
        '(3, 1, −1)'
    """
    return f"({', '.join(typeset(float(round(value, 9)), 3) for value in values)})"
