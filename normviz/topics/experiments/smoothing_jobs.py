"""Networks with a smoothing term that is learned or fixed, with and without an L1 term: the part of `smoothing`."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.course import Course

RATES = (0.003, 0.01, 0.03)
"""Learning rates of Adam of the grid."""

PENALTIES = (0.0, 0.003, 0.03)
"""Factors of the L1 term; the first one is none."""

WIDTH = 32
"""Units of every layer."""

BATCH = 32
"""Digits of a mini-batch."""

POINTS = 3
"""Steps of a training at which the errors are measured."""


@dataclass(frozen=True)
class Part:
    """The networks of one scheme and first ε, at all factors of the L1 term and learning rates, from all seeds.

    Its result holds "losses", "validation" and "test", (measured steps, penalties, rates, seeds), and the ε of now,
    "eps" (layers, penalties, rates, seeds).
    """

    kind: ClassVar[str] = "experiments/smoothing"
    version: ClassVar[int] = 3

    row: SchemeSpec
    networks: tuple[int, ...]
    first: float
    learned: bool
    depth: int
    digits: int
    length: int
    device: str

    @property
    def seconds(self) -> float:
        """The expected time of its steps on the machine on which that was measured."""
        count = len(PENALTIES) * len(RATES) * len(self.networks)
        step = self.depth * (8e-4 + 4e-5 * count)
        return self.length * step + POINTS * self.depth * count * (2e-5 + 3e-7 * self.digits)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Train step by step."""
        from normviz.train.dense import split_digits
        from normviz.train.learned_eps import LearnedEpsDense
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, shuffle_mini_batches
        from normviz.train.small_training_set import draw_digits

        device, copies = open_float32_device(self.device), len(PENALTIES) * len(RATES)
        shape = (len(PENALTIES), len(RATES), len(self.networks))
        digits = split_digits(device)
        x, labels = digits.train
        few = draw_digits(self.networks, len(x), self.digits).to(device)
        network = LearnedEpsDense(
            [self.row.scheme], self.networks * copies, [WIDTH] * self.depth, BATCH, [self.first], device
        )  # fmt: skip
        factors, rates = (
            np.broadcast_to(each, shape).reshape(1, -1) for each in (_column(PENALTIES, 2), _column(RATES, 1))
        )
        penalty = x.new_tensor(factors)
        learner = Trainer([*network.parameters, *(network.roots if self.learned else [])], "adam", rates)
        course = Course(self.length, POINTS, shape)
        for chosen in shuffle_mini_batches(self.networks, self.digits, self.length, BATCH).to(device):
            same = few.gather(1, chosen).repeat(copies, 1)
            loss = cross_entropy(network.logits(x[same]), labels[same])
            learner.step(loss + penalty * network.measure_sizes())
            course.add_losses(loss)
            if course.marked:
                seen = x[few].repeat(copies, 1, 1)
                validation, test = network.measure_errors(seen, BATCH, (digits.validation, digits.test))
                course.add_errors(validation=validation, test=test)
                course.found = {"eps": np.stack([course.as_grid(each) for each in network.list_eps()])}
            yield course.step(device)


def _column(values: tuple[float, ...], axes: int) -> np.ndarray:
    """Return an array of values with so many axes behind."""
    return np.array(values).reshape(-1, *[1] * axes)
