"""Dense networks of one scheme, trained on digits at every learning rate of a grid: a part of several experiments."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.course import Course
from normviz.topics.experiments.scheme_job import SchemeJob
from normviz.train.cost import estimate_dense_seconds

if TYPE_CHECKING:
    from normviz.train.dense import Dense, Digits

RATES = (0.001, 0.002, 0.005, 0.01, 0.02)
"""Learning rates of Adam of a grid over wide layers."""

WIDTHS = (64, 64)
"""Units of wide normalized layers."""

POINTS = 12
"""Steps of a training at which the errors are measured."""


@dataclass(frozen=True)
class DenseGrid(SchemeJob):
    """The networks of one scheme at all learning rates, from all seeds, as one stack.

    Its result holds "losses", "validation" and "test", each (measured steps, rates, seeds).
    """

    kind: ClassVar[str] = "experiments/dense-grid"
    version: ClassVar[int] = 1

    rates: tuple[float, ...]
    optimizer: str
    widths: tuple[int, ...]
    batch: int

    @property
    def seconds(self) -> float:
        """The expected time of its steps on the machine on which that was measured."""
        count = len(self.rates) * len(self.networks)
        return estimate_dense_seconds([self.row.scheme], count, self.widths, self.batch, self.length, POINTS)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Train step by step."""
        from normviz.train.dense import Dense, split_digits
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, shuffle_mini_batches

        device = open_float32_device(self.device)
        digits = split_digits(device)
        x, labels = digits.train
        shape = (len(self.rates), len(self.networks))
        network = Dense([self.row.scheme], self.networks * shape[0], self.widths, self.batch, self.eps, device)
        learner = Trainer(network.parameters, self.optimizer, np.repeat(self.rates, shape[1])[None])
        course = Course(self.length, POINTS, shape)
        for step, chosen in enumerate(shuffle_mini_batches(self.networks, len(x), self.length, self.batch)):
            same = chosen.repeat(shape[0], 1)
            if step == 0:
                network.start_from_data(x[same])
            loss = cross_entropy(network.logits(x[same]), labels[same])
            learner.step(loss)
            course.add_losses(loss)
            if course.marked:
                validation, test = network.measure_errors(x, self.batch, (digits.validation, digits.test))
                course.add_errors(validation=validation, test=test)
            if course.share == 1:
                course.found = self.examine(network, digits)
            yield course.step(device)

    def examine(self, network: "Dense", digits: "Digits") -> Arrays:
        """Return further results of the trained networks, whose last axes are (rates, seeds): here, none.

        Args:
            network: the stack, with the statistics of inference.
            digits: as it was trained, validated and tested on.
        """
        return {}
