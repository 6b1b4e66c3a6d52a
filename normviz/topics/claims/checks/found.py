"""What this app's own measurements have shown of what is commonly said."""

from functools import lru_cache
from typing import Literal

import numpy as np

from normviz.core.equality import compute_xhat, find_largest_difference
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, Scheme, get_scheme
from normviz.core.theory import predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.data.digits import DIGIT_SIDE, cut_patches
from normviz.data.samples import SAMPLES
from normviz.topics.claims.checks.table1 import APART, trained
from normviz.topics.claims.claim import Claim, Evidence, Trial, apart, below, over, same
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

PICTURES, FILTERS, KERNEL, CHANNELS = 16, 8, 3, 6
"""Of a convolution: digits, channels that come out, and the side of a filter; and channels of feature maps."""

Around = Literal["", "constant", "reflect"]
"""What is around pictures: nothing, zeros, or the picture mirrored, as NumPy's pad calls it."""

TUTORIAL = "1603.07868"
"""The number on arXiv that the tutorial gives for Salimans & Kingma 2016."""

WEIGHT = SCHEMES["weight"].reference
"""That paper."""

TRAINED = 20
"""Steps that filters are trained for."""

ENOUGH = 5e-3
"""A mean over many mini-batches may be off by so much, relative: less than what m/(m-1) leaves."""

MOMENTUM = 0.1
"""PyTorch's default."""


@lru_cache(maxsize=32)
def pairs(layer: str, seed: int) -> effects.SampledStatistics:
    """Statistics of mini-batches of two digits."""
    return effects.sample_batch_statistics(stream.Setting(layer, drift=0.0, seed=seed), sizes=[2])


def left_over(layer: str, seed: int) -> float:
    """By how much m/(m-1) · E[σ²], with E exact, is not the variance of all digits: relative, the furthest unit."""
    found = pairs(layer, seed)
    corrected = found._replace(variance=found.expected).corrected_variance
    return float(np.abs(corrected / found.population.variance - 1).max())


def bias_on_convolutions(seed: int) -> Evidence:
    """The expected variance of two digits times m/(m-1), beside the variance of all digits."""
    conv, dense = over(seed, lambda each: left_over("conv", each)), over(seed, lambda each: left_over("dense", each))
    drawn = over(
        seed, lambda each: find_largest_difference(pairs("conv", each).variance, pairs("conv", each).expected).residual
    )
    return Evidence(
        [
            same("largest relative error of m/(m−1) · E[σ²], m = N·H·W, N = 2: on a convolution", conv),
            same("the same error on a dense layer, where H = W = 1", dense, fact=True),
            below(
                f"sampling error of E[σ²] from {effects.DIGITS_PER_SIZE // 2:,} mini-batches of the convolution",
                drawn,
                ENOUGH,
                fact=True,
            ),
        ]
    )


def stretched(key: str, seed: int) -> float:
    """How many times as far apart a layer on digits puts two inputs, at most, once its matrix has σ₁ = 1."""
    layer = FIRST_LAYERS[key]
    whole = build_operator_matrix(normalize(train_first_layer(layer, TRAINED, seed), SCHEMES["spectral"]).xhat, layer)
    return float(compute_lipschitz_ratios(whole, *make_singular_pairs(whole, seed)).max())


def bound_of_a_convolution(seed: int) -> Evidence:
    """Spectral norm on a convolution and on a dense layer: by how much pairs of inputs are stretched."""
    conv = over(seed, lambda each: stretched("conv", each))
    dense = over(seed, lambda each: abs(stretched("dense", each) - 1))
    squares = FIRST_LAYERS["conv"].overlap
    root = f"at most the root of the {squares} squares that a pixel is in"
    return Evidence(
        [
            below("largest ‖f(x) − f(y)‖ / ‖x − y‖ of the convolution", conv, 1 + APART),
            Trial(root, max(conv) <= squares**0.5, fact=True),
            same("distance of that of a dense layer from 1", dense, fact=True),
        ]
    )


