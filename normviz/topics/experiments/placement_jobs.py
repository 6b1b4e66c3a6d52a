"""The jobs of the experiment on placement: gradients by depth, a residual chain, and trainings at several rates."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.course import Course, make_step
from normviz.topics.experiments.scheme_job import SchemeJob

WIDTH, HEADS = 16, 2
"""Channels of a token, and heads of attention, of the networks that are trained."""

WIDE, WIDE_HEADS, WIDE_BATCH = 64, 2, 32
"""Channels, heads and digits of a mini-batch before training: in wide networks, chance decides less."""

BATCHES = 2
"""Mini-batches over which gradients before training are averaged."""

DEPTHS = (1, 2, 4, 8, 16)
"""Layers of the networks whose gradients are compared before training."""

RATES = (0.001, 0.003, 0.01, 0.03)
"""Learning rates of Adam of the grid."""

TRAINED = ("post", "pre", "peri")
"""Placements that are trained. The claim compares the first two."""

PLACEMENTS = ("none", *TRAINED)
"""Placements of the residual chain."""

KINDS = ("warm-up", "no warm-up")
"""The two trainings of every network, in their order."""

POINTS = 3
"""Steps of a training at which the errors are measured: the first, the middle and the last."""

SETTLED = 256
"""Digits from which the statistics for inference are taken."""


@dataclass(frozen=True)
class Training(SchemeJob):
    """The networks of one placement at all learning rates, from all seeds, each with and without a warm-up.

    Its result holds "losses", "validation" and "test", each (measured steps, kinds, rates, seeds).
    """

    kind: ClassVar[str] = "experiments/placement/training"
    version: ClassVar[int] = 2

    placement: str
    layers: int
    batch: int
    warm: int

    @property
    def seconds(self) -> float:
        """The expected time of the steps and of the measured errors."""
        count = len(KINDS) * len(RATES) * len(self.networks)
        return self.layers * count * (self.length * (2.5e-5 + 1e-5 * self.batch) + POINTS * 6e-3)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Train step by step."""
        from normviz.train.learning import Trainer, compute_error_rate, cross_entropy, shuffle_mini_batches
        from normviz.train.transformer import Transformer, load_token_pictures

        device, digits = load_token_pictures(self.device)
        x, labels = digits.train
        shape = (len(KINDS), len(RATES), len(self.networks))
        network = Transformer(
            [self.placement] * len(KINDS), self.row.scheme, self.networks * len(RATES), self.layers, WIDTH, HEADS,
            self.batch, self.eps, device,
        )  # fmt: skip
        learner = Trainer(network.parameters, "adam", np.repeat(RATES, shape[2])[None])
        course = Course(self.length, POINTS, shape)
        for step, chosen in enumerate(shuffle_mini_batches(self.networks, len(x), self.length, self.batch), 1):
            same = chosen.repeat(len(RATES), 1)
            share = x.new_tensor([min(step / self.warm, 1.0), 1.0])[:, None]
            loss = cross_entropy(network.logits(x[same]), labels[same])
            learner.step(loss, share)
            course.add_losses(loss)
            if course.marked:
                network.collect_statistics(x[None, : SETTLED // self.batch * self.batch])
                validation, test = (
                    compute_error_rate(network.infer_logits(unseen[None]), classes) for unseen, classes in digits[1:]
                )
                course.add_errors(validation=validation, test=test)
            yield course.step(device)


@dataclass(frozen=True)
class Depth:
    """‖∂l/∂W‖ of the last layer's last matrix before training, by the number of layers.

    Its result holds "norms", (seeds, depths, placements that are trained).
    """

    kind: ClassVar[str] = "experiments/placement/depth"
    version: ClassVar[int] = 1

    row: SchemeSpec
    networks: tuple[int, ...]
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """The expected time of a few passes forward and back at every depth."""
        return 0.05 + 0.35 * len(self.networks)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Measure network by network."""
        from normviz.train.learning import shuffle_mini_batches, to_numpy
        from normviz.train.transformer import Transformer, load_token_pictures

        device, digits = load_token_pictures(self.device)
        x, labels = digits.train
        norms: list[np.ndarray] = []
        for step, seed in enumerate(self.networks, 1):
            batches = shuffle_mini_batches([seed], len(x), BATCHES, WIDE_BATCH)
            by_depth = []
            for layers in DEPTHS:
                network = Transformer(
                    TRAINED, self.row.scheme, [seed], layers, WIDE, WIDE_HEADS, WIDE_BATCH, self.eps, device
                )
                found = [
                    to_numpy(network.measure_gradient_norms(x[chosen], labels[chosen])[-1, :, 0]) for chosen in batches
                ]
                by_depth.append(np.mean(found, axis=0))
            norms.append(np.stack(by_depth))
            yield make_step(step / len(self.networks), device, lambda: {"norms": norms})


@dataclass(frozen=True)
class Chain:
    """The mean square of the stream along a chain of residual branches of ReLU units, before training.

    Its result holds "squares", (seeds, 1 + branches, placements).
    """

    kind: ClassVar[str] = "experiments/placement/chain"
    version: ClassVar[int] = 2

    row: SchemeSpec
    networks: tuple[int, ...]
    pairs: int
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """The expected time of a pass forward."""
        return 0.05 + self.pairs * len(PLACEMENTS) * len(self.networks) * 1.5e-3

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Measure network by network."""
        from normviz.train.learning import to_numpy
        from normviz.train.transformer import Transformer, load_token_pictures

        device, digits = load_token_pictures(self.device)
        x = digits.train[0][None, :WIDE_BATCH]
        squares: list[np.ndarray] = []
        for step, seed in enumerate(self.networks, 1):
            network = Transformer(
                PLACEMENTS, self.row.scheme, [seed], self.pairs, WIDE, 1, WIDE_BATCH, self.eps, device, attention=False
            )
            squares.append(to_numpy(network.measure_mean_squares(x)[..., 0]))
            yield make_step(step / len(self.networks), device, lambda: {"squares": squares})
