"""Batch norm: what it computes in training and in inference."""

from functools import lru_cache, partial

import numpy as np

from normviz.claims.claim import Claim, Evidence, apart, below, over, same
from normviz.core.backward import gradients
from normviz.core.equality import difference
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.schemes import DEFAULT_EPS, SCHEMES
from normviz.data.samples import uneven
from normviz.gradients import scaling
from normviz.gradients.autograd import by_autograd
from normviz.gradients.small import algorithm_1, small
from normviz.running import effects
from normviz.running.averages import CONVENTIONS, lag, running_averages
from normviz.running.stream import Setting, batch_statistics, merge, population, stream, trace
from normviz.why import saturation
from normviz.why.outside import descend

CONV: Shape = (4, 3, 3, 4)
"""A batch behind a convolution, (N, H, W, C)."""

AVERAGED = (0, 1, 2)
"""The axes of it that batch norm averages over: N, H, W."""

PAIR = 2
"""The smallest mini-batch that has a variance."""

STANDARD_ERRORS = 6.0
"""A mean over many draws is closer than this to what it estimates."""

DEVICES = 3
"""The mini-batch cannot be dealt to so many in equal parts."""

FACTORS = (0.01, 3.0, 100.0)
"""a, which all weights are multiplied by."""

NETWORKS = 3
"""So many deep networks are trained in every setting, each with a seed of its own."""


def output_has_mean_0_and_variance_1(seed: int) -> Evidence:
    """The mean and variance of x̂ over N, H, W, of channels that differ: at ε = 0, and of small ones with ε."""

    def furthest(scale: float, eps: float, smoothed: bool, each: int) -> float:
        x = scale * uneven(CONV, each)
        variance = x.var(AVERAGED)
        expected = variance / (variance + eps) if smoothed else 1
        return float(np.abs(normalize(x, SCHEMES["batch"], eps).xhat.var(AVERAGED) - expected).max())

    def mean(each: int) -> float:
        return float(np.abs(normalize(uneven(CONV, each), SCHEMES["batch"]).xhat.mean(AVERAGED)).max())

    little = partial(furthest, 0.001, DEFAULT_EPS)
    return Evidence(
        [
            same("largest mean of a channel of x̂ over N, H, W", over(seed, mean)),
            same("largest distance of its variance from 1 at ε = 0", over(seed, partial(furthest, 1.0, 0.0, False))),
            same("with ε = 10⁻⁵, for an x a thousandth as large", over(seed, partial(little, False))),
            same("and there from var/(var + ε)", over(seed, partial(little, True)), fact=True),
        ]
    )


def variance_is_unbiased(seed: int) -> Evidence:
    """m/(m−1) · E[σ²] of pairs of independent digits behind a dense layer, beside the variance of all digits."""

    @lru_cache(maxsize=16)
    def pairs(each: int) -> effects.Sampled:
        return effects.sampled(Setting("dense", drift=0.0, seed=each), sizes=(PAIR,))

    def exactly(each: int) -> float:
        found = pairs(each)
        return difference(found._replace(variance=found.expected).corrected[0], found.population.variance).residual

    def drawn(each: int) -> float:
        found = pairs(each)
        factor, draws = found.corrected / found.variance, effects.DRAWN // PAIR
        error = factor * found.expected_variance_error / np.sqrt(draws)
        return float((np.abs(found.corrected - found.population.variance) / error).max())

    def missing(each: int) -> float:
        return float((1 - pairs(each).variance / pairs(each).population.variance).min())

    return Evidence(
        [
            same("relative difference of m/(m−1) · E[σ²] from the variance of all, exactly", over(seed, exactly)),
            below("over many draws, in standard errors", over(seed, drawn), STANDARD_ERRORS),
            apart("share of that variance that E[σ²] misses without the factor", over(seed, missing), 0.4, fact=True),
        ]
    )


