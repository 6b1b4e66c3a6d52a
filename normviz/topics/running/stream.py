"""A stream of mini-batches through batch norm: batch statistics in training, running averages afterwards.

The mini-batches of digits go through a layer of fixed random weights, which may drift. Its summed inputs are arrays
(steps, N, H, W, C), with H = W = 1 for a dense layer.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, Field
from normviz.core.normalize import normalize
from normviz.core.reductions import centre, compute_rms
from normviz.core.registry import SCHEMES
from normviz.core.settings import choice, integer, real
from normviz.core.transformations import LAYERS
from normviz.data.digits import DIGIT_SIDE, cut_patches, load_digit_split
from normviz.topics.running.averages import Moments

BATCH_NORM = SCHEMES["batch"]
UNIT_FIELD = BATCH_NORM.fields[-1]
"""Batch norm's field: all digits and positions, one unit."""

DIGIT_FIELD = SCHEMES["instance"].fields[-1]
"""The field of one digit's own statistics: all its positions, one unit."""

BATCHES, UNITS = 200, 4
PATCH_SIDES = {"dense": DIGIT_SIDE, "conv": 3}
"""Side of the patch that a unit sees, without padding; a dense unit sees the whole picture."""

MAX_SHOWN_DIGITS = 8
"""Largest number of shown digits of a mini-batch."""


@dataclass(frozen=True)
class Setting:
    """Setting of a stream of mini-batches: layer, batch size, drift of the weights, and seed."""

    layer: str = choice(LAYERS[0], LAYERS, label="Layer", shown=str.capitalize)
    batch: int = integer(16, 1, 128, label="Batch size", stops=(1, 2, 4, 8, 16, 32, 64, 128))
    drift: float = real(1.0, 0.0, 3.0, label="Drift of the weights", stops=(0.0, 0.5, 1.0, 2.0, 3.0))
    seed: int = integer(0, 0, 9999, label="Seed")

    @property
    def output_side(self) -> int:
        """The height and width of the layer's output, in positions."""
        return DIGIT_SIDE + 1 - PATCH_SIDES[self.layer]

    @property
    def element_count(self) -> int:
        """The number of elements of a mini-batch that share a statistic: N·H·W."""
        return self.batch * self.output_side**2

    @property
    def without_drift(self) -> "Setting":
        """This setting without drift, for results under the first weights, which are then cached once."""
        return replace(self, drift=0.0)


class StreamTrace(NamedTuple):
    """Statistics of every mini-batch of a stream, arrays (steps, C), and values of its first digits.

    Attributes:
        mean, variance: of the batch; the variance with 1/m.
        population_mean, population_variance: of all training digits under the weights of that step.
        x, xhat: of the batch's first digits, at most `MAX_SHOWN_DIGITS`, at the middle of their pictures,
            (steps, digits, C).
    """

    mean: np.ndarray
    variance: np.ndarray
    x: np.ndarray
    xhat: np.ndarray
    population_mean: np.ndarray
    population_variance: np.ndarray


class FoldedLayer(NamedTuple):
    """Layer with batch norm merged into its weights W' and bias b': y = x W' + b'."""

    weights: np.ndarray
    bias: np.ndarray


def compute_drifted_weights(setting: Setting, step: int = 0) -> np.ndarray:
    """Compute the weights at a step, (fan-in, C), which move from random W_0 in a random direction W_1."""
    fan_in = PATCH_SIDES[setting.layer] ** 2
    first, direction = np.random.default_rng([setting.seed, 0]).standard_normal((2, fan_in, UNITS))
    # With this standard deviation of the first weights, summed inputs vary by about 0.6.
    return (first + _compute_drift(setting, step) * direction) * (2 * fan_in**-0.5)


def make_affine_parameters(setting: Setting) -> tuple[np.ndarray, np.ndarray]:
    """Sample random γ and β of the units, (C,) each, in place of learned values."""
    rng = np.random.default_rng([setting.seed, 3])
    return rng.uniform(0.5, 1.5, UNITS).round(2), rng.uniform(-1, 1, UNITS).round(2)


def compute_layer_pre_activations(pictures: np.ndarray, setting: Setting, step: int = 0) -> np.ndarray:
    """Compute the pre-activations of pictures (K, 8, 8) at a step, (K, H, W, C)."""
    return extract_patches(pictures, setting) @ compute_drifted_weights(setting, step)


def extract_patches(pictures: np.ndarray, setting: Setting) -> np.ndarray:
    """Extract the patches of pictures that the units see: (K, H, W, fan-in)."""
    cut = cut_patches(pictures, PATCH_SIDES[setting.layer])
    return cut.reshape(len(pictures), setting.output_side, setting.output_side, -1)


def sample_batch_indices(setting: Setting) -> np.ndarray:
    """Sample indices of the training digits in each mini-batch, (steps, N), with replacement."""
    return np.random.default_rng([setting.seed, 1]).integers(0, len(load_digit_split()[0]), (BATCHES, setting.batch))


def compute_stream_pre_activations(setting: Setting, steps: Sequence[int] | np.ndarray = range(BATCHES)) -> np.ndarray:
    """Compute the pre-activations of the mini-batches at `steps` of the stream: (steps, N, H, W, C)."""
    first, direction = _compute_training_pre_activations(setting.layer, setting.seed)
    chosen, amount = (
        sample_batch_indices(setting)[np.asarray(steps)],
        _compute_drift(setting, np.asarray(steps))[:, None, None, None, None],
    )
    return first[chosen] + amount * direction[chosen]


