"""Claims that this app's own measurements support or refute."""

from collections.abc import Iterator
from typing import Literal

import numpy as np

from normviz.core.equality import compute_xhat
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, Scheme, get_scheme
from normviz.core.theory import predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.data.digits import DIGIT_SIDE, cut_patches
from normviz.data.samples import SAMPLES
from normviz.topics.claims.checks.table1 import MIN_DIFFERENCE, train_table_cells
from normviz.topics.claims.checks.tensors import compute_residual
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal
from normviz.topics.running import effects, stream
from normviz.topics.running.averages import CONVENTIONS, compute_running_averages
from normviz.topics.weights.weights import (
    FIRST_LAYERS,
    build_operator_matrix,
    compute_lipschitz_ratios,
    flatten_to_matrix,
    make_singular_pairs,
    train_first_layer,
)
from normviz.topics.why.whitening import compute_covariance

CLAIMS = ClaimList()

PICTURES, FILTERS, KERNEL, CHANNELS = 16, 8, 3, 6
"""Sizes of a convolution: digits, output channels, and the side of a filter; then channels of feature maps."""

PaddingMode = Literal["", "constant", "reflect"]
"""Padding of pictures: none, zeros, or the picture mirrored, by the names of NumPy's pad."""

TUTORIAL_ARXIV_ID = "1603.07868"
"""The number on arXiv that the tutorial gives for Salimans & Kingma 2016."""

WEIGHT_NORM_PAPER = SCHEMES["weight"].reference
"""Weight normalization's reference in this app."""

TRAINING_STEPS = 20
"""Training steps of the filters."""

PYTORCH_MOMENTUM = 0.1
"""PyTorch's default momentum."""


@CLAIMS.add("X01", "normviz", "wrong", "/running?layer=conv&batch=2",
    says="Behind a convolution, m/(m−1) makes batch norm's variance unbiased.",
    condition="Positions of one picture are not independent. So the factor repairs too much or too little: E[σ²] = "
    "σ² − V/N, with V the variance of the pictures' means. On a dense layer it is right.")  # fmt: skip
def check_conv_variance_bias(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the expected variance of two digits times m/(m−1) with the variance of all digits."""
    conv, dense = (
        effects.sample_batch_statistics(stream.Setting(layer, drift=0.0, seed=seed), sizes=[2])
        for layer in ("conv", "dense")
    )
    of_conv, of_dense = (
        np.abs(found._replace(variance=found.expected).corrected_variance / found.population.variance - 1).max()
        for found in (conv, dense)
    )
    yield expect_equal("largest relative error of m/(m−1) · E[σ²], m = N·H·W, N = 2: on a convolution", of_conv)
    yield expect_equal("the same error on a dense layer, where H = W = 1", of_dense, fact=True)
    what = f"sampling error of E[σ²] from {effects.DIGITS_PER_SIZE // 2:,} mini-batches of the convolution"
    error = compute_residual(conv.variance, conv.expected)
    yield expect_at_most(what, error, 5e-3, fact=True)  # the factor m/(m − 1) leaves more


def measure_largest_stretch(key: str, seed: int) -> float:
    """Return the largest ‖f(x) − f(y)‖ / ‖x − y‖ of a trained layer, "dense" or "conv", with spectral norm."""
    layer = FIRST_LAYERS[key]
    w = normalize(train_first_layer(layer, TRAINING_STEPS, seed), SCHEMES["spectral"]).xhat
    whole = build_operator_matrix(w, layer)
    return float(compute_lipschitz_ratios(whole, *make_singular_pairs(whole, seed)).max())


@CLAIMS.add("X02", "normviz", "wrong", f"/weights?show=spectral&layer=conv&trained={TRAINING_STEPS}",
    says="A kernel divided by its largest singular value gives a 1-Lipschitz convolution.",
    condition="A pixel is in several patches, so it can stretch. The matrix (kh·kw·Cin, Cout) sees one square of "
    "pixels, and a pixel is in up to kh·kw of them: the layer can stretch by up to √(kh·kw). On a dense layer, and "
    "for each square, the bound holds.")  # fmt: skip
def check_conv_lipschitz_bound(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how far spectral norm lets a convolution and a dense layer stretch pairs of inputs."""
    conv, dense = (measure_largest_stretch(key, seed) for key in ("conv", "dense"))
    squares = FIRST_LAYERS["conv"].overlap
    yield expect_at_most("largest ‖f(x) − f(y)‖ / ‖x − y‖ of the convolution", conv, 1 + MIN_DIFFERENCE)
    yield Trial(f"at most the root of the {squares} squares that a pixel is in", conv <= squares**0.5, fact=True)
    yield expect_equal("distance of a dense layer's largest ‖f(x) − f(y)‖ / ‖x − y‖ from 1", abs(dense - 1), fact=True)


def convolve_pictures(x: np.ndarray, w: np.ndarray, padding_mode: PaddingMode) -> np.ndarray:
    """Return pictures (N, H, W, Cin) convolved with filters (3, 3, Cin, Cout); `padding_mode` as in `np.pad`, or ""."""
    if padding_mode:
        x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), padding_mode)
    patches = np.stack([cut_patches(channel, KERNEL) for channel in np.moveaxis(x, -1, 0)], axis=-1)
    side = x.shape[1] - KERNEL + 1
    return (patches.reshape(-1, flatten_to_matrix(w).shape[0]) @ flatten_to_matrix(w)).reshape(len(x), side, side, -1)


