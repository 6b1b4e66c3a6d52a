"""The jobs of the experiment on placement: gradients by depth, a residual chain, and trainings at several rates."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import NetworksJob, SchemeJob
from normviz.topics.experiments.training_history import TrainingHistory, make_job_step

WIDTH, HEADS = 16, 2
"""Channels of a token, and heads of attention, of the networks that are trained."""

WIDE, WIDE_HEADS, WIDE_BATCH = 64, 2, 32
"""Channels, heads and digits of a mini-batch before training: in wide networks, chance decides less."""

LAYER_COUNTS = (1, 2, 4, 8, 16)
"""Layers of the networks whose gradients are compared before training."""

LEARNING_RATES = (0.001, 0.003, 0.01, 0.03)
"""Learning rates of Adam of the grid."""

TRAINED_PLACEMENTS = ("post", "pre", "peri")
"""Placements that are trained. The claim compares the first two."""

PLACEMENTS = ("none", *TRAINED_PLACEMENTS)
"""Placements of the residual chain."""

WARMUP_KINDS = ("warm-up", "no warm-up")
"""The two trainings of every network, in their order."""

MEASUREMENT_COUNT = 3
"""Steps of a training at which the errors are measured: the first, the middle and the last."""

STATISTICS_DIGITS = 256
"""Digits from which the statistics for inference are taken."""


@dataclass(frozen=True)
class PlacementTraining(SchemeJob, kind="experiments/placement/training", version=2):
    """Job that trains transformers of one placement at all learning rates and seeds, with and without a warm-up.

    Its result holds "losses", "validation" and "test", each (measured steps, kinds, rates, seeds).
    """

    placement: str
    layers: int
    batch: int
    warm: int

    @property
    def seconds(self) -> float:
        count = len(WARMUP_KINDS) * len(LEARNING_RATES) * len(self.networks)
        return self.layers * count * (self.length * (2.5e-5 + 1e-5 * self.batch) + MEASUREMENT_COUNT * 6e-3)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.learning import Trainer, compute_error_rate, cross_entropy, shuffle_mini_batches
        from normviz.train.transformer import Transformer, TransformerPlan, load_token_pictures

        device, digits = load_token_pictures(self.device)
        x, labels = digits.train
        shape = (len(WARMUP_KINDS), len(LEARNING_RATES), len(self.networks))
        placements, seeds = [self.placement] * len(WARMUP_KINDS), self.networks * len(LEARNING_RATES)
        plan = TransformerPlan(self.layers, WIDTH, HEADS, self.batch, self.eps)
        network = Transformer(placements, self.row.scheme, seeds, plan, device)
        learner = Trainer(network.parameters, "adam", np.repeat(LEARNING_RATES, shape[2])[None])
        course = TrainingHistory(self.length, MEASUREMENT_COUNT, shape)
        for step, chosen in enumerate(shuffle_mini_batches(self.networks, len(x), self.length, self.batch), 1):
            same = chosen.repeat(len(LEARNING_RATES), 1)
            share = x.new_tensor([min(step / self.warm, 1.0), 1.0])[:, None]
            loss = cross_entropy(network.compute_logits(x[same]), labels[same])
            learner.step(loss, share)
            course.add_losses(loss)
            if course.is_measurement_due:
                network.collect_statistics(x[None, : STATISTICS_DIGITS // self.batch * self.batch])
                validation, test = (
                    compute_error_rate(network.infer_logits(unseen[None]), classes) for unseen, classes in digits[1:]
                )
                course.add_errors(validation=validation, test=test)
            yield course.make_step(device)


@dataclass(frozen=True)
class DepthGradients(NetworksJob, kind="experiments/placement/depth", version=1):
    """Job that measures ‖∂L/∂W‖ of the last layer's last matrix before training, by number of layers.

    Its result holds "norms", (seeds, depths, placements that are trained).
    """

    row: SchemeSpec
    eps: float

    @property
    def seconds(self) -> float:
        return 0.05 + 0.35 * len(self.networks)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Measure one network after the other, and yield the result so far after each."""
        from normviz.train.learning import shuffle_mini_batches, to_numpy
        from normviz.train.transformer import Transformer, TransformerPlan, load_token_pictures

        device, digits = load_token_pictures(self.device)
        x, labels = digits.train
        norms: list[np.ndarray] = []
        for step, seed in enumerate(self.networks, 1):
            batches = shuffle_mini_batches([seed], len(x), 2, WIDE_BATCH)
            by_depth = []
            for layers in LAYER_COUNTS:
                plan = TransformerPlan(layers, WIDE, WIDE_HEADS, WIDE_BATCH, self.eps)
                network = Transformer(TRAINED_PLACEMENTS, self.row.scheme, [seed], plan, device)
                found = [network.measure_gradient_norms(x[chosen], labels[chosen])[-1, :, 0] for chosen in batches]
                by_depth.append(np.mean([*map(to_numpy, found)], axis=0))
            norms.append(np.stack(by_depth))
            yield make_job_step(step / len(self.networks), device, lambda: {"norms": norms})


@dataclass(frozen=True)
class ResidualChain(NetworksJob, kind="experiments/placement/chain", version=2):
    """Job that measures the residual stream's mean square after each of many ReLU residual blocks, before training.

    Its result holds "squares", (seeds, 1 + branches, placements).
    """

    row: SchemeSpec
    pairs: int
    eps: float

    @property
    def seconds(self) -> float:
        return 0.05 + self.pairs * len(PLACEMENTS) * len(self.networks) * 1.5e-3

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Measure one network after the other, and yield the result so far after each."""
        from normviz.train.learning import to_numpy
        from normviz.train.transformer import Transformer, TransformerPlan, load_token_pictures

        device, digits = load_token_pictures(self.device)
        x = digits.train[0][None, :WIDE_BATCH]
        plan = TransformerPlan(self.pairs, WIDE, 1, WIDE_BATCH, self.eps, attention=False)
        squares: list[np.ndarray] = []
        for step, seed in enumerate(self.networks, 1):
            network = Transformer(PLACEMENTS, self.row.scheme, [seed], plan, device)
            squares.append(to_numpy(network.measure_mean_squares(x)[..., 0]))
            yield make_job_step(step / len(self.networks), device, lambda: {"squares": squares})
