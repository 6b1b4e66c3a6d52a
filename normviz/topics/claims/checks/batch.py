"""Claims about batch norm in training and in inference."""

from collections.abc import Iterator

import numpy as np

from normviz.core.backward import compute_gradients
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.data.samples import sample_uneven
from normviz.describe.seeds import compare_seed_by_seed, find_clear_differences
from normviz.topics.claims.checks.tensors import compute_residual
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal
from normviz.topics.gradients import scaling
from normviz.topics.gradients.autograd import differentiate_by_autograd
from normviz.topics.gradients.small import compute_published_gradient, make_small_tensors
from normviz.topics.running import effects, stream
from normviz.topics.running.averages import CONVENTIONS, Moments, compute_lag, compute_running_averages
from normviz.topics.why import saturation
from normviz.topics.why.outside import descend_bias

CLAIMS = ClaimList()

CONV_BATCH_SHAPE: Shape = (4, 3, 3, 4)
"""A batch behind a convolution, (N, H, W, C)."""

BATCH_NORM_AXES = (0, 1, 2)
"""The axes that batch norm averages over: N, H, W."""

SMALLEST_BATCH = 2
"""The smallest mini-batch that has a variance."""

WEIGHT_FACTORS = (0.01, 3.0, 100.0)
"""Factors a of all weights."""

LEARNING_RATES = (1.0, 3.0, 10.0)
"""Learning rates of the deep networks."""

SCALING_LINK = "/invariance?schemes=batch&cell=batch.weight-matrix-rescaling&delta=0.01"
"""Link to the cell of Table 1 on batch norm and weights times 1/100."""


@CLAIMS.add("B01", "001 004", "holds-if", "/running?layer=conv&eps=0.1",
    short="Batch norm gives each channel mean 0 and variance 1.",
    says="Batch norm normalizes each channel over N, H, W: before γ and β its output has mean 0 and variance 1.",
    condition="The variance is below 1 where ε matters. It is var/(var + ε): 1 at ε = 0, nearly 1 where var is far "
    "above ε, and next to nothing in a channel that hardly varies. The mean is 0.")  # fmt: skip
def check_output_moments(seed: int) -> Iterator[Trial]:
    """Yield trials that measure the mean and variance of x̂ over N, H, W, at ε = 0 and, where x is small, with ε."""

    def compute_moments(x: np.ndarray, eps: float) -> tuple[np.ndarray, np.ndarray]:
        xhat = normalize(x, SCHEMES["batch"], eps).xhat
        return xhat.mean(BATCH_NORM_AXES), xhat.var(BATCH_NORM_AXES)

    x = sample_uneven(CONV_BATCH_SHAPE, seed)
    yield expect_equal("largest mean of a channel of x̂ over N, H, W", np.abs(compute_moments(x, DEFAULT_EPS)[0]).max())
    gap = np.abs(compute_moments(x, 0.0)[1] - 1).max()
    yield expect_equal("largest distance of the variance of a channel of x̂ from 1 at ε = 0", gap)
    tiny = "at ε = 10⁻⁵, of an x a thousandth as large, largest distance of the variance of a channel of x̂"
    small, found = (0.001 * x).var(BATCH_NORM_AXES), compute_moments(0.001 * x, DEFAULT_EPS)[1]
    yield expect_equal(f"{tiny} from 1", np.abs(found - 1).max())
    gap = np.abs(found - small / (small + DEFAULT_EPS)).max()
    yield expect_equal(f"{tiny} from var/(var + ε)", gap, fact=True)


@CLAIMS.add("B02", "004", "holds", f"/running?batch={SMALLEST_BATCH}",
    short="Batch norm's variance for inference, times m/(m−1), is unbiased.",
    says="Where the m values are independent, the variance for inference, m/(m−1) times the mean of the "
    "mini-batches' σ², is unbiased.",
    condition="Digits of a mini-batch are independent, so m/(m−1) is right. Behind a convolution, with m = N·H·W, "
    "positions of one picture are not independent, and a bias is left (X01).")  # fmt: skip
