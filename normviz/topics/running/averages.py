"""Running averages of batch statistics, as PyTorch and Keras keep them."""

from dataclasses import dataclass
from math import floor, log10
from typing import NamedTuple

import numpy as np

from normviz.core.errors import InvalidInput


class Moments(NamedTuple):
    """Mean and variance (1/m), each (…, C)."""

    mean: np.ndarray
    variance: np.ndarray


@dataclass(frozen=True)
class Convention:
    """A framework's convention for running averages: running ← (1 - share) · running + share · batch.

    Attributes:
        name: of the framework.
        of_new: True if its momentum is the share of the new batch, False if it is the share of the old average.
        unbiased: True if the variance is multiplied by m/(m-1) before it is averaged.
        momentum: its default.
        training, inference: the argument or call that sets the mode of a network.
    """

    name: str
    of_new: bool
    unbiased: bool
    momentum: float
    training: str
    inference: str

    def convert_momentum(self, number: float) -> float:
        """Convert the framework's momentum to the share of the new batch, or that share to the momentum."""
        return number if self.of_new else 1 - number

    def correct_variances(self, variances: np.ndarray, count: int | np.ndarray) -> np.ndarray:
        """Convert variances (1/m) of batches of m = `count` elements to those that the framework averages.

        Raises:
            InvalidInput: m = 1, where m/(m-1) has no value.
        """
        if not self.unbiased:
            return variances
        if np.any(np.equal(count, 1)):
            raise InvalidInput(
                f"{self.name} refuses to train on one value per neuron, as m/(m-1) is 1/0 at m = 1; "
                "a batch of 2 would do, or a convolution."
            )
        return variances * (count / (count - 1))


CONVENTIONS = {
    "pytorch": Convention("PyTorch", True, True, 0.1, "train()", "eval()"),
    "keras": Convention("Keras", False, False, 0.99, "training=True", "training=False"),
}
"""torch.nn.BatchNorm1d and 2d; keras.layers.BatchNormalization of Keras 3 (the fused one of Keras 2 was unbiased)."""


class RunningAverages(NamedTuple):
    """Running mean and variance before the first step and after each, (steps + 1, C); the first are 0 and 1."""

    mean: np.ndarray
    variance: np.ndarray

    @property
    def final_averages(self) -> Moments:
        """The averages after the whole stream, which evaluation uses."""
        return Moments(self.mean[-1], self.variance[-1])


def compute_running_averages(
    means: np.ndarray, variances: np.ndarray, count: int, convention: Convention, momentum: float
) -> RunningAverages:
    """Compute running averages of batch statistics (steps, C) over `count` elements each, from mean 0 and variance 1.

    running ← (1 - share) · running + share · batch; share = momentum in PyTorch, 1 - momentum in Keras.
    `count`: the number m of elements per batch and channel, for the factor m/(m-1).

    Raises:
        InvalidInput: a momentum outside 0..1, or an unbiased variance of one value.
    """
    if not 0 <= momentum <= 1:
        raise InvalidInput(f"momentum = {momentum}; it goes from 0 to 1.")
    share = convention.convert_momentum(momentum)
    values = np.stack([means, convention.correct_variances(variances, count)])
    running = np.empty((2, len(means) + 1, *means.shape[1:]))
    running[:, 0] = np.reshape([0.0, 1.0], (2, *[1] * (means.ndim - 1)))
    for step in range(len(means)):
        running[:, step + 1] = (1 - share) * running[:, step] + share * values[:, step]
    return RunningAverages(*running)


def compute_lag(share: float) -> float:
    """Compute by how many steps a running average lags behind a steady change: (1 - share) / share."""
    return (1 - share) / share if share else float("inf")


def format_update(share: float, factor: float, old: float, value: float) -> tuple[str, str, str, str, str]:
    """Return the numbers of a running average's update as text; `factor` multiplies the batch statistic `value`.

    They are 1 − share, share, old average, batch statistic and new average, and satisfy new = (1 − share) · old +
    share · factor · value to the digits of the new average; the terms get as many more digits as that takes.
    """
    new = (1 - share) * old + share * factor * value
    largest = max(abs(old), abs(value), abs(new), 1e-9)
    places = max(2 - floor(log10(largest)), 0)
    kept, part = (f"{each:.12f}".rstrip("0").rstrip(".") for each in (1 - share, share))
    result = f"{new:.{places}f}"
    for more in range(places, places + 10):
        terms = f"{old:.{more}f}", f"{value:.{more}f}"
        if (
            abs(float(kept) * float(terms[0]) + float(part) * factor * float(terms[1]) - float(result))
            <= 0.5 * 10.0**-places
        ):
            break
    return kept, part, *terms, result
