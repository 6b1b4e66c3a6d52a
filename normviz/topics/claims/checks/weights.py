"""Claims about weight, spectral, RMS and divisive norm."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

import numpy as np

from normviz.core.equality import compare_schemes, compute_xhat, is_within_rounding
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES, make_custom_scheme
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.core.transformations import TRANSFORMATIONS
from normviz.data.samples import sample_normal
from normviz.topics.claims.checks import tensors
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.topics.weights import weights
from normviz.topics.weights.descent import PARAMETRIZATIONS, DescentPath, Setting, measure_growth_gap, run_sgd
from normviz.train.problem import find_network_index
from normviz.train.setting import Setting as Table1

CLAIMS = ClaimList()

ROUNDING_TOLERANCE = RELATIVE_TOLERANCES["float64"]


SGD_SETTING = Setting(rate=3.0, length=1.0)


@lru_cache(maxsize=64)
def train_parametrization(form: str, seed: int, start: float = 1.0) -> DescentPath:
    """Return the path of w, parametrized as `form`, in 200 steps of SGD on digits; `start`: the initial ‖w‖ or ‖v‖."""
    return run_sgd(PARAMETRIZATIONS[form], replace(SGD_SETTING, seed=seed, start=start), "pixels")


@CLAIMS.add("W01", "001", "holds", "/weights?show=norm&start=1",
    short="With weight norm, each step of SGD makes v longer and so turns w less.",
    says="Weight norm trains w = g v/‖v‖, and steadies itself: a step of SGD only ever makes v longer, and the "
    "longer v is, the less a step turns w.",
    condition="The gradient is at right angles to v. This holds for plain SGD, as in its paper (Salimans & Kingma "
    "2016, section 2.1). With momentum or weight decay ‖v‖ may shrink.")  # fmt: skip
def check_length_growth(seed: int) -> Iterator[Trial]:
    """Yield trials that measure the growth of ‖v‖ in SGD on w = g v/‖v‖, and how a longer v shortens steps."""
    path, longer = (train_parametrization("weight", seed, start) for start in (1.0, 10.0))
    growth = np.diff(path.lengths).min()
    yield Trial("least growth of ‖v‖ in any of 200 steps of SGD", growth > 0, (float(growth),))
    law = measure_growth_gap(path, SGD_SETTING.rate)
    yield expect_equal("largest relative difference of its square from ‖v‖² + η²‖∂L/∂v‖²", law, fact=True)
    yield expect_at_least("degrees that the first step turns w where ‖v‖ = 1", path.turn_angles[0], 10.0)
    yield expect_at_most("degrees that it turns the same w where ‖v‖ = 10", longer.turn_angles[0], 2.0)
    gap = tensors.measure_identity_gap("weight-length", tensors.CONV_SHAPE, seed)
    yield expect_equal("largest difference of v/‖v‖ from the general form", gap, fact=True)


@CLAIMS.add("W02", "001", "wrong", "/weights?show=norm&start=1",
    says="With weight norm, SGD updates v only.",
    condition="The length g is learned too. Without it, w keeps its first length "
    "(Salimans & Kingma 2016, eq. 3).")  # fmt: skip
def check_direction_only(seed: int) -> Iterator[Trial]:
    """Yield trials that measure the change of g in SGD on w = g v/‖v‖, and the loss with and without learning g."""
    both, direction = (train_parametrization(form, seed) for form in ("weight", "direction"))
    change = abs(abs(both.g[-1]) - 1)
    yield expect_at_most("change of |g| from its first value, 1, in 200 steps of SGD", change, ROUNDING_TOLERANCE)
    yield expect_at_most("loss at the end, g and v updated", both.losses[-1], 0.1, fact=True)
    yield expect_at_least("loss at the end, only v updated", direction.losses[-1], 0.2, fact=True)


@lru_cache(maxsize=64)
def find_cancelled_changes(key: str, seed: int) -> frozenset[str]:
    """Return the keys of the transformations that the scheme `key` cancels behind a dense layer at ε = 0."""
    gaps = measure_forward_gaps([SCHEMES[key]], Table1(layer="dense", eps=0.0, seed=seed))[0]
    return frozenset(
        name for name, change in TRANSFORMATIONS.items() if is_within_rounding(gaps[find_network_index(change)])
    )


@CLAIMS.add("W03", "000", "opinion", "/invariance?cell=weight.weight-vector-rescaling",
    says="There is no reason to prefer weight norm over layer norm.",
    condition="Each cancels changes that the other does not. Layer norm cancels more of them; which of them matter "
    "is another question.")  # fmt: skip
def check_weight_or_layer(seed: int) -> Iterator[Trial]:
    """Yield trials that compare which changes of Table 1 layer norm and weight norm cancel, on a dense layer."""
    layer, weight = (find_cancelled_changes(key, seed) for key in ("layer", "weight"))
    more, others = len(layer - weight), len(weight - layer)
    yield Trial("changes of Table 1 that layer norm cancels and weight norm does not", True, (more,))
    yield Trial("changes of Table 1 that weight norm cancels and layer norm does not", False, (others,))
    what = "what weight norm alone cancels is the re-scaling of one weight vector"
    yield Trial(what, weight - layer == {"weight-vector-rescaling"}, fact=True)
    yield Trial("layer norm cancels more of them", more > others, fact=True)
    yield Trial("weight norm acts on the weights alone, whatever the data are", False)


@lru_cache(maxsize=64)
def train_layer_matrices(key: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a layer's matrix after 200 steps on digits, and that matrix divided by its largest singular value."""
    first = weights.FIRST_LAYERS[key]
    w = weights.train_first_layer(first, 200, seed)
    divided = normalize(w, SCHEMES["spectral"]).xhat
    return weights.build_operator_matrix(w, first), weights.build_operator_matrix(divided, first)


