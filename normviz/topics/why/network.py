"""Training of small dense networks on digits, with batch norm or without."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np

from normviz.data.digits import DIGIT_SIDE, load_digits
from normviz.train.numpy_network import DenseNetworks, initialize_networks

TEST_DIGITS = 297
"""Number of test digits, the last of all digits."""

VALIDATION_DIGITS = 300
"""Number of validation digits, before the test digits; they choose learning rates."""

DigitSplit = Literal["train", "validation", "test"]
SPLIT_NAMES = get_args(DigitSplit)
"""The parts of the digits, in their order."""

EPS = 1e-5
BATCH = 60
"""Digits in a mini-batch, as in the experiment of Ioffe & Szegedy 2015, section 4.1."""


@dataclass(frozen=True)
class TrainingPlan:
    """Settings of a training of several networks of sigmoid units that differ in their seeds.

    Attributes:
        widths: units of the hidden layers.
        normalized: True for batch norm before every activation, with γ and β; False for a bias only.
        rate, steps: of stochastic gradient descent on mini-batches of BATCH.
        start: the initial weights are N(0, start²/fan-in).
        seeds: of the initial weights and mini-batches, by network.
    """

    widths: tuple[int, ...]
    normalized: bool
    rate: float
    steps: int
    start: float
    seeds: tuple[int, ...]


def make_initial_networks(plan: TrainingPlan) -> DenseNetworks:
    """Create the untrained networks that a plan describes; networks of one seed start with the same weights."""
    generators = [np.random.default_rng([seed, 22]) for seed in plan.seeds]
    return initialize_networks(generators, plan.widths, EPS, "sigmoid", plan.normalized, plan.start)


def train_networks(
    plan: TrainingPlan, callback: Callable[[int, DenseNetworks], object] = lambda step, network: None
) -> tuple[DenseNetworks, np.ndarray]:
    """Train a plan's networks with a `callback` in each step; return them, and mini-batch losses, (steps, networks).

    `callback(step, networks)` is called before every step, and after the last.
    """
    (x, labels), network = load_split_rows(), make_initial_networks(plan)
    orders = {seed: np.random.default_rng([seed, 23]).integers(len(x), size=(plan.steps, BATCH)) for seed in plan.seeds}
    order = np.stack([orders[seed] for seed in plan.seeds], axis=1)
    losses = np.empty((plan.steps, len(plan.seeds)))
    with np.errstate(over="ignore", invalid="ignore"):
        for step, chosen in enumerate(order):
            callback(step, network)
            losses[step], gradients = network.compute_gradients(network.run(x[chosen]), labels[chosen])
            for array, gradient in zip(network.parameters, gradients, strict=True):
                array -= plan.rate * gradient
        callback(plan.steps, network)
    return network, losses


def measure_test_accuracy(network: DenseNetworks, part: DigitSplit = "test") -> np.ndarray:
    """Measure the share of right answers of each network, in evaluation, on a part of the digits, as "test".

    Batch norm then uses the mean and variance of all training digits.
    """
    unseen, labels = load_split_rows(part)
    frozen = network.run(load_split_rows()[0]).moments
    return (network.run(unseen, frozen).logits.argmax(-1) == labels).mean(-1)


@lru_cache(maxsize=3)
def load_split_rows(part: DigitSplit = "train") -> tuple[np.ndarray, np.ndarray]:
    """Load the digits of one split, such as "test"; return pixels, (digits, 64), and classes, (digits,)."""
    ends = [-VALIDATION_DIGITS - TEST_DIGITS, -TEST_DIGITS]
    images, labels = (np.split(each, ends)[SPLIT_NAMES.index(part)] for each in load_digits())
    return images.reshape(-1, DIGIT_SIDE**2), labels
