"""Batch norm: what it computes in training and in inference."""

from functools import lru_cache, partial

import numpy as np

from normviz.core.backward import compute_gradients
from normviz.core.equality import find_largest_difference
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.data.samples import sample_uneven
from normviz.describe.seeds import compare_seed_by_seed, find_clear_differences
from normviz.topics.claims.claim import Claim, Evidence, Trial, apart, below, over, same
from normviz.topics.gradients import scaling
from normviz.topics.gradients.autograd import differentiate_by_autograd
from normviz.topics.gradients.small import compute_published_gradient, make_small_tensors
from normviz.topics.running import effects
from normviz.topics.running.averages import CONVENTIONS, Moments, compute_lag, compute_running_averages
from normviz.topics.running.stream import (
    BATCHES,
    Setting,
    compute_batch_statistics,
    compute_population,
    merge_moments,
    stream_summed_inputs,
    trace_stream,
)
from normviz.topics.why import saturation
from normviz.topics.why.outside import descend_bias

CONV: Shape = (4, 3, 3, 4)
"""A batch behind a convolution, (N, H, W, C)."""

AVERAGED = (0, 1, 2)
"""The axes of it that batch norm averages over: N, H, W."""

PAIR = 2
"""The smallest mini-batch that has a variance."""

START = 1e-7
"""A moving average has less than this left of its start after 200 batches: 0.9²⁰⁰ is about 7·10⁻¹⁰."""

STANDARD_ERRORS = 6.0
"""A mean over many draws is closer than this to what it estimates."""

DEVICES = 3
"""The mini-batch cannot be dealt to so many in equal parts."""

FACTORS = (0.01, 3.0, 100.0)
"""a, which all weights are multiplied by."""

RATES = (1.0, 3.0, 10.0)
"""Learning rates of the deep networks."""


def output_has_mean_0_and_variance_1(seed: int) -> Evidence:
    """The mean and variance of x̂ over N, H, W, of channels that differ: at ε = 0, and of small ones with ε."""

    def furthest(scale: float, eps: float, smoothed: bool, each: int) -> float:
        x = scale * sample_uneven(CONV, each)
        variance = x.var(AVERAGED)
        expected = variance / (variance + eps) if smoothed else 1
        return float(np.abs(normalize(x, SCHEMES["batch"], eps).xhat.var(AVERAGED) - expected).max())

    def mean(each: int) -> float:
        return float(np.abs(normalize(sample_uneven(CONV, each), SCHEMES["batch"]).xhat.mean(AVERAGED)).max())

    little = partial(furthest, 0.001, DEFAULT_EPS)
    tiny = "at ε = 10⁻⁵, of an x a thousandth as large, largest distance of the variance of a channel of x̂"
    return Evidence(
        [
            same("largest mean of a channel of x̂ over N, H, W", over(seed, mean)),
            same(
                "largest distance of the variance of a channel of x̂ from 1 at ε = 0",
                over(seed, partial(furthest, 1.0, 0.0, False)),
            ),
            same(f"{tiny} from 1", over(seed, partial(little, False))),
            same(f"{tiny} from var/(var + ε)", over(seed, partial(little, True)), fact=True),
        ]
    )


def variance_is_unbiased(seed: int) -> Evidence:
    """m/(m−1) · E[σ²] of pairs of independent digits behind a dense layer, beside the variance of all digits."""

    @lru_cache(maxsize=16)
    def pairs(each: int) -> effects.SampledStatistics:
        return effects.sample_batch_statistics(Setting("dense", drift=0.0, seed=each), sizes=(PAIR,))

    def exactly(each: int) -> float:
        found = pairs(each)
        return find_largest_difference(
            found._replace(variance=found.expected).corrected_variance[0], found.population.variance
        ).residual

    def drawn(each: int) -> float:
        found = pairs(each)
        factor, draws = found.corrected_variance / found.variance, effects.DIGITS_PER_SIZE // PAIR
        error = factor * found.expected_variance_error / np.sqrt(draws)
        return float((np.abs(found.corrected_variance - found.population.variance) / error).max())

    def missing(each: int) -> float:
        return float((1 - pairs(each).variance / pairs(each).population.variance).min())

    return Evidence(
        [
            same("difference of m/(m−1) · E[σ²] from the variance of all digits, exactly", over(seed, exactly)),
            below(
                "difference of m/(m−1) · E[σ²] from the variance of all digits over many draws, in standard errors",
                over(seed, drawn),
                STANDARD_ERRORS,
            ),
            apart("share of the variance of all digits that E[σ²] misses", over(seed, missing), 0.4, fact=True),
        ]
    )