def measure_pair_stretches(m: np.ndarray, seed: int) -> np.ndarray:
    """Return ‖f(x) − f(y)‖ / ‖x − y‖ of a linear map f with matrix `m`, for pairs of digits and singular directions."""
    kinds = weights.sample_digit_pairs(weights.PAIR_COUNT, seed), weights.make_singular_pairs(m, seed)
    return np.concatenate([weights.compute_lipschitz_ratios(m, x, y) for x, y in kinds])


@CLAIMS.add("S01", "001", "holds", "/weights?show=spectral&layer=dense",
    says="A dense layer divided by its largest singular value is 1-Lipschitz.",
    condition="It then stretches no difference of two inputs. For a convolution it takes the largest singular "
    "value of the whole map from picture to picture, which is not that of the matrix of its filters.")  # fmt: skip
def check_lipschitz_bound(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how far a trained layer stretches pairs of inputs, with spectral norm and without."""
    before, most = (measure_pair_stretches(m, seed).max() for m in train_layer_matrices("dense", seed))
    what = "largest ‖f(x) − f(y)‖ / ‖x − y‖ of 2,064 pairs, behind the division"
    yield expect_at_most(what, most, 1 + ROUNDING_TOLERANCE)
    yield expect_at_least("the same, which no smaller number would bound", most, 1 - ROUNDING_TOLERANCE, fact=True)
    what = "largest ‖f(x) − f(y)‖ / ‖x − y‖ of 2,064 pairs, without the division"
    yield expect_at_least(what, before, 2.0, fact=True)


@CLAIMS.add("S02", "001", "wrong", "/weights?show=spectral&layer=square",
    short="Dividing weights by their largest singular value also bounds a layer from below.",
    says="Division by the largest singular value also bounds a layer from below (bi-Lipschitz), or makes ‖∇f‖ = 1.",
    condition="It bounds from above only: small stretches stay small. The smallest stretch is divided too, and "
    "stays as small beside the largest; with fewer units than inputs it is 0. Slopes are 1 or less.")  # fmt: skip
def check_spectral_lower_bound(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how much a layer with spectral norm shrinks pairs, and the slopes of a critic."""
    square, dense = (train_layer_matrices(key, seed) for key in ("square", "dense"))
    least = measure_pair_stretches(square[1], seed).min()
    yield expect_at_least("least ‖f(x) − f(y)‖ / ‖x − y‖ of 2,064 pairs, as many units as inputs", least, 0.1)
    lost = np.linalg.norm(np.linalg.svd(dense[1])[0][:, -1] @ dense[1])  # along its null space
    yield expect_at_least("‖f(x) − f(y)‖ / ‖x − y‖ along what a layer of fewer units maps to 0", lost, 0.1)
    before, after = (found[-1] / found[0] for found in (np.linalg.svd(m, compute_uv=False) for m in square))
    what = "change by the division of the smallest singular value over the largest"
    yield expect_equal(what, abs(after - before), fact=True)
    digits, _ = weights.sample_digit_pairs(weights.PAIR_COUNT, seed)
    slopes = weights.measure_critic_gradients(square[1], digits, seed)
    yield expect_at_least("least ‖∇f‖ of a critic at 2,000 digits", slopes.min(), 0.99)
    yield expect_at_most("largest ‖∇f‖ of that critic", slopes.max(), 1 + ROUNDING_TOLERANCE, fact=True)


@CLAIMS.add("R01", "001", "holds", "/identities?row=centred-rms",
    says="RMS norm divides by the root mean square: it does not centre and learns no β.",
    condition="Its formula subtracts nothing. It cancels each re-scaling that layer norm does, and no "
    "re-centring.")  # fmt: skip
def check_rms_norm(seed: int) -> Iterator[Trial]:
    """Yield trials that compare RMS norm with its formula and layer norm, and measure its invariances of Table 1."""
    rms, formula = SCHEMES["rms"], make_custom_scheme(None, Field.parse("own, own, own, full"))
    gap = compare_schemes(rms, formula, tensors.CONV_SHAPE, seed=seed).worst.residual
    yield expect_equal("largest difference of x̂ from x over its root mean square along the last axis", gap)
    yield Trial("it learns γ and no β", rms.gain is not None and rms.bias is None)
    gap = tensors.measure_identity_gap("centred-rms", tensors.CONV_SHAPE, seed)
    yield expect_equal("difference from layer norm over channels, where x is centred first", gap)
    gap = tensors.measure_identity_gap("rms-is-layer", tensors.CONV_SHAPE, seed)
    yield expect_at_least("difference from layer norm over channels, where x is not centred", gap, 0.1, fact=True)
    lost = find_cancelled_changes("layer", seed) - find_cancelled_changes("rms", seed)
    what = "of the changes that layer norm cancels, only the re-centring of the weights is lost"
    yield Trial(what, lost == {"weight-matrix-recentering"}, (len(lost),))


def normalize_like_tutorial(x: np.ndarray) -> np.ndarray:
    """Return RMS norm as the tutorial's Keras class computes it, x / (√E[x²] + 10⁻⁸) along the last axis, without γ."""
    rms = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True))
    return x / (rms + 1e-8)


