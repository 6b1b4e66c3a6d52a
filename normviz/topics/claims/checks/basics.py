"""Claims that beginners hear first about normalization."""

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.data.samples import sample_normal, sample_uneven
from normviz.topics.claims.checks.tensors import CONV_SHAPE, compute_residual, measure_scheme_gap
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal, list_seeds
from normviz.topics.why.network import TrainingPlan, load_split_rows, measure_test_accuracy, train_networks
from normviz.train.numpy_network import DenseNetworks

CLAIMS = ClaimList()

SINGLE_CONV_SHAPE: Shape = (1, *CONV_SHAPE[1:])
"""A batch of one example behind a convolution, (N, H, W, C)."""

BATCH_NORM_AXES = (0, 1, 2)
"""The axes that batch norm averages over: N, H, W."""


class AffineNoise:
    """Noise on γ and β of all hidden layers, drawn anew in each step: a callback of `train_networks`.

    Attributes:
        means: the mean input of every unit in each step, over the test digits.
    """

    def __init__(self, size: float, last: int, seed: int) -> None:
        self.size, self.last, self.rng = size, last, np.random.default_rng([seed, 71])
        self.added: list[np.ndarray] = []
        self.means: list[np.ndarray] = []

    def __call__(self, step: int, network: DenseNetworks) -> None:
        """Replace the last step's noise in the network by new noise, in place; after the last step, only remove it."""
        arrays = [*network.gains, *network.biases[:-1]]
        for array, added in zip(arrays, self.added, strict=False):
            array -= added
        self.added = [self.size * self.rng.standard_normal(each.shape) for each in arrays if step < self.last]
        for array, added in zip(arrays, self.added, strict=False):
            array += added
        if step < self.last:
            x, _ = load_split_rows("test")
            self.means.append(np.stack([each.a.mean(1) for each in network.run(x).layers]))


@lru_cache(maxsize=8)
def train_with_noise(has_norm: bool, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Train with noise of size `noise` on γ and β; return test accuracies and mean shifts by seed.

    The networks have batch norm if `has_norm`. The shift is the change of a unit's mean input from one step to the
    next, over all hidden units and steps.
    """
    plan = TrainingPlan((50,) * 5, has_norm, 3.0, 300, 4.0, tuple(list_seeds(seed)))
    watch = AffineNoise(noise, plan.steps, seed)
    network, _ = train_networks(plan, watch)
    return measure_test_accuracy(network), np.abs(np.diff(watch.means, axis=0)).mean((0, 1, 3))


@CLAIMS.add("X10", "normviz", "wrong", "/why",
    says="Batch norm works because layer inputs then shift less (internal covariate shift).",
    condition="With more of this shift, networks learn just as well. Batch norm reduces it. With noise behind it "
    "the shift is larger than without both, and the networks learn as well as without the noise. Santurkar et al. "
    "2018 (arXiv 1805.11604) found the same.",
    long=True, once=True)  # fmt: skip
def check_covariate_shift(seed: int) -> Iterator[Trial]:
    """Yield trials that measure accuracy and shift of layers' inputs without batch norm, with it, and with noise."""
    (plain, shift), (normed, small), (noisy, large) = (
        train_with_noise(normalized, noise, seed) for normalized, noise in ((False, 0.0), (True, 0.0), (True, 0.7))
    )
    values = (normed - noisy) / (normed - plain)
    yield expect_at_least("share of the gain in accuracy that is lost with the noise", values, 0.5)
    yield expect_at_least("gain in accuracy with batch norm", normed - plain, 0.05, fact=True)
    yield expect_at_least("gain in accuracy with batch norm and noise", noisy - plain, 0.05, fact=True)
    yield expect_at_least("shift without batch norm, minus the shift with it", shift - small, 0.01, fact=True)
    what = "shift with batch norm and noise, minus the shift without both"
    yield expect_at_least(what, large - shift, 0.01, fact=True)


@CLAIMS.add("X11", "normviz", "wrong", "/compare?n=1&schemes=batch,layer",
    says="At a batch size of 1, batch norm and layer norm are the same.",
    condition="Batch norm is then instance norm: a mean per channel. Behind a dense layer only 0 is left.")  # fmt: skip
def check_single_example(seed: int) -> Iterator[Trial]:
    """Yield trials that compare x̂ of batch norm with layer norm's and instance norm's, for a batch of one example."""
    gap = measure_scheme_gap("batch", "layer", SINGLE_CONV_SHAPE, seed)
    yield expect_equal("difference of batch norm's x̂ from layer norm's, convolution", gap)
    xhat = normalize(sample_uneven((1, 1, 1, 12), seed), SCHEMES["layer"]).xhat
    what = "difference of batch norm's x̂, which is 0, from layer norm's, dense layer"
    yield expect_equal(what, np.abs(xhat).max())
    gap = measure_scheme_gap("batch", "instance", SINGLE_CONV_SHAPE, seed)
    yield expect_equal("difference of batch norm's x̂ from instance norm's, convolution", gap, fact=True)


@CLAIMS.add("X12", "normviz", "wrong", "/running",
    says="Batch norm computes the same in training and at test time.",
    condition="Training uses the mini-batch, inference running averages.")  # fmt: skip
def check_test_time_output(seed: int) -> Iterator[Trial]:
    """Yield trials that compare x̂ by the mean and variance of a batch with x̂ by those of all data."""
    x = sample_normal((4096, 1, 1, 4), seed)  # so many that they stand for all data
    batch = x[:8]
    trained = normalize(batch, SCHEMES["batch"]).xhat
    tested = (batch - x.mean(BATCH_NORM_AXES)) / np.sqrt(x.var(BATCH_NORM_AXES) + DEFAULT_EPS)
    gap = compute_residual(trained, tested)
    yield expect_at_most("difference of x̂ in training from x̂ at test time, batches of 8", gap, 0.01)


@CLAIMS.add("X13", "normviz", "wrong", "/?scheme=batch",
    says="A layer in front of batch norm needs a bias.",
    condition="Batch norm subtracts the mean, and the bias with it. β is the bias that remains.")  # fmt: skip
def check_bias_cancellation(seed: int) -> Iterator[Trial]:
    """Yield trials that compare batch norm's x̂ with and without a bias, added to each channel before batch norm."""
    x, bias = sample_uneven(CONV_SHAPE, seed), np.arange(1.0, 1 + CONV_SHAPE[-1])
    batch, layer = (
        compute_residual(normalize(x + bias, SCHEMES[key]).xhat, normalize(x, SCHEMES[key]).xhat)
        for key in ("batch", "layer")
    )
    yield expect_at_least("change of batch norm's x̂ by a bias", batch, 1e-6)
    yield expect_at_least("change of layer norm's x̂ by a bias", layer, 0.1, fact=True)


@CLAIMS.add("X14", "normviz", "wrong", "/?scheme=batch",
    says="After normalization, all values lie between −1 and 1.",
    condition="The variance is 1, but single values can be larger.")  # fmt: skip
def check_bounded_output(seed: int) -> Iterator[Trial]:
    """Yield trials that measure the largest |x̂| and the mean square of x̂ for normal noise."""
    xhat = normalize(sample_normal((64, 4, 4, 8), seed), SCHEMES["batch"], 0.0).xhat
    yield expect_at_most("largest |x̂| of normal noise", np.abs(xhat).max(), 1.0)
    yield expect_equal("distance of the mean of x̂² from 1", abs(np.mean(xhat**2) - 1), fact=True)