def average_is_folded(seed: int) -> Evidence:
    """A layer whose weights drift: its outputs with batch norm folded in or not, and whose mean the average is."""
    keras, momentum = CONVENTIONS["keras"], 0.9
    steps = round(compute_lag(keras.convert_momentum(momentum)))

    def folded(each: int) -> float:
        setting, seen = Setting(seed=each), trace_stream(Setting(seed=each))
        averages = compute_running_averages(seen.mean, seen.variance, setting.count, keras, momentum)
        return effects.fold_and_compare(setting, averages.last)[1]

    def lagging(behind: int, each: int) -> float:
        setting, whole = Setting(seed=each), compute_population(Setting(seed=each))
        averages = compute_running_averages(*whole, setting.count, keras, momentum)
        return find_largest_difference(averages.last.mean, whole.mean[-1 - behind]).residual

    return Evidence(
        [
            same(
                "difference of the outputs with batch norm folded into the weights from those step by step",
                over(seed, folded),
            ),
            apart(
                "difference of the moving average from the latest mean, while the weights drift",
                over(seed, partial(lagging, 0)),
                1e-4,
                fact=True,
            ),
            below(
                f"difference of the moving average from the mean {steps} batches earlier, which is what is left of its "
                f"start after {BATCHES} batches",
                over(seed, partial(lagging, steps)),
                START,
                fact=True,
            ),
        ]
    )


def gap(scheme: str, of: str, seed: int) -> tuple[float, ...]:
    """How far aW is from W in one of x̂, ∂l/∂u and a · ∂l/∂(aW), at ε = 0 and the worst a, over seeds."""

    def worst(each: int) -> float:
        at = scaling.make_linear_layer(CONV, each)
        return max(getattr(scaling.measure_scaling_gaps(SCHEMES[scheme], at, a, 0.0), of) for a in FACTORS)

    return over(seed, worst)


def output_ignores_a(seed: int) -> Evidence:
    """x̂ of aW beside that of W at three a > 0, of −aW beside its negative, and with ε."""

    def negative(each: int) -> float:
        return scaling.measure_sign_gap(SCHEMES["batch"], scaling.make_linear_layer(CONV, each), FACTORS[1], 0.0)

    def smoothed(each: int) -> float:
        return scaling.measure_scaling_gaps(
            SCHEMES["batch"], scaling.make_linear_layer(CONV, each), FACTORS[0], DEFAULT_EPS
        ).xhat

    return Evidence(
        [
            same(
                "largest difference of x̂ of aW from that of W, at a = 0.01, 3 and 100, ε = 0",
                gap("batch", "xhat", seed),
            ),
            same("largest difference of x̂ of −aW from −x̂ of aW, at a = 3, ε = 0", over(seed, negative), fact=True),
            apart(
                "largest difference of x̂ of aW from that of W, at a = 0.01, ε = 10⁻⁵",
                over(seed, smoothed),
                1e-4,
                fact=True,
            ),
            apart(
                "largest difference of x̂ of aW from that of W without batch norm, at a = 100",
                gap("none", "xhat", seed),
                1.0,
                fact=True,
            ),
        ]
    )


def gradient_below_ignores_a(seed: int) -> Evidence:
    """∂l/∂u with aW beside that with W, for the same ∂l/∂x̂."""
    return Evidence(
        [
            same(
                "largest difference of ∂l/∂u with aW from that with W, at a = 0.01, 3 and 100, ε = 0",
                gap("batch", "du", seed),
            ),
            apart(
                "largest difference of ∂l/∂u with aW from that with W without batch norm, at a = 100",
                gap("none", "du", seed),
                1.0,
                fact=True,
            ),
        ]
    )


def gradient_of_weights_shrinks(seed: int) -> Evidence:
    """a · ∂l/∂(aW) beside ∂l/∂W, for the same ∂l/∂x̂."""
    return Evidence(
        [
            same(
                "largest difference of a · ∂l/∂(aW) from ∂l/∂W, at a = 0.01, 3 and 100, ε = 0", gap("batch", "dw", seed)
            ),
            apart(
                "largest difference of a · ∂l/∂(aW) from ∂l/∂W without batch norm, at a = 100",
                gap("none", "dw", seed),
                1.0,
                fact=True,
            ),
        ]
    )


