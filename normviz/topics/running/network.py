"""A small network with batch norm that learns to read digits, several of them side by side, in NumPy.

Training normalizes by each mini-batch and keeps its statistics; running averages take no part in it, so those of any
momentum follow from what was kept. NumPy, since torch takes longer to be imported than these networks take to learn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE, load_digit_split
from normviz.jobs.spec import JobStep
from normviz.topics.running.averages import Moments

NETWORK_COUNT = 8
"""How many are trained, each from a seed of its own, so that the spread of what comes out is seen."""

WIDTHS = (32, 32, 32)
"""Units of the hidden layers, each of which is normalized, then put through ReLU."""

STEPS, RATE, MOMENTUM = 300, 0.03, 0.9
"""Of stochastic gradient descent: mini-batches, learning rate, and the share of the last step in the next."""

DIGITS_PER_PRODUCT = 100
"""Digits that are multiplied by weights at once. BLAS would share out more among threads, which wait for each other
where a server is busy: that took ten times as long."""

LAYER_ENDS = np.cumsum((0, *WIDTHS))
"""Where each layer's units begin and end among the units of all layers, which statistics have in one axis."""


class NetworkParameters(NamedTuple):
    """The parameters of all networks: weights (networks, in, out), gains and biases (networks, 1, out), by layer.

    The last layer, which is not normalized, has a bias and no gain.
    """

    weights: Sequence[np.ndarray]
    gains: Sequence[np.ndarray]
    biases: Sequence[np.ndarray]

    def each(self) -> list[np.ndarray]:
        """All arrays, which training changes in place."""
        return [*self.weights, *self.gains, *self.biases]

    def copy(self) -> "NetworkParameters":
        """As it is now."""
        return NetworkParameters(*([array.copy() for array in part] for part in self))


class TrainedNetworks(NamedTuple):
    """Networks, and mean and variance (1/m) of every mini-batch that they have seen, (steps, networks, units)."""

    network: NetworkParameters
    means: np.ndarray
    variances: np.ndarray


class NormalizedLayer(NamedTuple):
    """What a normalized layer had and gave, as the way back needs it: its input, x̂, 1/√(σ²+ε), and its output."""

    x: np.ndarray
    xhat: np.ndarray
    inverse: np.ndarray
    y: np.ndarray


class NetworkPass(NamedTuple):
    """One way through the network: the logits (…, networks, digits, classes), its layers, and the statistics that it
    was normalized by, (…, networks, units)."""

    logits: np.ndarray
    layers: list[NormalizedLayer]
    moments: Moments


@dataclass(frozen=True)
class NetworkTraining:
    """Train the networks on mini-batches of a size, with an ε, from a seed."""

    kind: ClassVar[str] = "running/training"
    version: ClassVar[int] = 1

    batch: int
    eps: float
    seed: int

    @property
    def seconds(self) -> float:
        """Return about how long it takes on one core of the machine on which that was measured."""
        return 0.1 + 0.005 * self.batch

    def steps(self) -> Iterator[JobStep[TrainedNetworks]]:
        """Step by step: every network goes through the digits in an order of its own."""
        pictures, classes = load_input_rows()
        generators = [np.random.default_rng([self.seed, 6, k]) for k in range(NETWORK_COUNT)]
        network = initialize_networks(generators)
        order = np.stack([_order(each, len(pictures), self.batch) for each in generators], axis=1)
        means, variances = np.empty((2, STEPS, NETWORK_COUNT, sum(WIDTHS)), np.float32)
        velocity = [np.zeros_like(array) for array in network.each()]
        for step, chosen in enumerate(order):
            passed = run_networks(network, pictures[chosen], self.eps)
            means[step], variances[step] = passed.moments
            slopes = compute_parameter_gradients(network, passed, classes[chosen])
            for array, speed, slope in zip(network.each(), velocity, slopes, strict=True):
                speed *= MOMENTUM
                speed += slope
                array -= RATE * speed
            yield JobStep((step + 1) / STEPS, partial(_so_far, network, means[: step + 1], variances[: step + 1]))


