"""SGD on w = g v/‖v‖ and on w itself: a logistic regression that separates two of the digits."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from normviz.core.rows import index_by_key
from normviz.core.settings import integer, real
from normviz.data.digits import load_digits
from normviz.topics.weights.weights import apply_weight_norm, backpropagate_weight_norm

DIGIT_PAIR = (3, 8)
"""The two classes."""

STEPS = 200
DIGIT_COUNT = 357
"""Number of examples of the two classes."""

EARLY_STEPS = 20
"""Steps that count as the beginning of a run."""

LENGTHS = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Lengths of w and of v on their sliders, which thus line up where they are equal."""

INPUT_SIZES = {"plane": 2, "pixels": 64}
"""Inputs of the regression: the first principal components of a digit, or all pixels, and their number."""


@dataclass(frozen=True)
class Setting:
    """Setting of a run of SGD: learning rate, batch size, initial ‖w‖ and ‖v‖, and the seed."""

    rate: float = real(
        0.1, 0.01, 1000.0, label="Learning rate", stops=tuple(m * 10.0**k for k in range(-2, 3) for m in (1, 3))
    )
    batch: int = integer(128, 1, DIGIT_COUNT, label="Batch size", stops=(8, 32, 128, DIGIT_COUNT))
    length: float = real(4.0, 0.1, 10.0, label="Length of w at the start, g", stops=LENGTHS)
    start: float = real(1.0, 0.1, 10.0, label="Length of v at the start, ‖v‖", stops=LENGTHS)
    seed: int = integer(6, 0, 9999, label="Seed")


class Regression(NamedTuple):
    """Data of a logistic regression: inputs (digits, size), centred, and classes -1 or 1."""

    x: np.ndarray
    target: np.ndarray


@cache
def load_regression(inputs: str) -> Regression:
    """Load the `Regression` that separates digits 3 (class -1) from 8 (class 1); `inputs` is "plane" or "pixels"."""
    images, labels = load_digits()
    chosen = np.isin(labels, DIGIT_PAIR)
    x = images[chosen].reshape(-1, images[0].size)
    x = x - x.mean(axis=0)
    size = INPUT_SIZES[inputs]
    if size < x.shape[1]:
        _, _, axes = np.linalg.svd(x, full_matrices=False)
        x = x @ axes[:size].T
    return Regression(x, np.where(labels[chosen] == DIGIT_PAIR[1], 1.0, -1.0))


def compute_mean_loss(problem: Regression, w: np.ndarray) -> np.ndarray:
    """Return the mean of log(1 + exp(-t w·x)) over all digits, (...), for weights w (..., size)."""
    return np.logaddexp(0, -problem.target * (w @ problem.x.T)).mean(axis=-1)


def find_lowest_loss_weights(problem: Regression) -> np.ndarray:
    """Return the weights (size,) of the lowest loss, found by Newton's method.

    It exists only if no line separates the classes; otherwise a longer w always has a lower loss.
    """
    w = np.zeros(problem.x.shape[1])
    for _ in range(12):
        chance = np.exp(-np.logaddexp(0, -(problem.x @ w)))
        curvature = (problem.x * (chance * (1 - chance))[:, None]).T @ problem.x / len(problem.x)
        w = w - np.linalg.solve(curvature, compute_mean_gradient(problem, w))
    return w


def compute_mean_gradient(problem: Regression, w: np.ndarray) -> np.ndarray:
    """Return ∂L/∂w, (size,), of the mean loss over all digits, for weights w (size,)."""
    margin = problem.target * (problem.x @ w)
    return -(problem.target * np.exp(-np.logaddexp(0, margin))) @ problem.x / len(margin)


@dataclass(frozen=True)
class Parametrization:
    """Parametrization of w: w itself, or g v/‖v‖ with g trained if `learns_length`."""

    key: str
    normalized: bool
    learns_length: bool


PARAMETRIZATIONS: dict[str, Parametrization] = index_by_key(
    Parametrization("plain", False, True),
    Parametrization("weight", True, True),
    Parametrization("direction", True, False),
)


