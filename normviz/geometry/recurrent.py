"""A recurrent network whose recurrent weights are scaled: what becomes of the gradient from step to step.

    a_t = s W h_{t-1} + U x_t,   h_t = f(γ x̂_t),   x̂_t = a_t normalized at step t alone, ε = 0

f is tanh, or nothing; s may multiply U, too.

The gradient of a loss of the last state goes back through the steps. All scales run side by side.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from normviz.core.settings import choice, real, switch, whole
from normviz.geometry.norms import Normed, backward, forward

EXAMPLES, UNITS, INPUTS = 32, 32, 8
SCALES = tuple(2.0 ** (k / 4) for k in range(-4, 9))
"""s from 0.5 to 4."""

SCHEMES = ("none", "batch", "layer", "rms")
ACTIVATIONS = {"tanh": "tanh", "linear": "None"}


@dataclass(frozen=True)
class Unrolled:
    """The recurrent network: activation, gain, what s multiplies, how many steps; the seed of weights and inputs."""

    activation: str = choice("tanh", ACTIVATIONS, label="Activation")
    gamma: float = real(
        1.0, 0.1, 2.0, label="γ of the normalized networks", symbol="γ", stops=(0.1, 0.3, 0.5, 1.0, 1.5, 2.0)
    )
    inputs: bool = switch(False, label="U times s, too", help="Then s re-scales the summed inputs as a whole.")
    unrolled: int = whole(40, 5, 50, label="Time steps", stops=(5, 10, 20, 30, 40, 50))
    seed: int = whole(0, 0, 9999, label="Seed")


class Flow(NamedTuple):
    """‖∂l/∂h_t‖ for t = 0, …, T over that at T, (scales, T + 1)."""

    norms: np.ndarray

    @property
    def factor(self) -> np.ndarray:
        """What a step back multiplies the gradient by, as a geometric mean over the steps, (scales,)."""
        steps = self.norms.shape[1] - 1
        return np.exp(np.log(np.maximum(self.norms[:, 0], 1e-300)) / steps)


def flow(scheme: str, setting: Unrolled, scales: tuple[float, ...] = SCALES) -> Flow:
    """The gradient's way back, for every scale of the recurrent weights.

    W is random with variance 1/units, so that its largest eigenvalue is about 1 in size; U with variance 1/inputs; the
    inputs are standard normal and new at each step, and so is ∂l/∂h_T, for each example.
    """
    rng = np.random.default_rng(setting.seed)
    w = np.reshape(scales, (-1, 1, 1)) * rng.normal(0, UNITS**-0.5, (UNITS, UNITS))
    u = rng.normal(0, INPUTS**-0.5, (INPUTS, UNITS)) * (np.reshape(scales, (-1, 1, 1)) if setting.inputs else 1.0)
    gain = setting.gamma if scheme != "none" else 1.0
    h = np.broadcast_to(rng.standard_normal((EXAMPLES, UNITS)), (len(scales), EXAMPLES, UNITS))
    g = np.broadcast_to(rng.standard_normal((EXAMPLES, UNITS)), h.shape)
    inputs = rng.standard_normal((setting.unrolled, EXAMPLES, INPUTS))
    kept: list[tuple[Normed, np.ndarray | float]] = []
    for x in inputs:
        normed = forward(h @ w + x @ u, scheme)
        h = gain * normed.xhat
        slope: np.ndarray | float = 1.0
        if setting.activation == "tanh":
            h = np.tanh(h)
            slope = 1 - h**2
        kept.append((normed, slope))
    norms = [np.linalg.norm(g, axis=(1, 2))]
    for normed, slope in reversed(kept):
        g = backward(gain * slope * g, normed, scheme) @ np.swapaxes(w, 1, 2)
        norms.append(np.linalg.norm(g, axis=(1, 2)))
    return Flow(np.stack(norms[::-1], axis=1) / norms[0][:, None])
