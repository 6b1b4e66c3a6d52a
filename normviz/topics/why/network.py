"""Small dense networks on digits, several side by side along a leading axis, with batch norm or without, in NumPy.

NumPy, since torch takes longer to be imported than these networks take to learn.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np

from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE, load_digits

TEST_DIGITS = 297
"""Digits that test the networks, the last of them."""

VALIDATION_DIGITS = 300
"""Digits in front of these, by which learning rates are chosen."""

DigitSplit = Literal["train", "validation", "test"]
"""A part of the digits."""

SPLIT_NAMES = get_args(DigitSplit)
"""The parts of the digits, in their order."""

EPS = 1e-5
BATCH = 60
"""Digits of a mini-batch, as in the experiment of Ioffe & Szegedy 2015, section 4.1."""


@dataclass(frozen=True)
class TrainingPlan:
    """Networks that are trained alike.

    Attributes:
        widths: units of the hidden layers.
        activation: "sigmoid" or "relu".
        normalized: batch norm in front of every activation, with γ and β; without it, a bias.
        rate, steps: of stochastic gradient descent on mini-batches of BATCH.
        start: the first weights are N(0, start²/fan-in).
        gains, shifts: γ and β before training, by network; without batch norm, β is the bias.
        seeds: of first weights and mini-batches, by network.
    """

    widths: tuple[int, ...]
    activation: str
    normalized: bool
    rate: float
    steps: int
    start: float
    gains: tuple[float, ...]
    shifts: tuple[float, ...]
    seeds: tuple[int, ...]


class HiddenLayer(NamedTuple):
    """What a layer had and gave: its input, x̂ and 1/√(σ²+ε) where it is normalized, what its activation gets, its
    output, and mean and variance."""

    x: np.ndarray
    xhat: np.ndarray | None
    inverse: np.ndarray | None
    a: np.ndarray
    y: np.ndarray
    moments: tuple[np.ndarray, np.ndarray] | None


class DenseNetworks(NamedTuple):
    """Weights (networks, in, out), γ and β (networks, 1, out) by layer; the last layer has weights and β alone."""

    plan: TrainingPlan
    weights: list[np.ndarray]
    gains: list[np.ndarray]
    biases: list[np.ndarray]

    def layers(self, x: np.ndarray, frozen: list[HiddenLayer] | None = None) -> list[HiddenLayer]:
        """All hidden layers for digits (networks or 1, digits, 64), normalized by these digits or as `frozen` was."""
        made = []
        for k, (gain, bias) in enumerate(zip(self.gains, self.biases, strict=False)):
            a, xhat, inverse, moments = x @ self.weights[k], None, None, None
            if self.plan.normalized:
                moments = _moments(a) if frozen is None else frozen[k].moments
                assert moments is not None
                inverse = 1 / np.sqrt(moments[1] + EPS)
                xhat = (a - moments[0]) * inverse
                a = gain * xhat
            a = a + bias
            y = 0.5 + 0.5 * np.tanh(a / 2) if self.plan.activation == "sigmoid" else np.maximum(a, 0.0)
            made.append(HiddenLayer(x, xhat, inverse, a, y, moments))
            x = y
        return made

    def logits(self, made: list[HiddenLayer]) -> np.ndarray:
        """(networks, digits, classes)."""
        return made[-1].y @ self.weights[-1] + self.biases[-1]

    def gradients(self, made: list[HiddenLayer], labels: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """The mean cross-entropy of every network, and its slopes in the order weights, gains, biases."""
        logits = self.logits(made)
        logits = logits - logits.max(-1, keepdims=True)
        norm = np.log(np.exp(logits).sum(-1, keepdims=True))
        chosen = labels[..., None]
        loss = (norm - np.take_along_axis(logits, chosen, -1)).mean((1, 2))
        g = np.exp(logits - norm)
        np.put_along_axis(g, chosen, np.take_along_axis(g, chosen, -1) - 1, -1)
        g /= labels.shape[1]
        weights, gains, biases = [made[-1].y.mT @ g], [], [g.sum(1, keepdims=True)]
        for k in reversed(range(len(made))):
            layer = made[k]
            slope = layer.y * (1 - layer.y) if self.plan.activation == "sigmoid" else layer.y > 0
            g = (g @ self.weights[k + 1].mT) * slope
            biases.append(g.sum(1, keepdims=True))
            if layer.xhat is not None:
                gains.append((g * layer.xhat).sum(1, keepdims=True))
                g = g * self.gains[k]
                along = _mean(g * layer.xhat)
                g = layer.inverse * (g - _mean(g) - layer.xhat * along)
            weights.append(layer.x.mT @ g)
        return loss, [*reversed(weights), *reversed(gains), *reversed(biases)]


def _mean(a: np.ndarray) -> np.ndarray:
    """Return the means over the digits of (networks, digits, units); a matrix product takes a quarter of their time."""
    return np.full((1, a.shape[1]), 1 / a.shape[1]) @ a


def _moments(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and the variances over the digits of (networks, digits, units)."""
    mean = _mean(a)
    return mean, _mean((a - mean) ** 2)