def compute_moments(x: np.ndarray, field: Field) -> Moments:
    """Compute mean and variance (1/m) over the axes that a field averages; the result lacks these axes."""
    v, mean = centre(x, field)
    full = tuple(axis for axis, rule in zip(range(-4, 0), field.rules, strict=True) if rule == FULL)
    return Moments(mean.squeeze(full), np.squeeze(compute_rms(v, field) ** 2, full))


def compute_batch_statistics(x: np.ndarray) -> Moments:
    """Compute mean and variance (1/m) of each unit over N, H, W: (…, N, H, W, C) -> (…, C)."""
    return compute_moments(x, UNIT_FIELD)


def trace_stream(setting: Setting, eps: float | None = None) -> StreamTrace:
    """Compute the statistics of every mini-batch of the stream (Ioffe & Szegedy 2015, Algorithm 1)."""
    parts, middle = [], setting.output_side // 2
    for steps in np.split(np.arange(BATCHES), BATCHES // 20):  # few at once, to keep memory small
        x = compute_stream_pre_activations(setting, steps)
        xhat = normalize(x, BATCH_NORM, eps).xhat
        shown = (each[:, :MAX_SHOWN_DIGITS, middle, middle] for each in (x, xhat))
        parts.append((*compute_batch_statistics(x), *shown))
    seen = [np.concatenate(part) for part in zip(*parts, strict=True)]
    return StreamTrace._make([*seen, *compute_population(setting)])


def compute_population(setting: Setting) -> Moments:
    """Compute mean and variance of all training digits under the weights of every step, (steps, C).

    The summed inputs are a + t·b, so their variance is Var a + 2 t Cov(a, b) + t² Var b.
    """
    first, direction = _compute_training_pre_activations(setting.layer, setting.seed)
    (u, mean_u), (v, mean_v) = centre(first, UNIT_FIELD), centre(direction, UNIT_FIELD)
    amount = _compute_drift(setting, np.arange(BATCHES))[:, None]
    variance, covariance, drift_variance = (np.mean(product, (0, 1, 2)) for product in (u * u, u * v, v * v))
    mean = mean_u.reshape(-1) + amount * mean_v.reshape(-1)
    return Moments(mean, variance + 2 * amount * covariance + amount**2 * drift_variance)


def merge_moments(counts: Sequence[int] | np.ndarray, means: np.ndarray, variances: np.ndarray) -> Moments:
    """Return mean and variance (1/m) of a batch, (…, C), from counts (K,), means and variances (K, …, C) of K parts.

    μ = Σ m_k μ_k / m,  σ² = Σ m_k (σ_k² + (μ_k - μ)²) / m    (Chan, Golub & LeVeque 1979, for K parts at once)
    """
    share = np.reshape(np.asarray(counts) / np.sum(counts), (-1, *[1] * (means.ndim - 1)))
    mean = (share * means).sum(0)
    return Moments(mean, (share * (variances + (means - mean) ** 2)).sum(0))


def compute_affine_map(
    mean: np.ndarray, variance: np.ndarray, eps: float, gain: np.ndarray | float = 1.0, bias: np.ndarray | float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Compute a and b of batch norm as y = a x + b: a = γ / sqrt(σ² + ε), b = β - a μ.

    Source: Ioffe & Szegedy 2015, Algorithm 2, step 11.
    """
    factor = gain / _compute_deviation(variance, eps)
    return factor, bias - factor * mean


def normalize_in_inference(
    x: np.ndarray,
    mean: np.ndarray,
    variance: np.ndarray,
    eps: float,
    gain: np.ndarray | float = 1.0,
    bias: np.ndarray | float = 0.0,
) -> np.ndarray:
    """Apply batch norm in evaluation: y = γ (x - μ) / sqrt(σ² + ε) + β, with given μ and σ², (…, C)."""
    return (x - mean) / _compute_deviation(variance, eps) * gain + bias


def fold_batch_norm(
    gain: np.ndarray, bias: np.ndarray, mean: np.ndarray, variance: np.ndarray, eps: float, weights: np.ndarray
) -> FoldedLayer:
    """Merge a batch norm into the layer x W before it: W' = W a and b' = b, with a and b of `compute_affine_map`."""
    factor, offset = compute_affine_map(mean, variance, eps, gain, bias)
    return FoldedLayer(weights * factor, offset)


def _compute_deviation(variance: np.ndarray, eps: float) -> np.ndarray:
    """Return sqrt(σ² + ε) for each variance.

    Raises:
        InvalidInput: a sum σ² + ε is 0.
    """
    if np.any(variance + eps <= 0):
        raise InvalidInput("a running variance is 0 and so is ε: evaluation would divide by 0; an ε of 10⁻⁵ would do.")
    return np.sqrt(variance + eps)


@lru_cache(maxsize=8)
def _compute_training_pre_activations(layer: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Compute the training digits' pre-activations under the first weights, and their change for a drift of 1."""
    still, moved = Setting(layer, seed=seed), Setting(layer, drift=1.0, seed=seed)
    first = compute_layer_pre_activations(load_digit_split()[0], still)
    direction = compute_layer_pre_activations(load_digit_split()[0], moved, BATCHES - 1) - first
    first.flags.writeable = direction.flags.writeable = False
    return first, direction


def _compute_drift(setting: Setting, step: int | np.ndarray) -> np.ndarray:
    """Compute the drift of the weights at a step: 0 at the first, `drift` at the last."""
    return setting.drift * np.asarray(step) / (BATCHES - 1)
