"""Deep sigmoid networks with and without batch norm: accuracy and saturated units during training.

Source: Ioffe & Szegedy 2015, arXiv 1502.03167, sections 2 and 4.1, figure 1.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from normviz.core.settings import integer, real
from normviz.topics.why.network import TrainingPlan, load_split_rows, measure_test_accuracy, train_networks
from normviz.train.numpy_network import DenseNetworks

WIDTH = 50
STEPS = 500
MEASUREMENT_INTERVAL = 25
"""Steps between two measurements."""

SEEDS = 8
"""Number of networks of each kind, from consecutive seeds."""

QUANTILES = (0.15, 0.5, 0.85)
"""Quantiles of figure 1 in the paper."""

SATURATION_SLOPE = 0.025
"""Slope σ′ below which a sigmoid unit is saturated: a tenth of the largest, 1/4."""

SATURATION_INPUT = float(np.arccosh(0.5 / SATURATION_SLOPE - 1))
"""The magnitude of the input at that slope: σ′(a) = 1 / (2 + 2 cosh a)."""

RATES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)
"""Compared learning rates."""

SCALES = (0.5, 1.0, 2.0, 4.0, 8.0)
"""Compared scales of the initial weights."""


@dataclass(frozen=True)
class Setting:
    """Setting of the networks: number of hidden layers, scale of the initial weights, learning rate, first seed."""

    depth: int = integer(5, 1, 6, label="Hidden layers", control="slider")
    start: float = real(
        4.0, 0.5, 8.0, label="Scale of the initial weights", stops=SCALES,
        help="The initial weights of a layer with n inputs have the standard deviation scale/√n.",
    )  # fmt: skip
    rate: float = real(3.0, 0.01, 10.0, label="Learning rate", stops=RATES)
    seed: int = integer(0, 0, 9999, label="Seed")


class LearningResults(NamedTuple):
    """Results of networks from consecutive seeds, with or without batch norm.

    Attributes:
        accuracy: on the test digits, every `MEASUREMENT_INTERVAL` steps, (measurements, seeds).
        validation: accuracy on the validation digits at the end, (seeds,).
        saturated: the share of saturated inputs at the end, (seeds, depth).
    """

    accuracy: np.ndarray
    validation: np.ndarray
    saturated: np.ndarray


class LearningRun(NamedTuple):
    """Measurements as `LearningResults` has them, and during the training.

    Attributes:
        steps: the steps before the measurements, and the last one, (measurements,).
        saturated: the share of saturated inputs, (measurements, seeds, depth).
        quantiles: of the input of every unit, in the network of the first seed, (measurements, quantiles, depth,
            WIDTH).
    """

    steps: np.ndarray
    accuracy: np.ndarray
    validation: np.ndarray
    saturated: np.ndarray
    quantiles: np.ndarray

    @property
    def final_results(self) -> LearningResults:
        """The results after training, without the measurements during it."""
        return LearningResults(self.accuracy, self.validation, self.saturated[-1])


def train_and_measure(setting: Setting, normalized: bool, seeds: int = SEEDS) -> LearningRun:
    """Train one network per seed; return the measurements during and after the training.

    The measured inputs of the sigmoids are those of test digits; batch norm uses their mean and variance, as it does
    with a mini-batch.
    """
    x, _ = load_split_rows("test")
    steps, read, saturated, quantiles = [], [], [], []

    def watch(step: int, network: DenseNetworks) -> None:
        if step % MEASUREMENT_INTERVAL:
            return
        given = np.stack([layer.a for layer in network.run(x).layers], axis=2)  # (seeds, digits, depth, WIDTH)
        steps.append(step)
        read.append(measure_test_accuracy(network))
        saturated.append((np.abs(given) > SATURATION_INPUT).mean((1, 3)))
        quantiles.append(np.quantile(given[0], QUANTILES, axis=0))

    widths, chosen = (WIDTH,) * setting.depth, tuple(range(setting.seed, setting.seed + seeds))
    plan = TrainingPlan(widths, normalized, setting.rate, STEPS, setting.start, chosen)
    network, _ = train_networks(plan, watch)
    found = (
        np.array(each) for each in (steps, read, measure_test_accuracy(network, "validation"), saturated, quantiles)
    )
    return LearningRun(*found)