def measure_recentring_gap(
    key: str, seed: int, channels: int = 1, tau_count: int = 1, padding_mode: PaddingMode = ""
) -> float:
    """Return how far one shift of the digits, or one per channel (`tau_count`), changes the output of `key`."""
    rng, scheme = np.random.default_rng(seed), SCHEMES[key]
    x = SAMPLES["digits"].make((PICTURES, DIGIT_SIDE, DIGIT_SIDE, channels), seed)
    w, tau = rng.standard_normal((KERNEL, KERNEL, channels, FILTERS)), rng.standard_normal(tau_count)
    if scheme.weight_part is not None:
        w = normalize(w, scheme.weight_part).xhat
    sums = [convolve_pictures(given, w, padding_mode) for given in (x, x + tau)]
    return compute_residual(*(normalize(a, scheme).xhat if scheme.activation_part else a for a in sums))


@CLAIMS.add("X03", "normviz", "holds",
    "/invariance?schemes=weight,weight-standardization&layer=conv&cell=weight-standardization.dataset-recentering",
    says="With one input channel, weight standardization cancels a shift of all data.",
    condition="A filter's weights sum to 0: a constant adds nothing. With several input channels this is so "
    "only where τ is the same for all of them. Where pictures are padded with zeros it is never so: the zeros are "
    "not shifted.")  # fmt: skip
def check_one_input_channel(seed: int) -> Iterator[Trial]:
    """Yield trials that compare a convolution's outputs for digits and digits plus τ, with one channel and three."""
    key, change = "weight-standardization", TRANSFORMATIONS["dataset-recentering"]
    summed = (PICTURES, DIGIT_SIDE - 2, DIGIT_SIDE - 2, FILTERS)
    one, three = (
        predict(SCHEMES[key], change, "conv", summed, (KERNEL, KERNEL, inputs, FILTERS)).invariant for inputs in (1, 3)
    )
    values = measure_recentring_gap(key, seed)
    yield expect_equal("largest relative difference of the outputs: one input channel", values)
    yield Trial(f"the rule says {'' if one else 'not '}invariant of one input channel", one)
    what = "largest relative difference of the outputs: three input channels, each with its own τ"
    yield expect_at_least(what, measure_recentring_gap(key, seed, channels=3, tau_count=3), MIN_DIFFERENCE, fact=True)
    yield Trial(f"the rule says {'' if three else 'not '}invariant of three", not three, fact=True)
    values = measure_recentring_gap(key, seed, channels=3)
    yield expect_equal("largest relative difference of the outputs: three input channels, one τ", values, fact=True)
    what = "largest relative difference of the outputs: one input channel, zeros around"
    yield expect_at_least(what, measure_recentring_gap(key, seed, padding_mode="constant"), MIN_DIFFERENCE, fact=True)


@CLAIMS.add("X04", "001", "wrong", "/?scheme=weight",
    says=f"The paper on weight normalization is arXiv {TUTORIAL_ARXIV_ID}.",
    condition=f"{WEIGHT_NORM_PAPER.text}, is arXiv {WEIGHT_NORM_PAPER.arxiv}.")  # fmt: skip
