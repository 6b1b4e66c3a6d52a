"""The job of the experiment on smoothing: networks with a learned or fixed ε, with and without an L1 term."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import NetworksJob
from normviz.topics.experiments.training_history import TrainingHistory

LEARNING_RATES = (0.003, 0.01, 0.03)
"""Learning rates of Adam of the grid."""

L1_FACTORS = (0.0, 0.003)
"""Factors of the L1 term: without it and with it."""

LAYER_WIDTH = 32
"""Units of every layer."""

BATCH_SIZE = 32
"""Digits of a mini-batch."""

MEASUREMENT_COUNT = 3
"""Steps of a training at which the errors are measured."""


@dataclass(frozen=True)
class LearnedEpsTraining(NetworksJob, kind="experiments/smoothing", version=4):
    """Job that trains networks of one scheme and initial ε, at all L1 factors, learning rates and seeds.

    Its result holds "losses", "validation" and "test", (measured steps, penalties, rates, seeds), and the current ε,
    "eps" (layers, penalties, rates, seeds).
    """

    row: SchemeSpec
    first: float
    learned: bool
    depth: int
    digits: int
    length: int

    @property
    def seconds(self) -> float:
        count = len(L1_FACTORS) * len(LEARNING_RATES) * len(self.networks)
        step = self.depth * (8e-4 + 4e-5 * count)
        return self.length * step + MEASUREMENT_COUNT * self.depth * count * (2e-5 + 3e-7 * self.digits)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.dense import load_digit_parts
        from normviz.train.learned_eps import LearnedEpsDense
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, shuffle_mini_batches
        from normviz.train.small_training_set import sample_digit_indices

        device, copies = open_float32_device(self.device), len(L1_FACTORS) * len(LEARNING_RATES)
        shape = (len(L1_FACTORS), len(LEARNING_RATES), len(self.networks))
        digits = load_digit_parts(device)
        x, labels = digits.train
        few = sample_digit_indices(self.networks, len(x), self.digits).to(device)
        network = LearnedEpsDense(
            [self.row.scheme], self.networks * copies, [LAYER_WIDTH] * self.depth, BATCH_SIZE, [self.first], device
        )  # fmt: skip
        factors, rates, _ = np.meshgrid(L1_FACTORS, LEARNING_RATES, self.networks, indexing="ij")
        penalty = x.new_tensor(factors.reshape(1, -1))
        learner = Trainer([*network.parameters, *(network.roots if self.learned else [])], "adam", rates.reshape(1, -1))
        course = TrainingHistory(self.length, MEASUREMENT_COUNT, shape)
        for chosen in shuffle_mini_batches(self.networks, self.digits, self.length, BATCH_SIZE).to(device):
            same = few.gather(1, chosen).repeat(copies, 1)
            loss = cross_entropy(network.compute_logits(x[same]), labels[same])
            learner.step(loss + penalty * network.measure_centred_magnitudes())
            course.add_losses(loss)
            if course.is_measurement_due:
                seen = x[few].repeat(copies, 1, 1)
                validation, test = network.measure_errors(seen, BATCH_SIZE, (digits.validation, digits.test))
                course.add_errors(validation=validation, test=test)
                course.extra_results = {"eps": np.stack([course.reshape_to_grid(each) for each in network.list_eps()])}
            yield course.make_step(device)