def convolved(x: np.ndarray, w: np.ndarray, around: Around) -> np.ndarray:
    """Pictures (N, H, W, Cin) by filters (3, 3, Cin, Cout); around them what is said."""
    if around:
        x = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)), around)
    patches = np.stack([cut_patches(channel, KERNEL) for channel in np.moveaxis(x, -1, 0)], axis=-1)
    side = x.shape[1] - KERNEL + 1
    return (patches.reshape(-1, flatten_to_matrix(w).shape[0]) @ flatten_to_matrix(w)).reshape(len(x), side, side, -1)


def recentred(key: str, seed: int, channels: int = 1, taus: int = 1, around: Around = "") -> tuple[float, ...]:
    """How far τ, one number or one a channel, moves what a scheme makes of a convolution of digits, over seeds."""

    def moved(each: int) -> float:
        rng, scheme = np.random.default_rng(each), SCHEMES[key]
        x = SAMPLES["digits"].make((PICTURES, DIGIT_SIDE, DIGIT_SIDE, channels), each)
        w, tau = rng.standard_normal((KERNEL, KERNEL, channels, FILTERS)), rng.standard_normal(taus)
        if scheme.on_weights is not None:
            w = normalize(w, scheme.on_weights).xhat
        sums = [convolved(given, w, around) for given in (x, x + tau)]
        return find_largest_difference(
            *(normalize(a, scheme).xhat if scheme.on_activations else a for a in sums)
        ).residual

    return over(seed, moved)


def one_input_channel(seed: int) -> Evidence:
    """Dataset re-centring behind weight standardization, with one input channel and with three."""
    key, change = "weight-standardization", TRANSFORMATIONS["dataset-recentering"]
    summed = (PICTURES, DIGIT_SIDE - 2, DIGIT_SIDE - 2, FILTERS)
    one, three = (
        predict(SCHEMES[key], change, "conv", summed, (KERNEL, KERNEL, inputs, FILTERS)).invariant for inputs in (1, 3)
    )
    return Evidence(
        [
            same("largest relative difference of the outputs: one input channel", recentred(key, seed)),
            Trial(f"the rule says {'' if one else 'not '}invariant of one input channel", one),
            apart(
                "largest relative difference of the outputs: three input channels, each with its own τ",
                recentred(key, seed, channels=3, taus=3),
                APART,
                fact=True,
            ),
            Trial(f"the rule says {'' if three else 'not '}invariant of three", not three, fact=True),
            same(
                "largest relative difference of the outputs: three input channels, one τ",
                recentred(key, seed, channels=3),
                fact=True,
            ),
            apart(
                "largest relative difference of the outputs: one input channel, zeros around",
                recentred(key, seed, around="constant"),
                APART,
                fact=True,
            ),
        ]
    )


def wrong_number(seed: int) -> Evidence:
    """The tutorial's number on arXiv beside this app's."""
    return Evidence([Trial(f"{TUTORIAL} in the tutorial, {WEIGHT.arxiv} here", WEIGHT.arxiv == TUTORIAL)])


def padding(seed: int) -> Evidence:
    """Dataset re-centring behind batch norm on a convolution, by what is around the pictures."""
    return Evidence(
        [
            same("largest relative difference of x̂: no padding", recentred("batch", seed)),
            same(
                "largest relative difference of x̂: the picture mirrored at its border",
                recentred("batch", seed, around="reflect"),
            ),
            same(
                "largest relative difference of x̂: zeros around the picture",
                recentred("batch", seed, around="constant"),
            ),
        ]
    )


def equal_outputs(seed: int) -> Evidence:
    """The cells of Table 1 that are invariant: twins trained at one learning rate, or at one that follows."""
    cells = [cell for cell in trained("dense", seed).values() if cell.predicted]
    weights = [cell for cell in cells if TRANSFORMATIONS[cell.transformation].weight_factor is not None]
    others = [cell.training_gap for cell in cells if cell not in weights]
    return Evidence(
        [
            same(
                "relative differences of the losses at one learning rate, over the cells, one seed",
                [c.training_gap_equal_lr for c in weights],
            ),
            same("the same with δ² times the learning rate", [cell.training_gap for cell in weights], fact=True),
            same("the same where data are changed or weights re-centred, at one learning rate", others, fact=True),
        ]
    )


