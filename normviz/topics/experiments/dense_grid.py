"""A job of several experiments: dense networks of one scheme, trained on digits at every learning rate of a grid."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import SchemeJob
from normviz.topics.experiments.training_history import TrainingHistory
from normviz.train.cost import estimate_dense_seconds

if TYPE_CHECKING:
    from normviz.train.dense import Dense, Digits

LEARNING_RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
"""Learning rates of Adam of a grid over wide layers."""

LAYER_WIDTHS = (64, 64)
"""Units of wide normalized layers."""

MEASUREMENT_COUNT = 12
"""Steps of a training at which the errors are measured."""


@dataclass(frozen=True)
class DenseGrid(SchemeJob, kind="experiments/dense-grid", version=1):
    """Job that trains the networks of one scheme at all learning rates and from all seeds at once.

    Its result holds "losses", "validation" and "test", each (measured steps, rates, seeds).
    """

    rates: tuple[float, ...] = LEARNING_RATES
    optimizer: str = "adam"
    widths: tuple[int, ...] = LAYER_WIDTHS
    batch: int = 32

    @property
    def seconds(self) -> float:
        count = len(self.rates) * len(self.networks)
        return estimate_dense_seconds([self.row.scheme], count, self.widths, self.batch, self.length, MEASUREMENT_COUNT)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.dense import Dense, load_digit_parts
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, shuffle_mini_batches

        device = open_float32_device(self.device)
        digits = load_digit_parts(device)
        x, labels = digits.train
        shape = (len(self.rates), len(self.networks))
        network = Dense([self.row.scheme], self.networks * shape[0], self.widths, self.batch, self.eps, device)
        learner = Trainer(network.parameters, self.optimizer, np.repeat(self.rates, shape[1])[None])
        course = TrainingHistory(self.length, MEASUREMENT_COUNT, shape)
        for step, chosen in enumerate(shuffle_mini_batches(self.networks, len(x), self.length, self.batch)):
            same = chosen.repeat(shape[0], 1)
            if step == 0:
                network.initialize_from_data(x[same])
            loss = cross_entropy(network.compute_logits(x[same]), labels[same])
            learner.step(loss)
            course.add_losses(loss)
            if course.is_measurement_due:
                validation, test = network.measure_errors(x, self.batch, (digits.validation, digits.test))
                course.add_errors(validation=validation, test=test)
            if course.share == 1:
                course.extra_results = self.measure_extra_results(network, digits)
            yield course.make_step(device)

    def measure_extra_results(self, network: "Dense", digits: "Digits") -> Arrays:
        """Return further arrays (…, rates, seeds) for the result, by name; subclasses override the empty dict.

        Args:
            network: the trained stack, with the statistics of inference.
            digits: the training, validation and test digits.
        """
        return {}
