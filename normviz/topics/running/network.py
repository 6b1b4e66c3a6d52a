"""Networks with batch norm that learn digits, and the statistics of all their mini-batches.

Training normalizes by each mini-batch alone, so the running averages of any momentum follow from these statistics.
"""

from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from normviz.data.digits import load_digit_split, order_mini_batches
from normviz.jobs.spec import Job, JobStep
from normviz.topics.running.averages import Moments
from normviz.train.numpy_network import DenseNetworks, NetworkPass, initialize_networks

NETWORK_COUNT = 8
"""Networks that are trained, each from a seed of its own."""

WIDTHS = (32, 32, 32)
"""Units of the hidden layers."""

STEPS, RATE, MOMENTUM = 300, 0.03, 0.9
"""Number of mini-batches, learning rate and momentum of stochastic gradient descent."""


class TrainedNetworks(NamedTuple):
    """Trained networks, with mean and variance of every mini-batch of their training, (steps, networks, units)."""

    network: DenseNetworks
    means: np.ndarray
    variances: np.ndarray


@dataclass(frozen=True)
class NetworkTraining(Job[TrainedNetworks], kind="running/training", version=1):
    """Job that trains the networks: mini-batch size, ε, and the seed of weights and mini-batches."""

    batch: int
    eps: float
    seed: int

    @property
    def seconds(self) -> float:
        """The expected seconds on one core."""
        return 0.1 + 0.005 * self.batch

    def steps(self) -> Iterator[JobStep[TrainedNetworks]]:
        """Train the networks, each with its own order of the digits; yield a step after each mini-batch."""
        pictures, classes = load_input_rows()
        generators = [np.random.default_rng([self.seed, 6, k]) for k in range(NETWORK_COUNT)]
        networks = initialize_networks(generators, WIDTHS, self.eps)
        order = np.stack([order_mini_batches(each, len(pictures), STEPS, self.batch) for each in generators], axis=1)
        means, variances = np.empty((2, STEPS, NETWORK_COUNT, sum(WIDTHS)), np.float32)
        velocities = [np.zeros_like(array) for array in networks.parameters]
        for step, chosen in enumerate(order):
            forward = networks.run(pictures[chosen])
            means[step], variances[step] = join_moments(forward)
            _, gradients = networks.compute_gradients(forward, classes[chosen])
            for array, velocity, gradient in zip(networks.parameters, velocities, gradients, strict=True):
                velocity *= MOMENTUM
                velocity += gradient
                array -= RATE * velocity
            so_far = TrainedNetworks(networks, means[: step + 1], variances[: step + 1])
            yield JobStep((step + 1) / STEPS, partial(deepcopy, so_far))


def load_input_rows(test: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the training pictures, or if `test` the test pictures, (digits, 64), and their classes, (digits,)."""
    pictures, classes = load_digit_split(test)
    return pictures.reshape(len(pictures), -1), classes


def join_moments(forward: NetworkPass) -> Moments:
    """Concatenate the layers' means and variances to two arrays (…, networks, units of all layers)."""
    return Moments(*(np.concatenate(parts, -1)[..., 0, :] for parts in zip(*forward.moments, strict=True)))


def split_moments(moments: Moments) -> list[tuple[np.ndarray, np.ndarray]]:
    """Split means and variances (networks, units) into a pair for each layer, for `DenseNetworks.run`."""
    mean, variance = (np.split(part[:, None], np.cumsum(WIDTHS)[:-1], -1) for part in moments)
    return list(zip(mean, variance, strict=True))