def correlations(scheme: Scheme, seed: int) -> tuple[float, ...]:
    """The largest covariance of two channels of x̂, of feature maps of digits, where variances are 1; over seeds."""

    def largest(each: int) -> float:
        x_hat = compute_xhat(SAMPLES["features"].make((PICTURES, DIGIT_SIDE, DIGIT_SIDE, CHANNELS), each), scheme, 0.0)
        return float(np.abs(np.triu(compute_covariance(x_hat.reshape(-1, CHANNELS)), 1)).max())

    return over(seed, largest)


def not_white(seed: int) -> Evidence:
    """What is left of correlations between channels by batch norm, and by decorrelated batch norm."""
    whitening = correlations(get_scheme("whitening", groups=1), seed)
    return Evidence(
        [
            same("largest correlation of two channels behind batch norm", correlations(SCHEMES["batch"], seed)),
            same("largest correlation of two channels behind decorrelated batch norm", whitening, fact=True),
        ]
    )


def momentum(seed: int) -> Evidence:
    """One stream of mini-batches, averaged as PyTorch and as Keras do."""
    setting = stream.Setting(seed=seed)
    seen, m = stream.trace_stream(setting), setting.count
    ours, same_number, other = (
        compute_running_averages(seen.mean, seen.variance, m, CONVENTIONS[key], number).last
        for key, number in (("pytorch", MOMENTUM), ("keras", MOMENTUM), ("keras", 1 - MOMENTUM))
    )
    ratio = ours.variance / other.variance * (m - 1) / m
    what = f"relative difference of the running means: {MOMENTUM} in both"
    return Evidence(
        [
            same(what, [find_largest_difference(ours.mean, same_number.mean).residual]),
            below(
                f"relative difference of the running means: PyTorch's {MOMENTUM} and Keras's {1 - MOMENTUM}",
                [find_largest_difference(ours.mean, other.mean).residual],
                1e-7,
                fact=True,
            ),
            below(
                f"relative difference of PyTorch's variance over Keras's from m/(m−1), m = {m}",
                np.abs(ratio - 1).ravel(),
                1e-7,
                fact=True,
            ),
        ]
    )


def from_signs(key: str, shape: tuple[int, ...], seed: int) -> tuple[float, ...]:
    """How far from ±1 x̂ of random tensors is at ε = 0, over seeds."""

    def furthest(each: int) -> float:
        x = SAMPLES["normal"].make(shape, each)
        return float(np.abs(np.abs(compute_xhat(x, SCHEMES[key], 0.0)) - 1).max())

    return over(seed, furthest)


