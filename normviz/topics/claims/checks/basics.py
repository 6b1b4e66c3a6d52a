"""What beginners hear first about normalization."""

from functools import lru_cache

import numpy as np

from normviz.core.equality import find_largest_difference
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.data.samples import sample_normal, sample_uneven
from normviz.topics.claims.checks.tensors import CONV, between
from normviz.topics.claims.claim import Claim, Evidence, apart, below, over, same, seeds_from
from normviz.topics.why.network import TrainingPlan, load_split_rows, measure_test_accuracy, train_networks
from normviz.train.numpy_network import DenseNetworks

ONE: Shape = (1, *CONV[1:])
"""A batch of one example behind a convolution, (N, H, W, C)."""

ONE_DENSE: Shape = (1, 1, 1, 12)
"""The same behind a dense layer."""

NOISE = 0.7
"""The standard deviation of what is added to γ and β, drawn anew in every step."""

DRAWN = 4096
"""Examples that stand for all data."""

EXAMPLES = (0, 1, 2)
"""The axes that batch norm averages over: N, H, W."""


class NoisyShift:
    """Noise on γ and β of all hidden layers, another one in each step, so that the inputs of a layer never settle.

    Attributes:
        means: the mean input of every unit in each step, over the test digits.
    """

    def __init__(self, size: float, last: int, seed: int) -> None:
        self.size, self.last, self.rng = size, last, np.random.default_rng([seed, 71])
        self.added: list[np.ndarray] = []
        self.means: list[np.ndarray] = []

    def __call__(self, step: int, network: DenseNetworks) -> None:
        """Take off the noise of the step before, and add that of this step, but after the last one."""
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
def learn(normalized: bool, noise: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Train deep sigmoid networks; return the test accuracy of each, and its mean shift.

    The shift is the change of the mean input of a unit from one step to the next, over all hidden units and steps.
    """
    seeds = tuple(seeds_from(seed))
    ones, zeros = (1.0,) * len(seeds), (0.0,) * len(seeds)
    plan = TrainingPlan((50,) * 5, "sigmoid", normalized, 3.0, 300, 4.0, ones, zeros, seeds)
    watch = NoisyShift(noise, plan.steps, seed)
    network, _ = train_networks(plan, watch)
    return measure_test_accuracy(network), np.abs(np.diff(watch.means, axis=0)).mean((0, 1, 3))


def reduces_covariate_shift(seed: int) -> Evidence:
    """Networks without batch norm, with it, and with noise behind it that makes the shift larger than without it."""
    (plain, shift), (normed, small), (noisy, large) = (
        learn(normalized, noise, seed) for normalized, noise in ((False, 0.0), (True, 0.0), (True, NOISE))
    )
    return Evidence(
        [
            apart(
                "share of the gain in accuracy that is lost with the noise", (normed - noisy) / (normed - plain), 0.5
            ),
            apart("gain in accuracy with batch norm", normed - plain, 0.05, fact=True),
            apart("gain in accuracy with batch norm and noise", noisy - plain, 0.05, fact=True),
            apart("shift without batch norm, minus the shift with it", shift - small, 0.01, fact=True),
            apart("shift with batch norm and noise, minus the shift without both", large - shift, 0.01, fact=True),
        ]
    )


def same_for_one_example(seed: int) -> Evidence:
    """x̂ of batch norm beside that of layer norm and of instance norm, for a batch of one example."""
    return Evidence(
        [
            same("difference of batch norm's x̂ from layer norm's, convolution", between("batch", "layer", ONE, seed)),
            same(
                "difference of batch norm's x̂, which is 0, from layer norm's, dense layer",
                over(
                    seed,
                    lambda each: float(np.abs(normalize(sample_uneven(ONE_DENSE, each), SCHEMES["layer"]).xhat).max()),
                ),
            ),
            same(
                "difference of batch norm's x̂ from instance norm's, convolution",
                between("batch", "instance", ONE, seed),
                fact=True,
            ),
        ]
    )


def same_at_test_time(seed: int) -> Evidence:
    """x̂ of a batch with its own mean and variance, beside x̂ with those of all data."""

    def gap(each: int) -> float:
        x = sample_normal((DRAWN, 1, 1, 4), each)
        batch = x[:8]
        trained = normalize(batch, SCHEMES["batch"]).xhat
        tested = (batch - x.mean(EXAMPLES)) / np.sqrt(x.var(EXAMPLES) + DEFAULT_EPS)
        return find_largest_difference(trained, tested).residual

    return Evidence([below("difference of x̂ in training from x̂ at test time, batches of 8", over(seed, gap), 0.01)])


def bias_is_cancelled(seed: int) -> Evidence:
    """x̂ of batch norm with a bias added to each channel in front of it, and without."""

    def change(key: str, each: int) -> float:
        x, bias = sample_uneven(CONV, each), np.arange(1.0, 1 + CONV[-1])
        return find_largest_difference(normalize(x + bias, SCHEMES[key]).xhat, normalize(x, SCHEMES[key]).xhat).residual

    return Evidence(
        [
            apart("change of batch norm's x̂ by a bias", over(seed, lambda each: change("batch", each)), 1e-6),
            apart("change of layer norm's x̂ by a bias", over(seed, lambda each: change("layer", each)), 0.1, fact=True),
        ]
    )


def is_bounded(seed: int) -> Evidence:
    """The largest |x̂| of normal noise, and its mean square."""

    def xhat(each: int) -> np.ndarray:
        return np.asarray(normalize(sample_normal((64, 4, 4, 8), each), SCHEMES["batch"], 0.0).xhat)

    return Evidence(
        [
            below("largest |x̂| of normal noise", over(seed, lambda each: np.abs(xhat(each)).max()), 1.0),
            same(
                "distance of the mean of x̂² from 1",
                over(seed, lambda each: abs(float(np.mean(xhat(each) ** 2)) - 1)),
                fact=True,
            ),
        ]
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "X10",
        ("normviz",),
        says="Batch norm works because layer inputs then shift less (internal covariate shift).",
        how="Deep networks on digits: without batch norm, with it, and with it and noise on γ and β that differs in "
        "every step. The shift is the change of a unit's mean input from one step to the next.",
        expected="wrong",
        check=reduces_covariate_shift,
        see="/why",
        condition="With more of this shift, networks learn as well. Batch norm reduces it. With noise behind it "
        "the shift is larger than without both, and the networks learn as well as without the noise. Santurkar et al. "
        "2018 (arXiv 1805.11604) found the same.",
        long=True,
    ),
    Claim(
        "X11",
        ("normviz",),
        says="At a batch size of 1, batch norm and layer norm are the same.",
        how="x̂ of both for one example, behind a convolution and behind a dense layer.",
        expected="wrong",
        check=same_for_one_example,
        see="/compare?n=1&schemes=batch,layer",
        condition="Batch norm is then instance norm: a mean per channel. Behind a dense layer only 0 is left.",
    ),
    Claim(
        "X12",
        ("normviz",),
        says="Batch norm computes the same in training and at test time.",
        how="x̂ of batches of 8 with their own mean and variance, and with those of 4096 examples.",
        expected="wrong",
        check=same_at_test_time,
        see="/running",
        condition="Training uses the mini-batch, inference running averages.",
    ),
    Claim(
        "X13",
        ("normviz",),
        says="A layer in front of batch norm needs a bias.",
        how="x̂ with another bias added to each channel, and without, by batch norm and by layer norm.",
        expected="wrong",
        check=bias_is_cancelled,
        see="/?scheme=batch",
        condition="Batch norm subtracts the mean, and the bias with it. β is the bias that remains.",
    ),
    Claim(
        "X14",
        ("normviz",),
        says="After normalization, all values lie between −1 and 1.",
        how="x̂ of normal noise by batch norm at ε = 0.",
        expected="wrong",
        check=is_bounded,
        see="/?scheme=batch",
        condition="The variance is 1, but single values can be larger.",
    ),
)
"""Its claims."""