def load_input_rows(test: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Pictures as rows, (digits, 64), and their classes."""
    pictures, classes = load_digit_split(test)
    return pictures.reshape(len(pictures), -1), classes


def initialize_networks(generators: Sequence[np.random.Generator]) -> NetworkParameters:
    """Untrained networks, a generator each: weights N(0, 1/in), gains 1, biases 0."""
    ins, outs = (DIGIT_SIDE**2, *WIDTHS), (*WIDTHS, DIGIT_CLASSES)
    sizes, count = list(zip(ins, outs, strict=True)), len(generators)
    weights = [np.stack([rng.standard_normal(size) * size[0] ** -0.5 for rng in generators]) for size in sizes]
    gains = [np.ones((count, 1, width)) for width in WIDTHS]
    return NetworkParameters(weights, gains, [np.zeros((count, 1, width)) for width in outs])


def run_networks(network: NetworkParameters, x: np.ndarray, eps: float, frozen: Moments | None = None) -> NetworkPass:
    """Pictures (…, networks or 1, digits, 64) through the networks.

    In training mode each unit is normalized over the digits; in evaluation by `frozen`, (networks, units). Where its
    variance and ε are both 0 a unit gives x̂ = 0, as `normalize` does.
    """
    layers, means, variances = [], [], []
    for k, (gain, bias) in enumerate(zip(network.gains, network.biases, strict=False)):
        summed = multiply_in_pieces(x, network.weights[k])
        if frozen is None:
            mean, variance = summed.mean(-2, keepdims=True), summed.var(-2, keepdims=True)
        else:
            mean, variance = (part[:, None, LAYER_ENDS[k] : LAYER_ENDS[k + 1]] for part in frozen)
        deviation = np.sqrt(variance + eps)
        inverse = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=deviation > 0)
        xhat = (summed - mean) * inverse
        layers.append(NormalizedLayer(x, xhat, inverse, np.maximum(gain * xhat + bias, 0.0)))
        x = layers[-1].y
        means.append(mean)
        variances.append(variance)
    moments = Moments(*(np.concatenate(parts, -1)[..., 0, :] for parts in (means, variances)))
    return NetworkPass(multiply_in_pieces(x, network.weights[-1]) + network.biases[-1], layers, moments)


def multiply_in_pieces(x: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """x @ weights, piece by piece along the digits."""
    size = x.shape[-2]
    if size <= DIGITS_PER_PRODUCT:
        return x @ weights
    return np.concatenate(
        [x[..., k : k + DIGITS_PER_PRODUCT, :] @ weights for k in range(0, size, DIGITS_PER_PRODUCT)], axis=-2
    )


def compute_parameter_gradients(
    network: NetworkParameters, forward_pass: NetworkPass, classes: np.ndarray
) -> list[np.ndarray]:
    """Slopes of the mean cross-entropy in training mode, in the order of `Network.each`."""
    *_, networks, size, _ = forward_pass.logits.shape
    powers = np.exp(forward_pass.logits - forward_pass.logits.max(-1, keepdims=True))
    g = powers / powers.sum(-1, keepdims=True)
    g[np.arange(networks)[:, None], np.arange(size), classes] -= 1
    g /= size
    weights, gains, biases = [forward_pass.layers[-1].y.mT @ g], [], [g.sum(-2, keepdims=True)]
    for k in reversed(range(len(WIDTHS))):
        x, xhat, inverse, y = forward_pass.layers[k]
        g = (g @ network.weights[k + 1].mT) * (y > 0)
        biases.append(g.sum(-2, keepdims=True))
        gains.append((g * xhat).sum(-2, keepdims=True))
        g = g * network.gains[k]
        g = inverse * (g - g.mean(-2, keepdims=True) - xhat * (g * xhat).mean(-2, keepdims=True))
        weights.append(x.mT @ g)
    return [*reversed(weights), *reversed(gains), *reversed(biases)]


def _order(rng: np.random.Generator, count: int, batch: int) -> np.ndarray:
    """Which digits each mini-batch has, (steps, batch): all of them in turn, shuffled anew each time."""
    rounds = STEPS * batch // count + 1
    return np.concatenate([rng.permutation(count) for _ in range(rounds)])[: STEPS * batch].reshape(STEPS, batch)


def _so_far(network: NetworkParameters, means: np.ndarray, variances: np.ndarray) -> TrainedNetworks:
    return TrainedNetworks(network.copy(), means.copy(), variances.copy())
