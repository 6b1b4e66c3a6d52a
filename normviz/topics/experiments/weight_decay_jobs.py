"""The job on weight decay: it trains networks with weight decay, and twins with another decay or learning rate."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normviz.core.tolerances import MACHINE_EPSILONS
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import SchemeJob
from normviz.topics.experiments.training_history import StackableArrays, choose_measured_steps, make_job_step

LAYER_WIDTHS = (64, 64)
"""Units of the normalized layers."""

BATCH_SIZE = 32
"""Digits of a mini-batch."""

TRAINING_DIGITS = 200
"""Digits of each network's training set, few so that it overfits."""

RANDOM_LABEL_SHARE = 0.3
"""Share of the training labels that are drawn at random."""

TWIN_NAMES = ("weight decay", "no decay", "higher rate", "one rounding")
"""The twins; the last one has weight decay, and its first weights are longer by one rounding."""
DECAYED, PLAIN, RAISED, ROUNDED = range(4)

MEASUREMENT_COUNT = 100
"""Number of measured steps of a training."""

LAST_BATCHES = 20
"""Mini-batches at the end whose losses are averaged."""


@dataclass(frozen=True)
class WeightDecayTraining(SchemeJob, kind="experiments/weight-decay", version=5):
    """Job that trains networks of one scheme with weight decay, and twins with another weight decay or learning rate.

    Its result holds, for the "measured" steps, "gaps", the largest relative difference of the losses from those with
    weight decay so far, and "losses", the means of the last mini-batches so far, each (measured steps, twins, seeds).
    "errors" holds the test errors after the last step, (1, twins, seeds), and no row before it.
    """

    rate: float
    decay: float

    @property
    def seconds(self) -> float:
        return self.length * (2e-3 + 2.5e-4 * len(TWIN_NAMES) * len(self.networks))

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Train with w ← w − η (∂L/∂w + λw) and with each twin's rule, and yield the result so far after every step.

        In an invariant layer, weights shrunk by c have 1/c times the gradient. After t steps c = (1 − ηλ)ᵗ, so that a
        rate of η / ((1 − ηλ) c²) without decay gives the same directions of the weights.
        """
        from normviz.train.dense import COMPARISON_DTYPE, Dense
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, to_numpy
        from normviz.train.small_training_set import SmallTrainingSet

        device = open_float32_device(self.device)
        digits = SmallTrainingSet(
            self.networks, TRAINING_DIGITS, BATCH_SIZE, device, RANDOM_LABEL_SHARE, COMPARISON_DTYPE
        )
        network = Dense(
            [self.row.scheme] * len(TWIN_NAMES), self.networks, LAYER_WIDTHS, BATCH_SIZE, self.eps, device,
            COMPARISON_DTYPE
        )  # fmt: skip
        normalized = network.weights[: len(LAYER_WIDTHS)]
        for weights in normalized:
            weights[ROUNDED] *= 1 + MACHINE_EPSILONS["float64"]
        shape = (len(TWIN_NAMES), len(self.networks))
        decays = network.weights[0].new_tensor([self.decay, 0.0, 0.0, self.decay])[:, None]
        rates = [weights.new_full(shape, self.rate) for weights in network.parameters]
        shrinkage = 1 - self.rate * self.decay
        learner = Trainer(network.parameters, "sgd", rates)
        losses: list[np.ndarray] = []
        means: list[np.ndarray] = []
        gaps: list[np.ndarray] = []
        errors: list[np.ndarray] = []
        largest = np.zeros(shape)
        measured = choose_measured_steps(self.length, MEASUREMENT_COUNT)

        def collect() -> dict[str, StackableArrays]:
            return {"measured": measured[: len(gaps)], "losses": means, "gaps": gaps, "errors": errors}

        for step, (x, labels) in enumerate(digits.iterate_batches(self.length), 1):
            for rate in rates[: len(normalized)]:
                rate[RAISED] = self.rate * shrinkage ** (1 - 2 * step)
            loss = cross_entropy(network.compute_logits(x), labels)
            penalty = sum(weights.square().sum((-2, -1)) for weights in normalized)
            learner.step(loss + decays / 2 * penalty)
            losses.append(to_numpy(loss))
            largest = np.maximum(largest, compute_twin_gaps(losses[-1]))
            if step in measured:
                means.append(np.mean(losses[-LAST_BATCHES:], axis=0))
                gaps.append(largest)
            if step == self.length:
                errors.append(to_numpy(digits.measure_errors(network)["test"]))
            yield make_job_step(step / self.length, device, collect)


def compute_twin_gaps(losses: np.ndarray) -> np.ndarray:
    """Return |L − L'| / max(L, L') for losses L (twins, seeds), where L' is the loss of the twin with weight decay.

    The gap is infinite if a loss is not finite.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        other = losses[DECAYED]
        gap = np.abs(losses - other) / np.maximum(np.maximum(np.abs(losses), np.abs(other)), np.finfo(float).tiny)
    return np.where(np.isfinite(gap), gap, np.inf)