def algorithm_1_is_the_gradient(seed: int) -> Evidence:
    """The printed lines and this app's gradients beside those of PyTorch, which differentiates the forward pass."""

    def printed(each: int) -> float:
        at = make_small_tensors(SCHEMES["batch"], CONV, each)
        return find_largest_difference(
            compute_published_gradient(at, DEFAULT_EPS),
            differentiate_by_autograd(SCHEMES["batch"], at, DEFAULT_EPS)["dx"],
        ).residual

    def ours(each: int) -> float:
        at = make_small_tensors(SCHEMES["batch"], CONV, each)
        found = compute_gradients(at.x, at.dy, SCHEMES["batch"], DEFAULT_EPS, at.gain, at.bias)
        others = differentiate_by_autograd(SCHEMES["batch"], at, DEFAULT_EPS)
        return max(find_largest_difference(getattr(found, name), other).residual for name, other in others.items())

    return Evidence(
        [
            same("largest difference of ∂ℓ/∂x, line by line as printed, from autograd's", over(seed, printed)),
            same("largest difference of this app's ∂ℓ/∂x, ∂ℓ/∂γ and ∂ℓ/∂β from autograd's", over(seed, ours)),
        ]
    )


def bias_grows_outside(seed: int) -> Evidence:
    """Fifty steps on a bias in front of a centring, whose mean is taken for a constant, or is in the gradient."""
    outside, inside = (partial(descend_bias, 0.1, 50, through_normalization=each) for each in (False, True))

    def moved(each: int) -> float:
        losses = outside(each).losses
        return float(np.ptp(losses) / losses[0])

    return Evidence(
        [
            apart("b after 50 steps from 0, E[x] a constant", over(seed, lambda each: outside(each).b[-1]), 1.0),
            same("largest change of the loss in these steps, relative to it, E[x] a constant", over(seed, moved)),
            same(
                "largest b in 50 steps from 0, E[x] in the gradient",
                over(seed, lambda each: np.abs(inside(each).b).max()),
            ),
        ]
    )


def output_depends_on_others(seed: int) -> Evidence:
    """How much x̂ of one digit varies, among others that are drawn at random."""

    def deviation(key: str, each: int) -> float:
        setting = Setting("dense", drift=0.0, seed=each)
        return float(effects.normalize_among_others(setting, (SCHEMES[key],))[key].std(axis=0).max())

    return Evidence(
        [
            apart(
                "standard deviation of batch norm's x̂ of one digit over mini-batches",
                over(seed, partial(deviation, "batch")),
                0.01,
            ),
            same(
                "standard deviation of layer norm's x̂ of one digit over mini-batches",
                over(seed, partial(deviation, "layer")),
                fact=True,
            ),
        ]
    )


def inputs_drift_into_saturation(seed: int) -> Evidence:
    """Compare the saturated share of the last layer's inputs with and without batch norm, seed by seed."""

    def saturated(rate: float, normalized: bool) -> np.ndarray:
        return saturation.train_and_measure(saturation.Setting(start=1.0, rate=rate, seed=seed), normalized).saturated[
            ..., -1
        ]

    plain, normed = ({rate: saturated(rate, each) for rate in RATES} for each in (False, True))
    differences = {rate: normed[rate][-1] - plain[rate][-1] for rate in RATES}
    compared = [compare_seed_by_seed(each, np.zeros_like(each)) for each in differences.values()]
    clear = find_clear_differences(compared)
    trials = [
        Trial(
            f"at a learning rate of {rate:g}, share of saturated inputs with batch norm, minus the share without",
            is_clear and difference.mean < 0,
            tuple(map(float, differences[rate])),
        )
        for rate, difference, is_clear in zip(RATES, compared, clear, strict=True)
    ]
    share = "share of saturated inputs at a learning rate of"
    most, least = max(RATES), min(RATES)
    facts = [
        below(f"{share} {most:g} at first, without batch norm", plain[most][0], 0.01, fact=True),
        apart(f"{share} {most:g} in the end, without batch norm", plain[most][-1], 0.9, fact=True),
        apart(f"{share} {most:g} in the end, with batch norm", normed[most][-1], 0.3, fact=True),
        below(f"{share} {least:g} in the end, without batch norm", plain[least][-1], 0.01, fact=True),
    ]
    return Evidence([*trials, *facts])


