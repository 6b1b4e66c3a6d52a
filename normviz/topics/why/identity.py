"""γ and β that undo the normalization.

Source: Ioffe & Szegedy 2015, arXiv 1502.03167, section 3: γ = √Var[x] and β = E[x] recover the original activations.
"""

from typing import NamedTuple

import numpy as np

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.data.samples import SAMPLES

SHAPE = (32, 8, 8, 4)
"""Shape of the feature maps of digits that the layer normalizes."""


class UndoneBatchNorm(NamedTuple):
    """Batch norm that γ and β partly undo: x, y, μ, √(σ²+ε), γ and β by channel, and `gap`, max|y − x|."""

    x: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    deviation: np.ndarray
    gain: np.ndarray
    bias: np.ndarray
    gap: float


def undo_batch_norm(progress: float, eps: float, seed: int) -> UndoneBatchNorm:
    """Apply batch norm with γ and β moved from 1 and 0 (`progress` 0) to √(σ²+ε) and μ (`progress` 1, y = x)."""
    x, scheme = SAMPLES["features"].make(SHAPE, seed), SCHEMES["batch"]
    plain = normalize(x, scheme, eps)
    assert plain.mean is not None
    assert plain.deviation is not None
    gain, bias = 1 + progress * (plain.deviation - 1), progress * plain.mean
    y = normalize(x, scheme, eps, gain, bias).y
    before, after = (np.moveaxis(each, -1, 0).reshape(SHAPE[-1], -1) for each in (x, y))
    mean, deviation, gains, biases = (np.ravel(each) for each in (plain.mean, plain.deviation, gain, bias))
    return UndoneBatchNorm(before, after, mean, deviation, gains, biases, float(np.abs(y - x).max()))