def make_initial_networks(plan: TrainingPlan) -> DenseNetworks:
    """The networks before training; those of one seed have the same weights."""
    sizes = list(zip((DIGIT_SIDE**2, *plan.widths), (*plan.widths, DIGIT_CLASSES), strict=True))
    count = len(plan.seeds)
    weights = [np.empty((count, *size)) for size in sizes]
    for n, seed in enumerate(plan.seeds):
        rng = np.random.default_rng([seed, 22])
        for weight, (fan_in, fan_out) in zip(weights, sizes, strict=True):
            weight[n] = plan.start * fan_in**-0.5 * rng.standard_normal((fan_in, fan_out))
    gains, shifts = (np.array(values, float)[:, None, None] for values in (plan.gains, plan.shifts))
    return DenseNetworks(
        plan, weights, [gains * np.ones(width) for width in plan.widths],
        [shifts * np.ones(width) for width in plan.widths] + [np.zeros((count, 1, DIGIT_CLASSES))],
    )  # fmt: skip


def train_networks(
    plan: TrainingPlan, watch: Callable[[int, DenseNetworks], object] = lambda step, network: None
) -> tuple[DenseNetworks, np.ndarray]:
    """Train to the end: the networks, and the loss of every mini-batch, (steps, networks).

    `watch` sees the networks before every step, and after the last.
    """
    (x, labels), network = load_split_rows(), make_initial_networks(plan)
    orders = {seed: np.random.default_rng([seed, 23]).integers(len(x), size=(plan.steps, BATCH)) for seed in plan.seeds}
    order = np.stack([orders[seed] for seed in plan.seeds], axis=1)
    losses = np.empty((plan.steps, len(plan.seeds)))
    with np.errstate(over="ignore", invalid="ignore"):
        for step, chosen in enumerate(order):
            watch(step, network)
            losses[step], slopes = network.gradients(network.layers(x[chosen]), labels[chosen])
            parameters = [*network.weights, *(network.gains if plan.normalized else []), *network.biases]
            for array, slope in zip(parameters, slopes, strict=True):
                array -= plan.rate * slope
        watch(plan.steps, network)
    return network, losses


def measure_test_accuracy(network: DenseNetworks, part: DigitSplit = "test") -> np.ndarray:
    """Return the accuracy of each network on a part of the digits, in inference.

    Batch norm then uses the mean and variance of all training digits.
    """
    unseen, labels = load_split_rows(part)
    frozen = network.layers(load_split_rows()[0][None]) if network.plan.normalized else None
    found = network.logits(network.layers(unseen[None], frozen)).argmax(-1)
    return (found == labels).mean(-1)


@lru_cache(maxsize=3)
def load_split_rows(part: DigitSplit = "train") -> tuple[np.ndarray, np.ndarray]:
    """Return the pictures of a part of the digits as rows (digits, 64), and their classes."""
    ends = [-VALIDATION_DIGITS - TEST_DIGITS, -TEST_DIGITS]
    images, labels = (np.split(each, ends)[SPLIT_NAMES.index(part)] for each in load_digits())
    return images.reshape(-1, DIGIT_SIDE**2), labels