def average_is_folded(seed: int) -> Evidence:
    """A layer whose weights drift: its outputs with batch norm folded in or not, and whose mean the average is."""
    keras, momentum = CONVENTIONS["keras"], 0.9
    steps = round(lag(keras.other(momentum)))

    def folded(each: int) -> float:
        setting, seen = Setting(seed=each), trace(Setting(seed=each))
        averages = running_averages(seen.mean, seen.variance, setting.count, keras, momentum)
        return effects.folding(setting, averages.last)[1]

    def lagging(behind: int, each: int) -> float:
        setting, whole = Setting(seed=each), population(Setting(seed=each))
        averages = running_averages(*whole, setting.count, keras, momentum)
        return difference(averages.last.mean, whole.mean[-1 - behind]).residual

    return Evidence(
        [
            same("difference of the outputs, folded into the weights against step by step", over(seed, folded)),
            apart("of the average from the mean while weights drift", over(seed, partial(lagging, 0)), 1e-4, fact=True),
            same(f"and from the mean {steps} batches earlier", over(seed, partial(lagging, steps)), fact=True),
        ]
    )


def gap(scheme: str, of: str, seed: int) -> tuple[float, ...]:
    """How far aW is from W in one of x̂, ∂l/∂u and a · ∂l/∂(aW), at ε = 0 and the worst a, over seeds."""

    def worst(each: int) -> float:
        at = scaling.layer(CONV, each)
        return max(getattr(scaling.gaps(SCHEMES[scheme], at, a, 0.0), of) for a in FACTORS)

    return over(seed, worst)


def output_ignores_a(seed: int) -> Evidence:
    """x̂ of aW beside that of W at three a > 0, of −aW beside its negative, and with ε."""

    def negative(each: int) -> float:
        return scaling.turned(SCHEMES["batch"], scaling.layer(CONV, each), FACTORS[1], 0.0)

    def smoothed(each: int) -> float:
        return scaling.gaps(SCHEMES["batch"], scaling.layer(CONV, each), FACTORS[0], DEFAULT_EPS).xhat

    return Evidence(
        [
            same(
                "largest difference of x̂ of aW from that of W, at a = 0.01, 3 and 100, ε = 0",
                gap("batch", "xhat", seed),
            ),
            same("of x̂ of −aW from −x̂ of aW", over(seed, negative), fact=True),
            apart("of x̂ of aW from that of W with ε = 10⁻⁵, at a = 0.01", over(seed, smoothed), 1e-4, fact=True),
            apart("without batch norm, at the largest a", gap("none", "xhat", seed), 1.0, fact=True),
        ]
    )


def gradient_below_ignores_a(seed: int) -> Evidence:
    """∂l/∂u with aW beside that with W, for the same ∂l/∂x̂."""
    return Evidence(
        [
            same(
                "largest difference of ∂l/∂u with aW from that with W, at a = 0.01, 3 and 100", gap("batch", "du", seed)
            ),
            apart("without batch norm, at the largest a", gap("none", "du", seed), 1.0, fact=True),
        ]
    )


def gradient_of_weights_shrinks(seed: int) -> Evidence:
    """a · ∂l/∂(aW) beside ∂l/∂W, for the same ∂l/∂x̂."""
    return Evidence(
        [
            same("largest difference of a · ∂l/∂(aW) from ∂l/∂W, at a = 0.01, 3 and 100", gap("batch", "dw", seed)),
            apart("without batch norm, at the largest a", gap("none", "dw", seed), 1.0, fact=True),
        ]
    )


def algorithm_1_is_the_gradient(seed: int) -> Evidence:
    """The printed lines and this app's gradients beside those of PyTorch, which differentiates the forward pass."""

    def printed(each: int) -> float:
        at = small(SCHEMES["batch"], CONV, each)
        return difference(algorithm_1(at, DEFAULT_EPS), by_autograd(SCHEMES["batch"], at, DEFAULT_EPS)["dx"]).residual

    def ours(each: int) -> float:
        at = small(SCHEMES["batch"], CONV, each)
        found = gradients(at.x, at.dy, SCHEMES["batch"], DEFAULT_EPS, at.gain, at.bias)
        others = by_autograd(SCHEMES["batch"], at, DEFAULT_EPS)
        return max(difference(getattr(found, name), other).residual for name, other in others.items())

    return Evidence(
        [
            same("largest relative difference from autograd: of ∂ℓ/∂x, line by line as printed", over(seed, printed)),
            same("of ∂ℓ/∂x, ∂ℓ/∂γ and ∂ℓ/∂β as this app has them", over(seed, ours)),
        ]
    )


