"""A network with batch norm that is trained on digits: what its weights' length does to the learning rate.

The loss does not depend on the length of W, so its gradient is at right angles to W, and 1/δ as long where W is δ times
as long. Several runs train side by side, on the same mini-batches.
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
"""Adam's ε: what is added to a root that may be 0, and is nothing beside any other."""

OPTIMIZERS = {"sgd": "SGD", "adam": "Adam"}


@dataclass(frozen=True)
class RateSetting:
    """How W is trained: learning rate and steps; and how many times as long the W of its twin is."""

    rate: float = real(0.3, 0.01, 1.0, label="Learning rate η", symbol="η", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    steps: int = integer(300, 20, MAX_STEPS, label="Steps", stops=(20, 50, 100, 200, 300, MAX_STEPS))
    delta: float = real(
        3.0, 0.1, 10.0, label="δ: W of the twin is δW", symbol="δ", stops=(0.1, 0.3, 0.5, 2.0, 3.0, 10.0)
    )
    seed: int = integer(0, 0, 9999, label="Seed")


class TrainingCurves(NamedTuple):
    """Training runs side by side, by step; the first two have one row more, that of the start.

    Attributes:
        length: ‖W‖, (steps + 1, runs).
        shortest: by how much every ‖w_i‖ grew, relatively, the least of all units, (steps, runs).
        slope, rates, losses: ‖∂l/∂W‖, the learning rate of W, the loss of the mini-batch.
        gap, size: the largest difference of the class scores from those of the run that this one is held against, and
            the largest of its scores.
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

    def apart(self, run: int) -> float:
        """How far a run's scores come from the other's over all steps, relative to the largest of all."""
        return float(self.gap[:, run].max() / self.size[:, run].max())


Direction = Callable[[list[np.ndarray]], list[np.ndarray]]
"""What an optimizer makes of the gradients: what is subtracted, times the learning rate."""


def make_adam() -> Direction:
    """Return a function of the gradients of each step that returns m̂ / (√v̂ + ε): Kingma & Ba 2015, Algorithm 1."""
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


DIRECTIONS: dict[str, Callable[[], Direction]] = {"sgd": lambda: lambda g: g, "adam": make_adam}
"""By optimizer: its direction at the start of a run."""


def train_side_by_side(
    seed: int,
    weight_factors: Sequence[float],
    rates: np.ndarray,
    reference_runs: Sequence[int],
    optimizer: str = "sgd",
) -> TrainingCurves:
    """Train runs side by side, W ← W - η · direction.

    Args:
        seed: of the weights and of the mini-batches.
        times: what W is multiplied by before the first step, for each run.
        rates: η of W (steps, runs); that of all other parameters is the first one of the first run.
        against: for each run, which one its scores are held against.
        optimizer: "sgd" or "adam".
    """
    images, labels = load_digits()
    x, rng, direction = images.reshape(-1, DIGIT_SIDE**2), np.random.default_rng([seed, 1]), DIRECTIONS[optimizer]()
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
    """Train one network, which is held against itself."""
    return train_side_by_side(training.seed, (1.0,), np.full((training.steps, 1), training.rate), (0,))


def measure_pythagoras_gap(course: TrainingCurves) -> float:
    """How far ‖W'‖² is from ‖W‖² + η²‖∂l/∂W‖² over a run, relatively, at most."""
    squares = course.length[:, 0] ** 2
    expected = squares[:-1] + (course.rates[:, 0] * course.slope[:, 0]) ** 2
    return float(np.max(np.abs(squares[1:] - expected) / squares[1:]))


# --- twins: W and δW ------------------------------------------------------------------------------------------------

ADAM_RATE = 0.01
DELTA_POWERS = (0, 1, 2)
TWIN_STEPS = 100


def measure_twin_gaps(training: RateSetting, optimizer: str) -> dict[int, float]:
    """How far a twin that starts from δW comes from its original, with W's learning rate times δ⁰, δ¹, δ², by power.

    Over the first `TWIN_STEPS` steps at most. SGD has the setting's learning rate, Adam
    `ADAM_RATE`. What should hold: `normviz.core.transformations.Transformation.rate_factor`.
    """
    rate = training.rate if optimizer == "sgd" else ADAM_RATE
    rates = np.tile(
        [rate, *(rate * training.delta**power for power in DELTA_POWERS)], (min(training.steps, TWIN_STEPS), 1)
    )
    runs = 1 + len(DELTA_POWERS)
    course = train_side_by_side(
        training.seed, (1.0, *[training.delta] * len(DELTA_POWERS)), rates, [0] * runs, optimizer
    )
    return {power: course.apart(train_single) for train_single, power in enumerate(DELTA_POWERS, 1)}
