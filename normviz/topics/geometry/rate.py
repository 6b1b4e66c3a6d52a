"""The effective learning rate of a network with batch norm on digits.

The loss does not depend on the length of W. So its gradient is at right angles to W, and for δW it is 1/δ as long.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from normviz.core.settings import integer, real
from normviz.data.digits import DIGIT_SIDE, load_digits
from normviz.train.numpy_network import initialize_networks

UNITS = 32
BATCH = 64
MAX_STEPS = 400
ADAM_BETAS = (0.9, 0.999)
ADAM_EPS = 1e-30
"""Adam's ε: only guards against a division by 0."""

OPTIMIZERS = {"sgd": "SGD", "adam": "Adam"}


@dataclass(frozen=True)
class RateSetting:
    """Setting of a training: learning rate of W, number of steps, factor δ on the copy's W, and seed."""

    rate: float = real(0.3, 0.01, 1.0, label="Learning rate η", symbol="η", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    steps: int = integer(300, 20, MAX_STEPS, label="Steps", stops=(20, 50, 100, 200, 300, MAX_STEPS))
    delta: float = real(
        3.0, 0.1, 10.0, label="δ: W of the twin is δW", symbol="δ", stops=(0.1, 0.3, 0.5, 2.0, 3.0, 10.0)
    )
    seed: int = integer(0, 0, 9999, label="Seed")


class TrainingCurves(NamedTuple):
    """Measurements of several training runs by step; `length` has one more row, for the initial weights.

    Attributes:
        length: ‖W‖, (steps + 1, runs).
        shortest: the smallest relative growth of ‖w_i‖ over the units, (steps, runs).
        slope, rates, losses: ‖∂L/∂W‖, the learning rate of W, the loss of the mini-batch.
        gap, size: the largest difference of the class scores from those of the reference run, and the largest score of
            the reference run.
    """

    length: np.ndarray
    shortest: np.ndarray
    slope: np.ndarray
    rates: np.ndarray
    losses: np.ndarray
    gap: np.ndarray
    size: np.ndarray

    @property
    def effective_rates(self) -> np.ndarray:
        """η/‖W‖² of each step, (steps, runs)."""
        return self.rates / self.length[:-1] ** 2


Direction = Callable[[list[np.ndarray]], list[np.ndarray]]
"""The function of an optimizer from gradients to steps, which the learning rate then multiplies."""


def make_adam() -> Direction:
    """Return a function from the gradients of a step to Adam's direction m̂ / (√v̂ + ε); it stores m and v."""
    averages: list[list[Any]] = [[], []]
    steps = 0

    def direction(gradients: list[np.ndarray]) -> list[np.ndarray]:
        nonlocal steps
        steps += 1
        for k, share in enumerate(ADAM_BETAS):
            old = averages[k] or [0.0] * len(gradients)
            averages[k] = [share * each + (1 - share) * g ** (k + 1) for each, g in zip(old, gradients, strict=True)]
        means, squares = ([each / (1 - share**steps) for each in kept]
                          for kept, share in zip(averages, ADAM_BETAS, strict=True))  # fmt: skip
        return [mean / (np.sqrt(square) + ADAM_EPS) for mean, square in zip(means, squares, strict=True)]

    return direction


def train_side_by_side(
    seed: int, weight_factors: Sequence[float], rates: np.ndarray, reference_runs: Sequence[int], optimizer: str = "sgd"
) -> TrainingCurves:
    """Train several networks on the same mini-batches by W ← W − η · direction; return their `TrainingCurves`.

    Each run has its factor on W before the first step, and is compared with the run at its index in `reference_runs`.
    `rates` are η of W, (steps, runs); all other parameters use the first rate of the first run.
    """
    images, labels = load_digits()
    x, rng = images.reshape(-1, DIGIT_SIDE**2), np.random.default_rng([seed, 1])
    direction = make_adam() if optimizer == "adam" else lambda gradients: gradients
    networks = initialize_networks([np.random.default_rng(seed) for _ in weight_factors], (UNITS,), eps=0.0)
    w = networks.weights[0]
    w *= 2**0.5 * np.reshape(weight_factors, (-1, 1, 1))  # He's variance 2 / fan-in
    length, found = [np.linalg.norm(w, axis=(1, 2))], []
    for each in rates:
        chosen = rng.integers(0, len(x), BATCH)
        forward = networks.run(x[chosen])
        loss, gradients = networks.compute_gradients(forward, labels[chosen])
        before, slope = np.linalg.norm(w, axis=1), np.linalg.norm(gradients[0], axis=(1, 2))
        for k, (array, step) in enumerate(zip(networks.parameters, direction(gradients), strict=True)):
            array -= (rates[0, 0] if k else each[:, None, None]) * step
        other = forward.logits[list(reference_runs)]
        found.append(
            (
                (np.linalg.norm(w, axis=1) / before - 1).min(axis=1), slope, each, loss,
                np.abs(forward.logits - other).max(axis=(1, 2)), np.abs(other).max(axis=(1, 2)),
            )
        )  # fmt: skip
        length.append(np.linalg.norm(w, axis=(1, 2)))
    return TrainingCurves(np.array(length), *(np.array(row) for row in zip(*found, strict=True)))


def train_single(training: RateSetting) -> TrainingCurves:
    """Train the original network of a setting by SGD, without its twin; return its `TrainingCurves`."""
    return train_side_by_side(training.seed, (1.0,), np.full((training.steps, 1), training.rate), (0,))


def measure_pythagoras_gap(curves: TrainingCurves) -> float:
    """Return the largest relative error of ‖W'‖² = ‖W‖² + η²‖∂L/∂W‖² over the steps of a run."""
    squares = curves.length[:, 0] ** 2
    expected = squares[:-1] + (curves.rates[:, 0] * curves.slope[:, 0]) ** 2
    return float(np.max(np.abs(squares[1:] - expected) / squares[1:]))


ADAM_RATE = 0.01
DELTA_POWERS = (0, 1, 2)
TWIN_STEPS = 100


def measure_twin_gaps(training: RateSetting, optimizer: str) -> dict[int, float]:
    """Return the score gap of copies that start from δW and train at the rate η δᵖ, by the power p.

    The runs take at most `TWIN_STEPS` steps. SGD has the setting's learning rate, Adam `ADAM_RATE`. Table 1 predicts
    the power that keeps the twin equal: `normviz.core.transformations.Transformation.compute_rate_factor`.
    """
    rate = training.rate if optimizer == "sgd" else ADAM_RATE
    rates = np.tile(
        [rate, *(rate * training.delta**power for power in DELTA_POWERS)], (min(training.steps, TWIN_STEPS), 1)
    )
    runs = 1 + len(DELTA_POWERS)
    course = train_side_by_side(
        training.seed, (1.0, *[training.delta] * len(DELTA_POWERS)), rates, [0] * runs, optimizer
    )
    gaps = course.gap.max(0) / course.size.max(0)
    return dict(zip(DELTA_POWERS, gaps[1:].tolist(), strict=True))