def bias_grows_outside(seed: int) -> Evidence:
    """Fifty steps on a bias in front of a centring, whose mean is taken for a constant, or is in the gradient."""
    outside, inside = (partial(descend, 0.1, 50, inside=each) for each in (False, True))

    def moved(each: int) -> float:
        losses = outside(each).losses
        return float(np.ptp(losses) / losses[0])

    return Evidence(
        [
            apart("b after 50 steps, from 0", over(seed, lambda each: outside(each).b[-1]), 1.0),
            same("largest change of the loss on the way, relative to it", over(seed, moved)),
            same("largest b with E[x] in the gradient", over(seed, lambda each: np.abs(inside(each).b).max())),
        ]
    )


def output_depends_on_others(seed: int) -> Evidence:
    """How much x̂ of one digit varies, among others that are drawn at random."""

    def deviation(key: str, each: int) -> float:
        setting = Setting("dense", drift=0.0, seed=each)
        return float(effects.among_others(setting, (SCHEMES[key],))[key].std(axis=0).max())

    return Evidence(
        [
            apart(
                "standard deviation of x̂ of one digit over mini-batches", over(seed, partial(deviation, "batch")), 0.01
            ),
            same("with layer norm", over(seed, partial(deviation, "layer")), fact=True),
        ]
    )


def inputs_drift_into_saturation(seed: int) -> Evidence:
    """Deep networks of sigmoid units at three learning rates: the share of the last layer's inputs that saturate."""

    @lru_cache(maxsize=16)
    def seen(rate: float, normalized: bool, each: int) -> saturation.Seen:
        return saturation.run(saturation.Setting(start=1.0, rate=rate, seed=each), normalized)

    def share(rate: float, normalized: bool, look: int = -1) -> tuple[float, ...]:
        return over(seed, lambda each: seen(rate, normalized, each).saturated[look, -1], NETWORKS)

    return Evidence(
        [
            below("share of saturated inputs at a learning rate of 3, at first", share(3.0, False, 0), 0.01, fact=True),
            apart("in the end without batch norm", share(3.0, False), 0.5),
            below("with batch norm", share(3.0, True), 0.3, fact=True),
            apart("at a learning rate of 1 without", share(1.0, False), 0.5),
            below("at a learning rate of 10 with batch norm", share(10.0, True), 0.3),
        ]
    )


def statistics_are_merged(seed: int) -> Evidence:
    """A mini-batch dealt to three devices: what merging, and what averaging, makes of their statistics."""

    def off(parallel: bool, each: int) -> float:
        counts, parts = effects.shards(Setting(seed=each), DEVICES)
        whole = batch_statistics(stream(Setting(seed=each), [0])[0])
        found = merge(counts, *parts) if parallel else [np.average(part, 0, counts) for part in parts]
        return max(difference(a, b).residual for a, b in zip(found, whole, strict=True))

    return Evidence(
        [
            same("difference of the merged mean and variance from the whole batch's", over(seed, partial(off, True))),
            apart("of the devices' means and variances, averaged", over(seed, partial(off, False)), 1e-4),
        ]
    )