@CLAIMS.add("R03", "001", "holds", "/?scheme=rms&eps=1e-08&tab=formula",
    says="In the tutorial's RMS norm for Keras, ε stands outside the root.",
    condition="Its code adds ε after the root. It matters where the root mean square of the inputs is not far "
    "above √ε; elsewhere it cannot be seen. The view that this opens has ε inside.")  # fmt: skip
def check_eps_outside_root(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the tutorial's class with RMS norm with ε inside the root, at small and large x."""
    x = sample_normal((16, 1, 1, 32), seed)
    small, large = (
        tensors.compute_residual(normalize_like_tutorial(size * x), compute_xhat(size * x, SCHEMES["rms"], 1e-8))
        for size in (1e-4, 1.0)
    )
    yield expect_at_least("difference from ε inside the root: at inputs of about 10⁻⁴", small, 0.1)
    yield expect_at_most("difference from ε inside the root: at inputs of about 1", large, 1e-7, fact=True)
    gap = tensors.measure_torch_gap(SCHEMES["rms"], tensors.DENSE_SHAPE, 0.01, seed)
    yield expect_equal("difference of the general form from PyTorch's layer, ε = 0.01", gap, fact=True)


def divide_by_deviation(x: np.ndarray, eps: float) -> np.ndarray:
    """Return x / √(Var[x] + ε) along the last axis, as `LayerNormalization(rms_scaling=True)` of Keras 3 does."""
    return x / np.sqrt(x.var(-1, keepdims=True) + eps)


@CLAIMS.add("R04", "001", "holds-if", "/?scheme=rms&tab=code&framework=keras",
    says="Keras has no RMS norm.",
    condition="True only until keras.layers.RMSNormalization came in 2025. It is pull request 20911 of "
    "keras-team/keras. LayerNormalization(rms_scaling=True), of 2023, is not RMS norm: it divides x by its "
    "standard deviation, which is the root mean square only where the mean is 0. The tutorial's date is "
    "not known.")  # fmt: skip
def check_keras_rms_norm(seed: int) -> Iterator[Trial]:
    """Yield trials that compare Keras's RMS norm layer, and its former option `rms_scaling`, with RMS norm."""
    noise, code = sample_normal(tensors.DENSE_SHAPE, seed), SCHEMES["rms"].keras
    centred = noise - noise.mean(-1, keepdims=True)
    shifted, zero = (
        tensors.compute_residual(
            divide_by_deviation(centred + mean, DEFAULT_EPS), compute_xhat(centred + mean, SCHEMES["rms"], DEFAULT_EPS)
        )
        for mean in (1.0, 0.0)
    )
    option = "relative difference of LayerNormalization(rms_scaling=True) from RMS norm"
    yield Trial("the tutorial says so of the Keras of its time", True)
    yield Trial(f"what this app's code for Keras 3 calls: {str(code).partition('(')[0]}", code is None)
    yield expect_at_least(f"{option} where the mean of x is 1", shifted, 0.1, fact=True)
    yield expect_equal(f"{option} where it is 0", zero, fact=True)


@CLAIMS.add("D01", "000", "holds", "/identities?row=windows-batch",
    says="Batch and layer norm are special cases of divisive normalization.",
    condition="Each averages over another range of the same formula.")  # fmt: skip
def check_ren_table_2(seed: int) -> Iterator[Trial]:
    """Yield trials that compare batch norm and layer norm with one formula that averages over the ranges of Table 2."""
    ranges = {"batch": "full, full, full, own", "layer": "own, full, full, full"}  # of A and B, over (N, H, W, C)

    def gap(key: str, rule: str) -> float:
        field = Field.parse(ranges[key].replace("full", rule))
        general = make_custom_scheme(field, field)
        return compare_schemes(SCHEMES[key], general, tensors.CONV_SHAPE, eps=0.0, seed=seed).worst.residual

    what = "largest difference of batch norm's x̂ from the general form's with the ranges of Table 2"
    yield expect_equal(what, gap("batch", "full"))
    yield expect_equal("largest difference of layer norm's x̂ from it with the ranges of Table 2", gap("layer", "full"))
    for name in ("batch", "layer"):
        what = f"largest difference of {name} norm's x̂ from it with windows of radius 5"
        yield expect_equal(what, gap(name, "window(5)"))


@CLAIMS.add("D02", "000", "holds", "/divisive?eps=0.01",
    says="A larger ε makes divisive normalization linear instead of saturated.",
    condition="ε then outweighs the variance, so contrast is kept.")  # fmt: skip
def check_divisive_saturation(seed: int) -> Iterator[Trial]:
    """Yield trials that measure by which factor divisive norm's x̂ grows if the contrast doubles, at several ε."""
    steps, x = 10.0 ** np.arange(-4, 5), sample_normal((1, 8, 8, 4), seed)
    once, twice = (np.array([compute_xhat(c * x, SCHEMES["divisive"], eps) for eps in steps]) for c in (1, 2))
    factors = np.reshape(twice / once, (len(steps), -1))
    what = "largest factor by which doubling the contrast multiplies x̂, at ε = 10⁻⁴"
    yield expect_at_most(what, factors[0].max(), 1.01)
    what = "least factor by which doubling the contrast multiplies x̂, at ε = 10⁴"
    yield expect_at_least(what, factors[-1].min(), 1.99)
    rise = np.diff(factors, axis=0).min()
    yield expect_at_least("least rise of this factor where ε is ten times as large", rise, 0.0)