def statistics_are_merged(seed: int) -> Evidence:
    """A mini-batch dealt to three devices: their statistics merged, each by itself, and their variances averaged."""

    def dealt(each: int) -> tuple[np.ndarray, Moments, Moments]:
        return *effects.split_among_devices(Setting(seed=each), DEVICES), compute_batch_statistics(
            stream_summed_inputs(Setting(seed=each), [0])[0]
        )

    def off(found: Moments, whole: Moments) -> float:
        return max(find_largest_difference(a, b).residual for a, b in zip(found, whole, strict=True))

    def merged(each: int) -> float:
        counts, parts, whole = dealt(each)
        return off(merge_moments(counts, *parts), whole)

    def nearest(each: int) -> float:
        _, parts, whole = dealt(each)
        return min(off(Moments(*device), whole) for device in zip(*parts, strict=True))

    def averaged(each: int) -> float:
        counts, parts, whole = dealt(each)
        return find_largest_difference(np.average(parts.variance, 0, counts), whole.variance).residual

    beside = "of the whole mini-batch"
    return Evidence(
        [
            same(f"largest difference of the merged mean and variance from those {beside}", over(seed, merged)),
            apart(
                f"difference of one device's own mean and variance, those of the nearest device, from those {beside}",
                over(seed, nearest),
                1e-2,
            ),
            apart(
                f"difference of the mean of the devices' variances from the variance {beside}",
                over(seed, averaged),
                1e-4,
                fact=True,
            ),
        ]
    )


SCALE = "/invariance?schemes=batch&cell=batch.weight-matrix-rescaling&delta=0.01"