def only_two(seed: int) -> Evidence:
    """x̂ of two examples behind a dense layer at ε = 0, of three, and of two units by layer norm."""
    return Evidence(
        [
            same("largest distance of x̂ from ±1, two examples", from_signs("batch", (2, 1, 1, 8), seed)),
            same(
                "largest distance of x̂ from ±1, two units of layer norm",
                from_signs("layer", (8, 1, 1, 2), seed),
                fact=True,
            ),
            apart(
                "largest distance of x̂ from ±1, three examples",
                from_signs("batch", (3, 1, 1, 8), seed),
                APART,
                fact=True,
            ),
        ]
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "X01",
        ("normviz",),
        short="Behind a convolution, m/(m−1) makes batch norm's variance unbiased.",
        says="On a convolution, the factor m/(m−1) with m = N·H·W makes batch norm's variance unbiased.",
        how="The exact mean of σ² over mini-batches of two digits, times m/(m−1), beside the variance of all digits.",
        expected="wrong",
        check=bias_on_convolutions,
        see="/running?layer=conv&batch=2",
        condition="Positions of one picture are not independent. So the factor repairs too much or too little: E[σ²] = "
        "σ² − V/N, with V the variance of the pictures' means. On a dense layer it is right.",
    ),
    Claim(
        "X02",
        ("normviz",),
        says="A kernel divided by its largest singular value gives a 1-Lipschitz convolution.",
        how="Spectral norm on filters trained on digits; pairs of digits along the layer's own singular directions.",
        expected="wrong",
        check=bound_of_a_convolution,
        see=f"/weights?show=spectral&layer=conv&trained={TRAINED}",
        condition="A pixel is in several patches, so it can stretch. The matrix (kh·kw·Cin, Cout) sees one square of "
        "pixels, and a pixel is in up to kh·kw of them: the layer can stretch by up to √(kh·kw). On a dense layer, and "
        "for each square, the bound holds.",
    ),
    Claim(
        "X03",
        ("normviz",),
        short="With one input channel, weight standardization cancels a shift of all data.",
        says="On a convolution with one input channel, weight standardization is invariant to dataset re-centring.",
        how="Outputs of a convolution of digits and of digits plus τ, with one and with three input channels.",
        expected="holds",
        check=one_input_channel,
        see="/invariance?schemes=weight,weight-standardization&layer=conv&cell=weight-standardization.dataset-recentering",
        condition="A filter's weights sum to 0: a constant adds nothing. With several input channels this is so "
        "only where τ is the same for all of them. Where pictures are padded with zeros it is never so: the zeros are "
        "not shifted.",
    ),
    Claim(
        "X04",
        ("001",),
        says=f"The paper on weight normalization is arXiv {TUTORIAL}.",
        how="The number in the tutorial's list of references beside that in this app's registry of schemes.",
        expected="wrong",
        check=wrong_number,
        see="/?scheme=weight",
        condition=f"{WEIGHT.text}, is arXiv {WEIGHT.arxiv}.",
    ),
    Claim(
        "X05",
        ("normviz",),
        says="On a convolution, batch normalization is invariant to dataset re-centring.",
        how="x̂ of digits and of digits plus τ behind a convolution, by what is around the pictures.",
        expected="holds-if",
        check=padding,
        see="/invariance?layer=conv&cell=batch.dataset-recentering",
        condition="Only without zeros around the picture: these are not shifted. What is added then differs near the "
        "border, and no one mean takes that off. The table that this opens has no padding.",
    ),
    Claim(
        "X06",
        ("normviz",),
        says="If normalization cancels a factor of the weights, training is the same, too.",
        how="The twins of all invariant cells of Table 1, trained by SGD on digits at ε = 0 with δ = 3.",
        expected="wrong",
        check=equal_outputs,
        see="/invariance?follow=0&cell=layer.weight-matrix-rescaling",
        condition="The learning rate must grow with the weights, too. Weights δ times as large get 1/δ of the gradient "
        "and have to move δ times as far: δ² times the learning rate does it. Changes of the data and re-centrings "
        "that cancel need no other learning rate.",
    ),
    Claim(
        "X07",
        ("normviz",),
        says="After batch norm, the activations are white: the channels are not correlated.",
        how="Correlations between channels of x̂, of feature maps of digits at ε = 0.",
        expected="wrong",
        check=not_white,
        see="/identities?row=whitening-is-batch&data=features",
        condition="It leaves correlations between channels as they are. Decorrelated batch norm removes them.",
    ),
    Claim(
        "X08",
        ("normviz",),
        says="Momentum, the weight in running averages, means the same in PyTorch and Keras.",
        how="One stream of mini-batches of digits, averaged by the rule of each.",
        expected="wrong",
        check=momentum,
        see=f"/running?framework=keras&share={MOMENTUM}",
        condition="PyTorch's 0.1 is Keras's 0.9. PyTorch weights the new batch, Keras the old average. PyTorch also "
        "averages the variance times m/(m−1), and Keras 3 without.",
    ),
    Claim(
        "X09",
        ("normviz",),
        short="With two examples, batch norm keeps only which one has the larger number.",
        says="With two examples, batch norm behind a dense layer keeps, of each unit, only which example has the "
        "larger number.",
        how="x̂ of random tensors at ε = 0: how far it is from +1 and −1.",
        expected="holds",
        check=only_two,
        see="/?n=2&h=1&w=1&c=8&data=normal&scheme=batch&eps=0",
        condition="The larger number becomes +1, the other one −1. As far as ε is small beside the variance of the "
        "two. Three examples keep more; layer norm of two units does just the same.",
    ),
)
"""Its claims."""