def check_unbiased_variance(seed: int) -> Iterator[Trial]:
    """Yield trials that compare m/(m−1) · E[σ²] over pairs of digits with the variance of all, behind a dense layer."""
    found = effects.sample_batch_statistics(stream.Setting("dense", drift=0.0, seed=seed), sizes=(SMALLEST_BATCH,))
    population, corrected = found.population.variance, found.corrected_variance
    exact = found._replace(variance=found.expected).corrected_variance[0]
    gap = compute_residual(exact, population)
    yield expect_equal("difference of m/(m−1) · E[σ²] from the variance of all digits, exactly", gap)
    draws = effects.DIGITS_PER_SIZE // SMALLEST_BATCH
    error = corrected / found.variance * found.expected_variance_error / np.sqrt(draws)
    what = "difference of m/(m−1) · E[σ²] from the variance of all digits over many draws, in standard errors"
    yield expect_at_most(what, (np.abs(corrected - population) / error).max(), 6.0)
    missing = (1 - found.variance / population).min()
    yield expect_at_least("share of the variance of all digits that E[σ²] misses", missing, 0.4, fact=True)


@CLAIMS.add("B03", "001", "holds", "/running?mode=inference&framework=keras",
    short="At test time, batch norm is one affine map with moving averages.",
    says="Inference takes moving averages of mean and variance, so that batch norm is one affine map.",
    condition="With fixed statistics, only a scale and shift remain. The average lags: while the mean drifts "
    "steadily it is the mean of momentum/(1 − momentum) batches earlier, but for what is left of its start. Frozen "
    "parameters do not stop it; evaluation mode does.")  # fmt: skip