def check_arxiv_number(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the tutorial's arXiv number of a paper with this app's."""
    what = f"{TUTORIAL_ARXIV_ID} in the tutorial, {WEIGHT_NORM_PAPER.arxiv} here"
    yield Trial(what, WEIGHT_NORM_PAPER.arxiv == TUTORIAL_ARXIV_ID)


@CLAIMS.add("X05", "normviz", "holds-if", "/invariance?layer=conv&cell=batch.dataset-recentering",
    says="On a convolution, batch normalization is invariant to dataset re-centring.",
    condition="Only without zeros around the picture: these are not shifted. Near the border the added amount then "
    "differs, and no single mean cancels it. The linked table has no padding.")  # fmt: skip
def check_padding(seed: int) -> Iterator[Trial]:
    """Yield trials that compare batch norm's x̂ of digits and digits plus τ behind a convolution, by padding."""
    yield expect_equal("largest relative difference of x̂: no padding", measure_recentring_gap("batch", seed))
    values = measure_recentring_gap("batch", seed, padding_mode="reflect")
    yield expect_equal("largest relative difference of x̂: the picture mirrored at its border", values)
    values = measure_recentring_gap("batch", seed, padding_mode="constant")
    yield expect_equal("largest relative difference of x̂: zeros around the picture", values)


@CLAIMS.add("X06", "normviz", "wrong", "/invariance?follow=0&cell=layer.weight-matrix-rescaling",
    says="If normalization cancels a factor of the weights, training is the same, too.",
    condition="The learning rate must grow with the weights, too. Weights δ times as large get 1/δ of the gradient "
    "and have to move δ times as far: δ² times the learning rate does it. Changes of the data and re-centrings "
    "that cancel need no other learning rate.",
    once=True)  # fmt: skip
def check_equal_training(seed: int) -> Iterator[Trial]:
    """Yield trials that train under transformations that leave x̂ as it is, at 1 and at δ² times the learning rate."""
    cells = [cell for cell in train_table_cells("dense", seed).values() if cell.predicted]
    weights = [cell for cell in cells if TRANSFORMATIONS[cell.transformation].weight_factor is not None]
    others = [cell.training_gap for cell in cells if cell not in weights]
    gaps = [cell.training_gap_equal_lr for cell in weights]
    yield expect_equal("relative differences of the losses at one learning rate, over the cells, one seed", gaps)
    yield expect_equal("the same with δ² times the learning rate", [cell.training_gap for cell in weights], fact=True)
    yield expect_equal("the same where data are changed or weights re-centred, at one learning rate", others, fact=True)


def measure_channel_correlation(scheme: Scheme, seed: int) -> float:
    """Return the largest correlation of two channels of a scheme's x̂, on feature maps of digits."""
    x_hat = compute_xhat(SAMPLES["features"].make((PICTURES, DIGIT_SIDE, DIGIT_SIDE, CHANNELS), seed), scheme, 0.0)
    return float(np.abs(np.triu(compute_covariance(x_hat.reshape(-1, CHANNELS)), 1)).max())


@CLAIMS.add("X07", "normviz", "wrong", "/identities?row=whitening-is-batch&data=features",
    says="After batch norm, the activations are white: the channels are not correlated.",
    condition="It leaves correlations between channels as they are. Decorrelated batch norm removes them.")  # fmt: skip
def check_whiteness(seed: int) -> Iterator[Trial]:
    """Yield trials that measure the correlations of channels behind batch norm and behind decorrelated batch norm."""
    whitening = measure_channel_correlation(get_scheme("whitening", groups=1), seed)
    values = measure_channel_correlation(SCHEMES["batch"], seed)
    yield expect_equal("largest correlation of two channels behind batch norm", values)
    yield expect_equal("largest correlation of two channels behind decorrelated batch norm", whitening, fact=True)


@CLAIMS.add("X08", "normviz", "wrong", f"/running?framework=keras&share={PYTORCH_MOMENTUM}",
    says="Momentum, the weight in running averages, means the same in PyTorch and Keras.",
    condition="PyTorch's 0.1 is Keras's 0.9. PyTorch weights the new batch, Keras the old average. PyTorch also "
    "averages the variance times m/(m−1), and Keras 3 without.")  # fmt: skip
def check_momentum_convention(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the running averages of PyTorch and Keras on one stream of mini-batches."""
    setting = stream.Setting(seed=seed)
    seen, m = stream.trace_stream(setting), setting.element_count
    ours, same_number, other = (
        compute_running_averages(seen.mean, seen.variance, m, CONVENTIONS[key], number).final_averages
        for key, number in (("pytorch", PYTORCH_MOMENTUM), ("keras", PYTORCH_MOMENTUM), ("keras", 1 - PYTORCH_MOMENTUM))
    )
    what = f"relative difference of the running means: {PYTORCH_MOMENTUM} in both"
    yield expect_equal(what, compute_residual(ours.mean, same_number.mean))
    what = f"relative difference of the running means: PyTorch's {PYTORCH_MOMENTUM} and Keras's {1 - PYTORCH_MOMENTUM}"
    yield expect_at_most(what, compute_residual(ours.mean, other.mean), 1e-7, fact=True)
    gaps = np.abs(ours.variance / other.variance * (m - 1) / m - 1)
    what = f"relative difference of PyTorch's variance over Keras's from m/(m−1), m = {m}"
    yield expect_at_most(what, gaps, 1e-7, fact=True)


def measure_distance_from_signs(key: str, shape: tuple[int, ...], seed: int) -> float:
    """Return the largest distance of x̂ from ±1, for a random tensor of a shape at ε = 0."""
    x = SAMPLES["normal"].make(shape, seed)
    return float(np.abs(np.abs(compute_xhat(x, SCHEMES[key], 0.0)) - 1).max())


@CLAIMS.add("X09", "normviz", "holds", "/?n=2&h=1&w=1&c=8&data=normal&scheme=batch&eps=0",
    says="With two examples, batch norm keeps only which one has the larger number.",
    condition="The larger number becomes +1, the other one −1. As far as ε is small beside the variance of the "
    "two. Three examples keep more; layer norm of two units does just the same.")  # fmt: skip
def check_two_examples(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how far x̂ is from ±1, for two examples, for three, and for two units of layer norm."""
    values = measure_distance_from_signs("batch", (2, 1, 1, 8), seed)
    yield expect_equal("largest distance of x̂ from ±1, two examples", values)
    values = measure_distance_from_signs("layer", (8, 1, 1, 2), seed)
    yield expect_equal("largest distance of x̂ from ±1, two units of layer norm", values, fact=True)
    values = measure_distance_from_signs("batch", (3, 1, 1, 8), seed)
    yield expect_at_least("largest distance of x̂ from ±1, three examples", values, MIN_DIFFERENCE, fact=True)