SCALE = "/gradients?show=scale&scheme=batch&n=4&a=0.01"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "B01",
        ("001", "004"),
        says="Batch norm normalizes each channel over N, H, W: before γ and β its output has mean 0 and variance 1.",
        how="Mean and variance of x̂ by channel, on random tensors whose channels differ in scale.",
        expected="holds-if",
        check=output_has_mean_0_and_variance_1,
        see="/running?layer=conv&eps=0.1",
        condition="The mean is 0. The variance is var/(var + ε): 1 at ε = 0, nearly 1 where var is far above ε, and "
        "next to nothing in a channel that hardly varies.",
    ),
    Claim(
        "B02",
        ("004",),
        says="For inference the variance is estimated without bias, as m/(m−1) times the mean of the mini-batches' σ².",
        how=f"Mini-batches of m = {PAIR} digits drawn independently, behind a dense layer of random weights, where the "
        f"factor matters most: the mean of σ² exactly, and over {effects.DRAWN // PAIR:,} of them.",
        expected="holds",
        check=variance_is_unbiased,
        see=f"/running?panel=bias&batch={PAIR}",
        condition="It is exact in expectation where the m values are independent, as in a dense layer. Positions of "
        "one picture are not: behind a convolution, with m = N·H·W, a bias is left.",
    ),
    Claim(
        "B03",
        ("001",),
        says="Inference takes moving averages of mean and variance, so that batch norm is one affine map.",
        how="A layer whose weights drift over 200 mini-batches, its moving averages with a momentum of 0.9: outputs of "
        "unseen digits with batch norm folded into the weights, and the average of a mean that drifts.",
        expected="holds",
        check=average_is_folded,
        see="/running?panel=folding&framework=keras",
        condition="The average lags: while the mean drifts steadily it is the mean of momentum/(1 − momentum) batches "
        "earlier.",
    ),
    Claim(
        "B04",
        ("004",),
        says="Multiplying all weights by a does not change the output: BN(Wu) = BN((aW)u).",
        how="x̂ of random layers with aW and with W.",
        expected="holds",
        check=output_ignores_a,
        see=SCALE,
        condition="At ε = 0 and a > 0. A negative a turns the sign of x̂; with ε a small a makes a difference.",
    ),
    Claim(
        "B05",
        ("004",),
        says="Nor does it change what goes back to the layer below: ∂BN((aW)u)/∂u = ∂BN(Wu)/∂u.",
        how="∂l/∂u of random layers and a random ∂l/∂x̂, with aW and with W.",
        expected="holds",
        check=gradient_below_ignores_a,
        see=f"{SCALE}&eps=0",
        condition="At ε = 0 and a > 0.",
    ),
    Claim(
        "B06",
        ("004",),
        says="Larger weights have smaller gradients: ∂BN((aW)u)/∂(aW) = 1/a · ∂BN(Wu)/∂W.",
        how="a · ∂l/∂(aW) of random layers and a random ∂l/∂x̂, beside ∂l/∂W.",
        expected="holds",
        check=gradient_of_weights_shrinks,
        see=f"{SCALE}&eps=0",
        condition="At ε = 0 and a > 0.",
    ),
    Claim(
        "B07",
        ("004",),
        says="The backward formulas printed with batch norm's Algorithm 1 are its gradients.",
        how="The printed lines, and this app's gradients, beside PyTorch's autograd, in float64 on random tensors.",
        expected="holds",
        check=algorithm_1_is_the_gradient,
        see="/gradients?scheme=batch&torch=1",
    ),
    Claim(
        "B08",
        ("004",),
        says="Where the gradient does not see the normalization, a bias grows and the loss does not move.",
        how="Gradient descent on b in x̂ = u + b − E[u + b], with E[x] taken for a constant, and with its gradient.",
        expected="holds",
        check=bias_grows_outside,
        see="/why?show=outside",
        condition="With E[x] in the gradient b stays where it is.",
    ),
    Claim(
        "B10",
        ("004",),
        says="With batch norm the output for a training example is not deterministic: it depends on its mini-batch.",
        how="x̂ of one digit among others drawn at random, with batch norm and with layer norm.",
        expected="holds",
        check=output_depends_on_others,
        see="/running?panel=companions",
        condition="The noise is measured here. That it regularizes, as the slides conclude, is not.",
    ),
    Claim(
        "B12",
        ("004",),
        says="While a deep network trains, what its sigmoid units are given drifts until they saturate; batch norm "
        "stops that.",
        how="The share of the last layer's inputs beyond which σ′ is below a tenth of its largest, in networks of five "
        "layers after 500 mini-batches of digits.",
        expected="holds-if",
        check=inputs_drift_into_saturation,
        see="/why?show=saturation&start=1",
        condition="At a learning rate of 3. At 1 they drift less far in these steps, and nothing saturates without "
        "batch norm either; at 10 the β that is learned takes many units there with it, too.",
        long=True,
    ),
    Claim(
        "B14",
        ("002",),
        says="Across devices, batch norm's means and variances have to be combined.",
        how=f"A mini-batch of {Setting().batch} digits dealt to {DEVICES} devices: their statistics merged, and their "
        "variances averaged, beside those of the whole.",
        expected="holds",
        check=statistics_are_merged,
        see=f"/running?panel=shards&devices={DEVICES}",
        condition="Merged by the parallel formula they are the whole batch's; a mean of the variances misses what lies "
        "between the devices' means.",
    ),
)
"""Its claims."""