def check_inference_map(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how exactly inference is one affine map, and how far moving averages lag behind."""
    setting, keras, momentum = stream.Setting(seed=seed), CONVENTIONS["keras"], 0.9
    steps = round(compute_lag(keras.convert_momentum(momentum)))
    seen, whole = stream.trace_stream(setting), stream.compute_population(setting)
    averages, of_whole = (
        compute_running_averages(*moments, setting.element_count, keras, momentum).final_averages
        for moments in ((seen.mean, seen.variance), whole)
    )
    latest, earlier = (compute_residual(of_whole.mean, whole.mean[-1 - behind]) for behind in (0, steps))
    what = "difference of the outputs with batch norm folded into the weights from those step by step"
    yield expect_equal(what, effects.fold_and_compare_outputs(setting, averages)[1])
    what = "difference of the moving average from the latest mean, while the weights drift"
    yield expect_at_least(what, latest, 1e-4, fact=True)
    what = (
        f"difference of the moving average from the mean {steps} batches earlier, which is what is left of its start "
        f"after {stream.BATCHES} batches"
    )
    yield expect_at_most(what, earlier, 1e-7, fact=True)  # 0.9²⁰⁰ is about 7·10⁻¹⁰


def measure_worst_scaling_gap(scheme: str, quantity: str, seed: int) -> float:
    """Return how far weights aW alter x̂ ("xhat") or the gradient by inputs ("du") or weights ("dw").

    It is the largest relative difference over all a of `WEIGHT_FACTORS`, at ε = 0.
    """
    layer = scaling.make_linear_layer(CONV_BATCH_SHAPE, seed)
    return max(getattr(scaling.measure_scaling_gaps(SCHEMES[scheme], layer, a, 0.0), quantity) for a in WEIGHT_FACTORS)


@CLAIMS.add("B04", "004", "holds", SCALING_LINK,
    short="Twice the weights in front of batch norm give the same output.",
    says="At ε = 0, multiplying all weights by a > 0 does not change the output: BN(Wu) = BN((aW)u).",
    condition="Mean and deviation double too, so the factor cancels. A negative a turns the sign of x̂; with ε a "
    "small a makes a difference.")  # fmt: skip
def check_output_invariance(seed: int) -> Iterator[Trial]:
    """Yield trials that compare x̂ of aW with x̂ of W at three a > 0, x̂ of −aW with its negative, and both with ε."""
    layer, batch = scaling.make_linear_layer(CONV_BATCH_SHAPE, seed), SCHEMES["batch"]
    gap = measure_worst_scaling_gap("batch", "xhat", seed)
    yield expect_equal("largest difference between x̂ of aW and of W, at a = 0.01, 3 and 100, ε = 0", gap)
    gap = scaling.measure_sign_gap(batch, layer, WEIGHT_FACTORS[1], 0.0)
    yield expect_equal("largest difference of x̂ of −aW from −x̂ of aW, at a = 3, ε = 0", gap, fact=True)
    gap = scaling.measure_scaling_gaps(batch, layer, WEIGHT_FACTORS[0], DEFAULT_EPS).xhat
    yield expect_at_least("largest difference between x̂ of aW and of W, at a = 0.01, ε = 10⁻⁵", gap, 1e-4, fact=True)
    what = "largest difference between x̂ of aW and of W without batch norm, at a = 100"
    yield expect_at_least(what, measure_worst_scaling_gap("none", "xhat", seed), 1.0, fact=True)


def _compare_scaled_weights(description: str, quantity: str, seed: int) -> Iterator[Trial]:
    """Yield trials that compare gradients by u ("du") or W ("dw") for weights aW and W, with and without batch norm."""
    what = f"largest difference of {description}"
    batch, none = (measure_worst_scaling_gap(key, quantity, seed) for key in ("batch", "none"))
    yield expect_equal(f"{what}, at a = 0.01, 3 and 100, ε = 0", batch)
    yield expect_at_least(f"{what} without batch norm, at a = 100", none, 1.0, fact=True)


@CLAIMS.add("B05", "004", "holds", f"{SCALING_LINK}&eps=0",
    short="Twice the weights in front of batch norm give the same gradient below.",
    says="At ε = 0, multiplying all weights by a > 0 does not change the gradient for the layer below: "
    "∂BN((aW)u)/∂u = ∂BN(Wu)/∂u.",
    condition="The output is the same function of the layer below.")  # fmt: skip
def check_input_gradient(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the input gradient ∂L/∂u of a layer with weights aW and with W, for the same ∂L/∂x̂."""
    yield from _compare_scaled_weights("∂L/∂u with aW from that with W", "du", seed)


@CLAIMS.add("B06", "004", "holds", f"{SCALING_LINK}&eps=0",
    short="Twice the weights in front of batch norm get half the gradient.",
    says="At ε = 0, weights a > 0 times as large have gradients 1/a times as large: "
    "∂BN((aW)u)/∂(aW) = 1/a · ∂BN(Wu)/∂W.",
    condition="The loss is the same, but the weights are doubled.")  # fmt: skip
def check_weight_gradient(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the weight gradients a · ∂L/∂(aW) and ∂L/∂W, for the same ∂L/∂x̂."""
    yield from _compare_scaled_weights("a · ∂L/∂(aW) from ∂L/∂W", "dw", seed)


@CLAIMS.add("B07", "004", "holds", "/gradients?show=formula&scheme=batch&torch=1",
    says="The backward formulas printed with batch norm's Algorithm 1 are its gradients.",
    condition="They agree with PyTorch's automatic gradients.")  # fmt: skip
def check_batch_norm_gradients(seed: int) -> Iterator[Trial]:
    """Yield trials that compare batch norm's gradients in its paper's formulas, and in this app, with autograd's."""
    scheme = SCHEMES["batch"]
    at = make_small_tensors(scheme, CONV_BATCH_SHAPE, seed)
    exact = differentiate_by_autograd(scheme, at, DEFAULT_EPS)
    gap = compute_residual(compute_published_gradient(at, DEFAULT_EPS), exact["dx"])
    yield expect_equal("largest difference of ∂L/∂x, line by line as printed, from autograd's", gap)
    found = compute_gradients(at.x, at.dy, scheme, DEFAULT_EPS, at.gain, at.bias)
    gap = max(compute_residual(getattr(found, name), other) for name, other in exact.items())
    yield expect_equal("largest difference of this app's ∂L/∂x, ∂L/∂γ and ∂L/∂β from autograd's", gap)


@CLAIMS.add("B08", "004", "holds", "/why?show=outside",
    says="If the gradient ignores the normalization, a bias grows and the loss stays.",
    condition="The mean removes the bias, and the gradient ignores that. With E[x] in it, b stays.")  # fmt: skip
def check_bias_growth(seed: int) -> Iterator[Trial]:
    """Yield trials that train a bias in front of a centring, with the gradient through the mean and without it."""
    outside, inside = (descend_bias(0.1, 50, seed, through_normalization=each) for each in (False, True))
    yield expect_at_least("b after 50 steps from 0, E[x] a constant", outside.b[-1], 1.0)
    change = np.ptp(outside.losses) / outside.losses[0]
    yield expect_equal("largest change of the loss in these steps, relative to it, E[x] a constant", change)
    yield expect_equal("largest b in 50 steps from 0, E[x] in the gradient", np.abs(inside.b).max())


@CLAIMS.add("B10", "004", "holds", "/running?panel=companions",
    says="With batch norm, the output for an example depends on its mini-batch.",
    condition="Mean and variance are taken over the whole mini-batch. The noise is measured here. That it "
    "regularizes, as the slides conclude, is not.")  # fmt: skip
def check_batch_dependence(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how much x̂ of one digit varies with the other digits of its batch."""
    schemes = SCHEMES["batch"], SCHEMES["layer"]
    found = effects.normalize_in_random_batches(stream.Setting("dense", drift=0.0, seed=seed), schemes)
    batch, layer = (xhat.std(axis=0).max() for xhat in found.values())
    yield expect_at_least("standard deviation of batch norm's x̂ of one digit over mini-batches", batch, 0.01)
    yield expect_equal("standard deviation of layer norm's x̂ of one digit over mini-batches", layer, fact=True)


@CLAIMS.add("B12", "004", "holds-if", "/why?show=saturation&start=1",
    short="Batch norm keeps units out of the flat parts of the sigmoid.",
    says="With a stable distribution of its inputs, “the optimizer would be less likely to get stuck in the "
    "saturated regime” (Ioffe & Szegedy 2015, section 1).",
    condition="It needs a large learning rate. At 3 and 10 nearly all inputs saturate without batch norm, and at "
    "10 more than a third saturate with it, driven there by the learned γ and β. At 1 nothing saturates without "
    "batch norm.",
    long=True, once=True)  # fmt: skip
def check_saturation_drift(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the saturated share of the last layer's inputs with batch norm and without, by seed."""

    def saturated(rate: float, normalized: bool) -> np.ndarray:
        setting = saturation.Setting(start=1.0, rate=rate, seed=seed)
        return saturation.train_and_measure(setting, normalized).saturated[..., -1]

    plain, normed = ({rate: saturated(rate, each) for rate in LEARNING_RATES} for each in (False, True))
    differences = {rate: normed[rate][-1] - plain[rate][-1] for rate in LEARNING_RATES}
    compared = [compare_seed_by_seed(each, np.zeros_like(each)) for each in differences.values()]
    clear = find_clear_differences(compared)
    for rate, difference, is_clear in zip(LEARNING_RATES, compared, clear, strict=True):
        what = f"at a learning rate of {rate:g}, share of saturated inputs with batch norm, minus the share without"
        yield Trial(what, is_clear and difference.mean < 0, tuple(map(float, differences[rate])))
    share = "share of saturated inputs at a learning rate of"
    most, least = max(LEARNING_RATES), min(LEARNING_RATES)
    yield expect_at_most(f"{share} {most:g} at first, without batch norm", plain[most][0], 0.01, fact=True)
    yield expect_at_least(f"{share} {most:g} in the end, without batch norm", plain[most][-1], 0.9, fact=True)
    yield expect_at_least(f"{share} {most:g} in the end, with batch norm", normed[most][-1], 0.3, fact=True)
    yield expect_at_most(f"{share} {least:g} in the end, without batch norm", plain[least][-1], 0.01, fact=True)


@CLAIMS.add("B14", "002", "holds", "/running",
    says="Across devices, batch norm's means and variances have to be combined.",
    condition="Merged, the devices' statistics are the whole batch's. A mean of the variances misses what lies "
    "between the devices' means. If they are not combined, every device normalizes by its own part, as PyTorch "
    "does without SyncBatchNorm.")  # fmt: skip
def check_merged_statistics(seed: int) -> Iterator[Trial]:
    """Yield trials that compare statistics of a mini-batch on three devices: merged, per device, averaged variances."""
    setting = stream.Setting(seed=seed)
    counts, parts = effects.split_batch_among_devices(setting, 3)  # which does not divide the number of examples
    whole = stream.compute_batch_statistics(stream.compute_stream_pre_activations(setting, [0])[0])

    def off(found: Moments) -> float:
        return max(map(compute_residual, found, whole))

    beside = "of the whole mini-batch"
    merged = off(stream.merge_moments(counts, *parts))
    yield expect_equal(f"largest difference of the merged mean and variance from those {beside}", merged)
    nearest = min(off(Moments(*device)) for device in zip(*parts, strict=True))
    what = f"difference of the nearest device's own mean and variance from those {beside}"
    yield expect_at_least(what, nearest, 1e-2)
    averaged = compute_residual(np.average(parts.variance, 0, counts), whole.variance)
    what = f"difference of the mean of the devices' variances from the variance {beside}"
    yield expect_at_least(what, averaged, 1e-4, fact=True)