class DescentPath(NamedTuple):
    """Path of a run of SGD by step; for plain w, v is w and g its length.

    Attributes:
        w, v: (steps + 1, size).
        g, losses: (steps + 1,); the loss over all digits.
        dw, dv: gradients of the mini-batches, (steps, size).
        turn_angles: the angle by which each step turns v, in degrees, (steps,).
    """

    w: np.ndarray
    v: np.ndarray
    g: np.ndarray
    losses: np.ndarray
    dw: np.ndarray
    dv: np.ndarray
    turn_angles: np.ndarray

    @property
    def lengths(self) -> np.ndarray:
        """The length ‖v‖ by step."""
        return np.linalg.norm(self.v, axis=1)

    @property
    def rate_factors(self) -> np.ndarray:
        """The factor (g/‖v‖)² of the learning rate in the direction of w, by step.

        A small change of v changes w by g/‖v‖ times its part at right angles to v, and ∂L/∂v has the same factor.
        """
        return (self.g / self.lengths) ** 2


def run_sgd(
    parametrization: Parametrization,
    setting: Setting,
    inputs: str = "plane",
    steps: int = STEPS,
    rate_factor: float = 1.0,
) -> DescentPath:
    """Return the `DescentPath` of SGD on mini-batches of digits, the same mini-batches for every parametrization.

    `inputs`: a key of `INPUT_SIZES`; `rate_factor` multiplies the learning rate.

    Each run starts from the same w, whose length is g. With weight norm a step is at right angles to v, so
    ‖v'‖² = ‖v‖² + rate² ‖∂L/∂v‖²: ‖v‖ never shrinks, and w turns by atan(rate ‖∂L/∂v‖/‖v‖).

    Source: Salimans & Kingma 2016, section 2.1.
    """
    problem = load_regression(inputs)
    rng = np.random.default_rng(setting.seed)
    v = rng.standard_normal((problem.x.shape[1],))
    v *= (setting.start if parametrization.normalized else setting.length) / np.linalg.norm(v)
    g, rate = setting.length, setting.rate * rate_factor
    vs, gs = [v], [g]
    ws: list[np.ndarray] = []
    dvs: list[np.ndarray] = []
    dws: list[np.ndarray] = []
    for _ in range(steps):
        chosen = rng.permutation(len(problem.x))[: setting.batch]
        w = apply_weight_norm(v, g) if parametrization.normalized else v
        dw = compute_mean_gradient(Regression(problem.x[chosen], problem.target[chosen]), w)
        dv, dg = backpropagate_weight_norm(v, g, dw) if parametrization.normalized else (dw, 0.0)
        v = v - rate * dv
        if not parametrization.normalized:
            g = float(np.linalg.norm(v))
        elif parametrization.learns_length:
            g -= rate * float(dg)
        for run, value in ((vs, v), (ws, w), (dvs, dv), (dws, dw)):
            run.append(value)
        gs.append(g)
    ws.append(apply_weight_norm(v, g) if parametrization.normalized else v)
    w, v = np.array(ws), np.array(vs)
    turned = np.degrees(compute_angles(v[:-1], v[1:]))
    return DescentPath(w, v, np.array(gs), compute_mean_loss(problem, w), np.array(dws), np.array(dvs), turned)


def compare_losses(first: DescentPath, second: DescentPath) -> tuple[int, int]:
    """Return two signs, for the mean of the early losses and for the last loss: -1 if the first run has the lower.

    A sign is 0 if both losses are about equal (within 5%), 1 if the first run has the higher loss.
    """
    pairs = np.array([[each.losses[1 : EARLY_STEPS + 1].mean(), each.losses[-1]] for each in (first, second)])
    gaps = (pairs[0] - pairs[1]) / pairs.max(axis=0)
    early, late = (int(np.sign(gap)) * (abs(gap) > 0.05) for gap in gaps)
    return early, late


def compute_angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the angles between vectors a and b (..., size) in radians, exact for small ones too (Kahan's formula)."""
    a, b = (x / np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), np.finfo(float).tiny) for x in (a, b))
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=-1), np.linalg.norm(a + b, axis=-1))


def measure_growth_gap(path: DescentPath, rate: float) -> float:
    """Return the largest error of the prediction that a step adds rate² ‖∂L/∂v‖² to ‖v‖², relative to ‖v‖²."""
    before, after = path.lengths[:-1] ** 2, path.lengths[1:] ** 2
    return float((np.abs(before + rate**2 * np.sum(path.dv**2, axis=1) - after) / after).max(initial=0.0))
