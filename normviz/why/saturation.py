"""What a sigmoid unit is given while a deep network learns, with batch norm and without.

Source: Ioffe & Szegedy 2015, arXiv 1502.03167, sections 2 and 4.1, figure 1.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from normviz.core.settings import real, whole
from normviz.why.network import Network, Plan, accuracy, digits, train

WIDTH = 50
STEPS = 500
EVERY = 10
"""Steps between two looks at the distribution."""

QUANTILES = (0.15, 0.5, 0.85)
"""Of figure 1 in the paper."""

SLOPE = 0.025
"""A sigmoid unit is saturated where σ′ is below this: a tenth of the most that it can be, 1/4."""

EDGE = float(np.arccosh(0.5 / SLOPE - 1))
"""The input beyond which that is so: σ′(a) = 1 / (2 + 2 cosh a)."""


@dataclass(frozen=True)
class Setting:
    """A network: how many hidden layers, how large its weights are at first, how fast it learns, and the seed."""

    depth: int = whole(5, 1, 6, label="Hidden layers", control="slider")
    start: float = real(4.0, 0.5, 8.0, label="Scale of the first weights", stops=(0.5, 1.0, 2.0, 4.0, 8.0))
    rate: float = real(3.0, 0.01, 10.0, label="Learning rate", stops=(0.03, 0.1, 0.3, 1.0, 3.0, 10.0))
    seed: int = whole(0, 0, 9999, label="Seed")


class Seen(NamedTuple):
    """A training run as unseen digits see it.

    Attributes:
        steps: when it was looked at, (looks,).
        quantiles: of the input of every unit's sigmoid, (looks, quantiles, depth, WIDTH).
        saturated: the share of inputs with a slope below SLOPE, (looks, depth).
        losses: of the mini-batches, (STEPS,).
        accuracy: of unseen digits at the end.
    """

    steps: np.ndarray
    quantiles: np.ndarray
    saturated: np.ndarray
    losses: np.ndarray
    accuracy: float


def run(setting: Setting, normalized: bool) -> Seen:
    """Train a network, and look at what its sigmoids are given by the digits that it does not train on.

    With batch norm they are normalized by their own statistics, as a mini-batch of them would be.
    """
    x, _ = digits(test=True)
    steps, quantiles, saturated = [], [], []

    def watch(step: int, network: Network) -> None:
        if step % EVERY:
            return
        given = np.stack([layer.a[0] for layer in network.layers(x[None])], axis=1)  # (digits, depth, WIDTH)
        steps.append(step)
        quantiles.append(np.quantile(given, QUANTILES, axis=0))
        saturated.append((np.abs(given) > EDGE).mean((0, 2)))

    widths = (WIDTH,) * setting.depth
    plan = Plan(widths, "sigmoid", normalized, setting.rate, STEPS, setting.start, (1.0,), (0.0,), (setting.seed,))
    network, losses = train(plan, watch)
    return Seen(np.array(steps), np.array(quantiles), np.array(saturated), losses[:, 0], float(accuracy(network)[0]))
