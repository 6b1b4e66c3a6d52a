"""A network with batch norm that is trained on digits: what its weights' length does to the learning rate.

The loss does not depend on the length of W, so its gradient is at right angles to W, and 1/δ as long where W is δ times
as long. Several runs train side by side, on the same mini-batches.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from normviz.core.settings import real, whole
from normviz.geometry.network import Net, digits, gradients, start

UNITS = 32
BATCH = 64
MAX_STEPS = 400
BETAS = (0.9, 0.999)
TINY = 1e-30
"""Adam's ε: what is added to a root that may be 0, and is nothing beside any other."""

OPTIMIZERS = {"sgd": "SGD", "adam": "Adam"}


@dataclass(frozen=True)
class Training:
    """How W is trained: learning rate, weight decay, steps; and how many times as long the W of its twin is."""

    rate: float = real(0.3, 0.01, 1.0, label="Learning rate η", symbol="η", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    decay: float = real(
        0.05, 0.0, 0.1, label="Weight decay λ of W", symbol="λ", stops=(0.0, 0.001, 0.003, 0.01, 0.02, 0.05, 0.1)
    )
    steps: int = whole(300, 20, MAX_STEPS, label="Steps", stops=(20, 50, 100, 200, 300, MAX_STEPS))
    delta: float = real(
        3.0, 0.1, 10.0, label="δ: W of the twin is δW", symbol="δ", stops=(0.1, 0.3, 0.5, 2.0, 3.0, 10.0)
    )
    seed: int = whole(0, 0, 9999, label="Seed")


class Course(NamedTuple):
    """Training runs side by side, by step; the first two have one row more, that of the start.

    Attributes:
        length: ‖W‖, (steps + 1, runs).
        shortest: by how much every ‖w_i‖ grew, relatively, the least of all units, (steps, runs).
        slope, rates, losses: ‖∂l/∂W‖, the learning rate of W, the loss of the mini-batch.
        turned: by how much the step turned W, in radians.
        gap, size: the largest difference of the class scores from those of the run that this one is held against, and
            the largest of its scores.
    """

    length: np.ndarray
    shortest: np.ndarray
    slope: np.ndarray
    rates: np.ndarray
    losses: np.ndarray
    turned: np.ndarray
    gap: np.ndarray
    size: np.ndarray

    @property
    def effective(self) -> np.ndarray:
        """η/‖W‖² of each step, (steps, runs)."""
        return self.rates / self.length[:-1] ** 2

    def apart(self, run: int) -> float:
        """How far a run's scores come from the other's over all steps, relative to the largest of all."""
        return float(self.gap[:, run].max() / self.size[:, run].max())


Direction = Callable[[Net], Net]
"""What an optimizer makes of the gradients: what is subtracted, times the learning rate."""


def adam() -> Direction:
    """m̂ / (√v̂ + ε) with ε = `TINY`: Kingma & Ba 2015, Algorithm 1."""
    kept: list[dict[str, np.ndarray]] = [{}, {}]
    steps = 0

    def direction(g: Net) -> Net:
        nonlocal steps
        steps += 1
        for power, (old, share) in enumerate(zip(kept, BETAS, strict=True), 1):
            old |= {name: share * old.get(name, 0.0) + (1 - share) * part**power for name, part in g.items()}
        means, squares = ({name: part / (1 - share**steps) for name, part in old.items()}
                          for old, share in zip(kept, BETAS, strict=True))  # fmt: skip
        return {name: means[name] / (np.sqrt(squares[name]) + TINY) for name in g}

    return direction


DIRECTIONS: dict[str, Callable[[], Direction]] = {"sgd": lambda: lambda g: g, "adam": adam}
"""By optimizer: its direction at the start of a run."""


def train(
    seed: int,
    times: Sequence[float],
    rates: np.ndarray,
    decays: Sequence[float],
    against: Sequence[int],
    optimizer: str = "sgd",
) -> Course:
    """Train runs side by side, W ← (1 - ηλ) W - η · direction.

    Args:
        seed: of the weights and of the mini-batches.
        times: what W is multiplied by before the first step, for each run.
        rates: η of W (steps, runs); that of all other parameters is the first one of the first run.
        decays: λ of W, for each run.
        against: for each run, which one its scores are held against.
        optimizer: "sgd" or "adam".
    """
    x, labels = digits()
    rng = np.random.default_rng([seed, 1])
    shrink, direction = np.reshape(decays, (-1, 1, 1)), DIRECTIONS[optimizer]()
    at = {name: np.repeat(part, len(times), axis=0) for name, part in start(seed, (UNITS,)).items()}
    w = np.reshape(times, (-1, 1, 1)) * at["w0"]
    length, found = [np.linalg.norm(w, axis=(1, 2))], []
    for each in rates:
        chosen = rng.integers(0, len(x), BATCH)
        scores, loss, g = gradients(at | {"w0": w}, x[chosen], labels[chosen], "batch")
        step, eta = direction(g), each[:, None, None]
        moved = (1 - eta * shrink) * w - eta * step["w0"]
        before, after = (np.linalg.norm(each, axis=1) for each in (w, moved))
        other = scores[list(against)]
        found.append(
            (
                (after / before - 1).min(axis=1), np.linalg.norm(g["w0"], axis=(1, 2)), each, loss, _angle(w, moved),
                np.abs(scores - other).max(axis=(1, 2)), np.abs(other).max(axis=(1, 2)),
            )
        )  # fmt: skip
        at, w = {name: part - rates[0, 0] * step[name] for name, part in at.items()}, moved
        length.append(np.linalg.norm(w, axis=(1, 2)))
    return Course(np.array(length), *(np.array(row) for row in zip(*found, strict=True)))


def _angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The angle between matrices (runs, …), exact for small ones too (Kahan's formula), in radians."""
    a, b = (x / np.linalg.norm(x, axis=(1, 2), keepdims=True) for x in (a, b))
    return 2 * np.arctan2(np.linalg.norm(a - b, axis=(1, 2)), np.linalg.norm(a + b, axis=(1, 2)))


# --- weight decay ---------------------------------------------------------------------------------------------------

RUNS = ("no decay", "weight decay", "decay undone")
ONE_ROUNDING = 1 + 2.0**-52


def decay_runs(training: Training) -> Course:
    """`RUNS`: without weight decay, with it, and without it at a learning rate that does the same; and a control.

    With c_t = (1 - ηλ)^t, the weights w_t/c_t need no decay: ∂l/∂(w/c) = c ∂l/∂w, so

        w_t/c_t - η'_t c_t ∂l/∂w = w_{t+1}/c_{t+1}   exactly where   η'_t = η / (c_t c_{t+1}) = η / (1 - ηλ)^{2t+1}

    The third run is held against the second. So is the control, which has decay too, and starts from weights that are
    longer by one rounding: how far it comes away is what rounding can do.
    """
    steps, rate = np.arange(training.steps), np.full(training.steps, training.rate)
    undone = rate / (1 - rate * training.decay) ** (2 * steps + 1)
    decays = (0.0, training.decay, 0.0, training.decay)
    rates = np.stack([rate, rate, undone, rate], axis=1)
    return train(training.seed, (1.0, 1.0, 1.0, ONE_ROUNDING), rates, decays, (1, 1, 1, 1))


def pythagoras(course: Course, run: int = 0) -> float:
    """How far ‖W'‖² is from ‖W‖² + η²‖∂l/∂W‖² over a run without decay, relatively, at most."""
    squares = course.length[:, run] ** 2
    expected = squares[:-1] + (course.rates[:, run] * course.slope[:, run]) ** 2
    return float(np.max(np.abs(squares[1:] - expected) / squares[1:]))


class Balance(NamedTuple):
    """Over the last quarter of a run with decay: what it takes from ‖W‖² over what the gradients add; the mean turn of
    a step, and √(2ηλ), which it would be in equilibrium; both in radians."""

    ratio: float
    turned: float
    expected: float


def balance(course: Course, training: Training, run: int = 1) -> Balance:
    """How near a run with weight decay is to its equilibrium; the ratio is 1 there.

    ‖W'‖² = (1 - ηλ)² ‖W‖² + η²‖∂l/∂W‖²; where both terms balance, W turns by about √(2ηλ) a step.
    Source: van Laarhoven 2017 (arXiv 1706.05350); Wan et al. 2021 (arXiv 2006.08419) for the angle.
    """
    late = slice(-max(training.steps // 4, 1), None)
    shrink = 1 - (1 - training.rate * training.decay) ** 2
    taken = shrink * np.sum(course.length[:-1, run][late] ** 2)
    added = np.sum((training.rate * course.slope[:, run][late]) ** 2)
    turn = float(np.sqrt(np.mean(course.turned[:, run][late] ** 2)))
    return Balance(float(taken / added), turn, float(np.sqrt(2 * training.rate * training.decay)))


# --- twins: W and δW ------------------------------------------------------------------------------------------------

ADAM_RATE = 0.01
POWERS = (0, 1, 2)
TWIN_STEPS = 100


def twins(training: Training, optimizer: str) -> dict[int, float]:
    """How far a twin that starts from δW comes from its original, with W's learning rate times δ⁰, δ¹, δ², by power.

    Over the first `TWIN_STEPS` steps at most, without weight decay. SGD has the setting's learning rate, Adam
    `ADAM_RATE`. What should hold: `normviz.core.transformations.Transformation.rate_factor`.
    """
    rate = training.rate if optimizer == "sgd" else ADAM_RATE
    rates = np.tile([rate, *(rate * training.delta**power for power in POWERS)], (min(training.steps, TWIN_STEPS), 1))
    runs = 1 + len(POWERS)
    course = train(training.seed, (1.0, *[training.delta] * len(POWERS)), rates, [0.0] * runs, [0] * runs, optimizer)
    return {power: course.apart(run) for run, power in enumerate(POWERS, 1)}
