"""The job of the experiment on convolutions: one scheme, trained at every learning rate of a grid."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normviz.core.fields import Shape
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import SchemeJob
from normviz.topics.experiments.training_history import TrainingHistory

LAYER_COUNT = 2
"""Normalized layers, each of 3 × 3 filters."""

LEARNING_RATES = (0.003, 0.01, 0.03, 0.1)
"""Learning rates of Adam of the grid."""

MEASUREMENT_COUNT = 8
"""Steps of a training at which the validation loss is measured."""

STATISTICS_DIGITS = 256
"""Training digits from which statistics for inference are taken."""

HELD_OUT_DIGITS = 450
"""Number of validation digits, and of test digits."""


@dataclass(frozen=True)
class ConvolutionGrid(SchemeJob, kind="experiments/convolution", version=5):
    """Job that trains convolutional networks of one scheme at all learning rates and from all seeds at once.

    Its result holds "losses" and "validation", the mean training losses since the measured step before and the losses
    on validation digits, each (measured steps, rates, seeds). At the end it also holds, measured on test digits, the
    error "test" (rates, seeds); and by layer the share of units that are turned on, "on-1", and the standard deviation
    of their pre-activations, "deviation-1", each (rates, seeds, distances from the border).
    """

    rates: tuple[float, ...]
    shape: Shape
    per_unit: bool
    pad_mode: str

    @property
    def seconds(self) -> float:
        batch, height, width, channels = self.shape
        digits = self.length * batch + (MEASUREMENT_COUNT + 1) * (HELD_OUT_DIGITS + STATISTICS_DIGITS) / 2
        count = len(self.rates) * len(self.networks)
        return self.length * 2e-3 + digits * count * height * width * channels * (2e-8 + 2e-9 * channels)

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train import learning
        from normviz.train.conv import Conv, load_digit_pictures
        from normviz.train.dense import trim_to_batches

        device = learning.open_float32_device(self.device)
        digits = load_digit_pictures(device)
        x, labels = digits.train
        batch, shape = self.shape[0], (len(self.rates), len(self.networks))
        seeds, shapes = self.networks * shape[0], (self.shape,) * LAYER_COUNT
        network = Conv([self.row.scheme], seeds, shapes, self.per_unit, self.eps, device, self.pad_mode)
        learner = learning.Trainer(network.parameters, "adam", np.repeat(self.rates, shape[1])[None])
        course = TrainingHistory(self.length, MEASUREMENT_COUNT, shape)
        for chosen in learning.shuffle_mini_batches(self.networks, len(x), self.length, batch):
            same = chosen.repeat(shape[0], 1)
            loss = learning.cross_entropy(network.compute_logits(x[same]), labels[same])
            learner.step(loss)
            course.add_losses(loss)
            if course.is_measurement_due:
                network.collect_statistics(trim_to_batches(x[:STATISTICS_DIGITS], batch)[None])
                logits, _ = network.measure_responses(digits.validation[0][None])
                course.add_errors(validation=learning.cross_entropy(logits, digits.validation[1]))
            if course.share == 1:
                logits, looks = network.measure_responses(digits.test[0][None])
                errors = learning.compute_error_rate(logits, digits.test[1])
                course.extra_results["test"] = course.reshape_to_grid(errors)
                for layer, look in enumerate(looks, 1):
                    for name, values in look._asdict().items():
                        maps = learning.to_numpy(values)[0]
                        averages = average_by_distance(maps.reshape(*shape, *maps.shape[1:]))
                        course.extra_results[f"{name}-{layer}"] = averages
            yield course.make_step(device)


def compute_border_distances(side: int) -> np.ndarray:
    """Return the distance of each position of a square map from the border, 0 at the border, shape (side, side)."""
    along = np.minimum(np.arange(side), np.arange(side)[::-1])
    return np.minimum(along[:, None], along)


def average_by_distance(maps: np.ndarray) -> np.ndarray:
    """Return the means of maps (…, H, W) over all positions at each distance from the border, shape (…, distances)."""
    away = compute_border_distances(maps.shape[-1])
    return np.stack([maps[..., away == k].mean(-1) for k in range(away.max() + 1)], -1)
