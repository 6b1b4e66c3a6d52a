"""γ and β: that they can undo the normalization, and whether their first values matter.

Source: Ioffe & Szegedy 2015, arXiv 1502.03167, section 3: with γ = √Var[x], β = E[x] the original activations are
recovered; the question on the first values is that of Ren et al. 2017's readers.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.data.samples import SAMPLES
from normviz.why.network import Plan, accuracy, train

SHAPE = (32, 8, 8, 4)
"""Feature maps of digits: the layer that is undone."""

GAINS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0)
SHIFTS = (-4.0, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, 4.0)
SEEDS = 4
WIDTHS = (32,)
STEPS = 150
AVERAGED = 20
"""Mini-batches at the end whose losses are averaged."""


class Undone(NamedTuple):
    """x and y of every element by channel (C, elements), μ, √(σ²+ε), γ and β by channel, and max|y − x|."""

    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    gain: np.ndarray
    bias: np.ndarray
    gap: float


def undone(part: float, eps: float, seed: int) -> Undone:
    """Batch norm of feature maps with γ and β on their way from 1 and 0 to √(σ²+ε) and μ; `part`: how far, 0 to 1."""
    x, scheme = SAMPLES["features"].make(SHAPE, seed), SCHEMES["batch"]
    plain = normalize(x, scheme, eps)
    assert plain.mean is not None
    assert plain.deviation is not None
    gain, bias = 1 + part * (plain.deviation - 1), part * plain.mean
    y = normalize(x, scheme, eps, gain, bias).y
    before, after = (np.moveaxis(each, -1, 0).reshape(SHAPE[-1], -1) for each in (x, y))
    mean, deviation, gains, biases = (np.ravel(each) for each in (plain.mean, plain.deviation, gain, bias))
    return Undone(before, after, mean, deviation, gains, biases, float(np.abs(y - x).max()))


class Sweep(NamedTuple):
    """By the first value and the seed, (values, SEEDS): the loss at the end, and the accuracy on unseen digits."""

    losses: np.ndarray
    accuracy: np.ndarray


def sweep(gains: Sequence[float], shifts: Sequence[float], rate: float) -> Sweep:
    """Networks with batch norm and ReLU that differ in their first γ or β, SEEDS of each, trained side by side.

    `gains` and `shifts` are as long as each other: a pair is one first value.
    """
    seeds = tuple(range(SEEDS))
    pairs = [(gain, shift) for gain, shift in zip(gains, shifts, strict=True) for _ in seeds]
    plan = Plan(
        WIDTHS, "relu", True, rate, STEPS, 1.0, tuple(gain for gain, _ in pairs), tuple(shift for _, shift in pairs),
        seeds * len(gains),
    )  # fmt: skip
    network, losses = train(plan)
    return Sweep(*(each.reshape(len(gains), SEEDS) for each in (losses[-AVERAGED:].mean(0), accuracy(network))))