CLAIMS: tuple[Claim, ...] = (
    Claim(
        "B01",
        ("001", "004"),
        short="Batch norm gives each channel mean 0 and variance 1.",
        says="Batch norm normalizes each channel over N, H, W: before γ and β its output has mean 0 and variance 1.",
        how="Mean and variance of x̂ by channel, on random tensors whose channels differ in scale.",
        expected="holds-if",
        check=output_has_mean_0_and_variance_1,
        see="/running?layer=conv&eps=0.1",
        condition="The variance is below 1 where ε matters. It is var/(var + ε): 1 at ε = 0, nearly 1 where var is far "
        "above ε, and next to nothing in a channel that hardly varies. The mean is 0.",
    ),
    Claim(
        "B02",
        ("004",),
        short="Batch norm's variance for inference, times m/(m−1), is unbiased.",
        says="Where the m values are independent, the variance for inference, m/(m−1) times the mean of the "
        "mini-batches' σ², is unbiased.",
        how=f"Mini-batches of m = {PAIR} digits drawn independently, behind a dense layer of random weights, where the "
        f"factor matters most: the mean of σ² exactly, and over {effects.DIGITS_PER_SIZE // PAIR:,} of them.",
        expected="holds",
        check=variance_is_unbiased,
        see=f"/running?batch={PAIR}",
        condition="Digits of a mini-batch are independent, so m/(m−1) is right. Behind a convolution, with m = N·H·W, "
        "positions of one picture are not independent, and a bias is left (X01).",
    ),
    Claim(
        "B03",
        ("001",),
        short="At test time, batch norm is one affine map with moving averages.",
        says="Inference takes moving averages of mean and variance, so that batch norm is one affine map.",
        how="A layer whose weights drift over 200 mini-batches, its moving averages with a momentum of 0.9: outputs of "
        "unseen digits with batch norm folded into the weights, and the average of a mean that drifts.",
        expected="holds",
        check=average_is_folded,
        see="/running?mode=inference&framework=keras",
        condition="With fixed statistics, only a scale and shift remain. The average lags: while the mean drifts "
        "steadily it is the mean of momentum/(1 − momentum) batches earlier, but for what is left of its start. Frozen "
        "parameters do not stop it; evaluation mode does.",
    ),
    Claim(
        "B04",
        ("004",),
        short="Twice the weights in front of batch norm give the same output.",
        says="At ε = 0, multiplying all weights by a > 0 does not change the output: BN(Wu) = BN((aW)u).",
        how="x̂ of random layers with aW and with W.",
        expected="holds",
        check=output_ignores_a,
        see=SCALE,
        condition="Mean and deviation double too, so the factor cancels. A negative a turns the sign of x̂; with ε a "
        "small a makes a difference.",
    ),
    Claim(
        "B05",
        ("004",),
        short="Twice the weights in front of batch norm give the same gradient below.",
        says="At ε = 0, multiplying all weights by a > 0 does not change what goes back to the layer below: "
        "∂BN((aW)u)/∂u = ∂BN(Wu)/∂u.",
        how="∂l/∂u of random layers and a random ∂l/∂x̂, with aW and with W.",
        expected="holds",
        check=gradient_below_ignores_a,
        see=f"{SCALE}&eps=0",
        condition="The output is the same function of the layer below.",
    ),
    Claim(
        "B06",
        ("004",),
        short="Twice the weights in front of batch norm get half the gradient.",
        says="At ε = 0, weights a > 0 times as large have gradients 1/a times as large: "
        "∂BN((aW)u)/∂(aW) = 1/a · ∂BN(Wu)/∂W.",
        how="a · ∂l/∂(aW) of random layers and a random ∂l/∂x̂, beside ∂l/∂W.",
        expected="holds",
        check=gradient_of_weights_shrinks,
        see=f"{SCALE}&eps=0",
        condition="The loss is the same, but the weights are doubled.",
    ),
    Claim(
        "B07",
        ("004",),
        says="The backward formulas printed with batch norm's Algorithm 1 are its gradients.",
        how="The printed lines, and this app's gradients, beside PyTorch's autograd, in float64 on random tensors.",
        expected="holds",
        check=algorithm_1_is_the_gradient,
        see="/gradients?show=formula&scheme=batch&torch=1",
        condition="They agree with PyTorch's automatic gradients.",
    ),
    Claim(
        "B08",
        ("004",),
        says="If the gradient ignores the normalization, a bias grows and the loss stays.",
        how="Gradient descent on b in x̂ = u + b − E[u + b], with E[x] taken for a constant, and with its gradient.",
        expected="holds",
        check=bias_grows_outside,
        see="/why?show=outside",
        condition="The mean removes the bias, and the gradient ignores that. With E[x] in it, b stays.",
    ),
    Claim(
        "B10",
        ("004",),
        says="With batch norm, the output for an example depends on its mini-batch.",
        how="x̂ of one digit among others drawn at random, with batch norm and with layer norm.",
        expected="holds",
        check=output_depends_on_others,
        see="/running?panel=companions",
        condition="Mean and variance are taken over the whole mini-batch. The noise is measured here. That it "
        "regularizes, as the slides conclude, is not.",
    ),
    Claim(
        "B12",
        ("004",),
        short="Batch norm keeps units out of the flat parts of the sigmoid.",
        says="With a stable distribution of its inputs, “the optimizer would be less likely to get stuck in the "
        "saturated regime” (Ioffe & Szegedy 2015, section 1).",
        how="The share of the last layer's inputs at which the slope of the sigmoid is below a tenth of its largest, "
        f"with and without batch norm: networks of five layers from {saturation.SEEDS} seeds, after "
        f"{saturation.STEPS} mini-batches of digits, with Holm's correction for three learning rates.",
        expected="holds-if",
        check=inputs_drift_into_saturation,
        see="/why?show=saturation&start=1",
        condition="It needs a large learning rate. At 3 and 10 nearly all inputs saturate without batch norm, and at "
        "10 more than a third saturate with it, driven there by the learned γ and β. At 1 nothing saturates without "
        "batch norm.",
        long=True,
    ),
    Claim(
        "B14",
        ("002",),
        says="Across devices, batch norm's means and variances have to be combined.",
        how=f"A mini-batch of {Setting().batch} digits dealt to {DEVICES} devices: their statistics merged, each "
        "device's own, and their variances averaged, beside those of the whole.",
        expected="holds",
        check=statistics_are_merged,
        see="/running",
        condition="Merged, the devices' statistics are the whole batch's. A mean of the variances misses what lies "
        "between the devices' means. If they are not combined, every device normalizes by its own part, as PyTorch "
        "does without SyncBatchNorm.",
    ),
)
"""Its claims."""
