"""Consequences of statistics from mini-batches: bias, dependence on other examples, split batches, and folding.

`frozen` are the statistics of evaluation: running averages after the last step, for the weights of the last step.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme
from normviz.topics.running import stream
from normviz.topics.running.averages import CONVENTIONS, Moments

DIGITS_PER_SIZE = 2**18
"""Number of digits drawn for each batch size."""

DRAW_COUNT = 64
"""Number of mini-batches around one example."""

COMPARED_SCHEMES = SCHEMES["batch"], SCHEMES["layer"]
"""A scheme whose output for an example depends on the other examples of the batch, and one whose output does not."""


class SampledStatistics(NamedTuple):
    """Statistics of many mini-batches of each of K sizes, (K, C), and of all training digits, (C,).

    variance: the mean of σ². expected: its exact expectation. expected_variance_error: the exact standard deviation of
    σ². elements: the m of m/(m-1), (K, 1).
    """

    elements: np.ndarray
    variance: np.ndarray
    expected: np.ndarray
    expected_variance_error: np.ndarray
    population: Moments

    @property
    def corrected_variance(self) -> np.ndarray:
        """m/(m-1) · E[σ²], (K, C): Ioffe & Szegedy 2015, Algorithm 2, step 10."""
        return CONVENTIONS["pytorch"].correct_variances(self.variance, self.elements)


def sample_batch_statistics(setting: stream.Setting, sizes: Sequence[int]) -> SampledStatistics:
    """Sample mini-batches of each of the given sizes; return their statistics with the weights before the first step.

    With V the variance of the digits' means, Var[μ] = V/N and E[σ²] = σ² - V/N for N independent digits. For a dense
    layer V = σ², so the factor m/(m-1) with m = N removes the bias. The positions of one digit are not independent, so
    for a convolution, with m = N·H·W, the factor corrects too little or too much.
    """
    x = stream.compute_layer_pre_activations(stream.load_digit_split()[0], setting)
    own = stream.compute_moments(x, stream.DIGIT_FIELD)
    whole = stream.merge_moments(np.ones(len(own.mean)), *own)
    between = np.var(own.mean, axis=0)
    rng = np.random.default_rng([setting.seed, 4])
    rows = []
    for size in sizes:
        chosen = rng.integers(0, len(own.mean), (size, DIGITS_PER_SIZE // size))
        rows.append(stream.merge_moments(np.ones(size), own.mean[chosen], own.variance[chosen]).variance.mean(0))
    n = np.array(sizes)[:, None]
    return SampledStatistics(
        elements=n * setting.output_side**2,
        variance=np.stack(rows),
        expected=whole.variance - between / n,
        expected_variance_error=compute_variance_error(own, whole, n),
        population=whole,
    )


def compute_variance_error(digit_moments: Moments, population: Moments, n: np.ndarray) -> np.ndarray:
    """Return the exact standard deviation of σ² over draws of n digits, n (K, 1) → (K, C).

    `digit_moments` are of each digit alone, `population` of all digits together. For a digit with mean m and variance
    s², a = m - μ and b = s² + a², so a batch has σ² = b̄ - ā². Then

        Var[σ²] = Var[b]/n - 2 Cov[b, a²]/n² + (E[a⁴] + (2n - 3) E[a²]²)/n³.

    For a dense layer, with one number for each digit, b = a², and it is (n-1)/n³ · ((n-1) E[a⁴] - (n-3) σ⁴).
    """
    squares = (digit_moments.mean - population.mean) ** 2
    within = digit_moments.variance + squares
    covariance = np.mean(within * squares, 0) - within.mean(0) * squares.mean(0)
    fourth, second = np.mean(squares**2, 0), squares.mean(0)
    return np.sqrt(within.var(0) / n - 2 * covariance / n**2 + (fourth + (2 * n - 3) * second**2) / n**3)


def normalize_in_random_batches(
    setting: stream.Setting, schemes: Sequence[Scheme] = COMPARED_SCHEMES, eps: float = DEFAULT_EPS
) -> dict[str, np.ndarray]:
    """Compute x̂ of the first test digit in many random mini-batches: (`DRAW_COUNT`, C), by scheme.

    Each mini-batch has the setting's size: the digit, and other training digits in each draw.
    """
    others = stream.compute_layer_pre_activations(stream.load_digit_split()[0], setting)
    chosen = np.random.default_rng([setting.seed, 5]).integers(0, len(others), (DRAW_COUNT, setting.batch))
    z = others[chosen]
    z[:, 0] = stream.compute_layer_pre_activations(stream.load_digit_split(test=True)[0][:1], setting)[0]
    middle = setting.output_side // 2
    return {scheme.key: normalize(z, scheme, eps).xhat[:, 0, middle, middle] for scheme in schemes}


def split_batch_among_devices(setting: stream.Setting, devices: int, step: int = 0) -> tuple[np.ndarray, Moments]:
    """Split the mini-batch of a step evenly among K devices; return element counts (K,) and statistics (K, C)."""
    if not 1 <= devices <= setting.batch:
        raise InvalidInput(f"{devices} devices cannot share {setting.batch} digits; 1 to {setting.batch} can.")
    parts = np.array_split(stream.compute_stream_pre_activations(setting, [step])[0], devices)
    counts = np.array([part[..., 0].size for part in parts])
    return counts, Moments(*map(np.stack, zip(*map(stream.compute_batch_statistics, parts), strict=True)))


def fold_and_compare_outputs(
    setting: stream.Setting, frozen: Moments, eps: float = DEFAULT_EPS
) -> tuple[stream.FoldedLayer, float]:
    """Fold batch norm into its layer; return the layer, and the largest relative difference of test outputs."""
    gain, bias = stream.make_affine_parameters(setting)
    matrix = stream.compute_drifted_weights(setting, stream.BATCHES - 1)
    folded = stream.fold_batch_norm(gain, bias, *frozen, eps, matrix)
    x = stream.extract_patches(stream.load_digit_split(test=True)[0], setting)
    unfolded = stream.normalize_in_inference(x @ matrix, *frozen, eps, gain, bias)
    return folded, float(np.abs(x @ folded.weights + folded.bias - unfolded).max() / np.abs(unfolded).max())
