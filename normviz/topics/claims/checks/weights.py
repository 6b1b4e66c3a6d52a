"""Claims about weight, spectral, RMS and divisive norm."""

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache, partial

import numpy as np

from normviz.core.equality import compare_schemes, compute_xhat, find_largest_difference, is_within_rounding
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES, make_custom_scheme
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.core.transformations import TRANSFORMATIONS
from normviz.data.samples import sample_normal
from normviz.topics.claims.checks.tensors import CONV_SHAPE, DENSE_SHAPE, measure_identity_gap, measure_torch_gap
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.seeds import list_seeds, repeat_over_seeds
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.topics.weights import weights
from normviz.topics.weights.descent import PARAMETRIZATIONS, DescentPath, Setting, measure_growth_gap, run_sgd
from normviz.train.problem import find_network_index
from normviz.train.setting import Setting as Table1

CLAIMS = ClaimList()
"""The claims of this topic, in the order of the page."""

ROUNDING_TOLERANCE = RELATIVE_TOLERANCES["float64"]


# --- weight norm --------------------------------------------------------------------------------------------------


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
    growth = repeat_over_seeds(seed, lambda each: np.diff(train_parametrization("weight", each).lengths).min())
    law = repeat_over_seeds(
        seed, lambda each: measure_growth_gap(train_parametrization("weight", each), SGD_SETTING.rate)
    )
    turned, less = (_measure_first_turns(seed, start) for start in (1.0, 10.0))
    yield Trial("least growth of ‖v‖ in any of 200 steps of SGD", min(growth) > 0, growth)
    yield expect_equal("largest relative difference of its square from ‖v‖² + η²‖∂L/∂v‖²", law, fact=True)
    yield expect_at_least("degrees that the first step turns w where ‖v‖ = 1", turned, 10.0)
    yield expect_at_most("degrees that it turns the same w where ‖v‖ = 10", less, 2.0)
    values = measure_identity_gap("weight-length", CONV_SHAPE, seed)
    yield expect_equal("largest difference of v/‖v‖ from the general form", values, fact=True)


def _measure_first_turns(seed: int, start: float) -> tuple[float, ...]:
    """Return the angle in degrees by which the first step turns w, by seed; `start` is the initial length of v."""
    return repeat_over_seeds(seed, lambda each: train_parametrization("weight", each, start).turn_angles[0])


@CLAIMS.add("W02", "001", "wrong", "/weights?show=norm&start=1",
    says="With weight norm, SGD updates v only.",
    condition="The length g is learned too. Without it, w keeps its first length "
    "(Salimans & Kingma 2016, eq. 3).")  # fmt: skip
def check_direction_only(seed: int) -> Iterator[Trial]:
    """Yield trials that measure the change of g in SGD on w = g v/‖v‖, and the loss with and without learning g."""
    changes = repeat_over_seeds(seed, lambda each: abs(abs(train_parametrization("weight", each).g[-1]) - 1))
    yield expect_at_most("change of |g| from its first value, 1, in 200 steps of SGD", changes, ROUNDING_TOLERANCE)
    yield expect_at_most("loss at the end, g and v updated", _compute_last_losses("weight", seed), 0.1, fact=True)
    yield expect_at_least("loss at the end, only v updated", _compute_last_losses("direction", seed), 0.2, fact=True)


def _compute_last_losses(form: str, seed: int) -> tuple[float, ...]:
    return repeat_over_seeds(seed, lambda each: train_parametrization(form, each).losses[-1])


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
    pairs = [
        (find_cancelled_changes("layer", each), find_cancelled_changes("weight", each)) for each in list_seeds(seed)
    ]
    more, others = ([float(len(a - b)) for a, b in way] for way in (pairs, [pair[::-1] for pair in pairs]))
    only = {change for layer, weight in pairs for change in weight - layer}
    yield Trial("changes of Table 1 that layer norm cancels and weight norm does not", True, tuple(more))
    yield Trial("changes of Table 1 that weight norm cancels and layer norm does not", False, tuple(others))
    yield Trial(
        "what weight norm alone cancels is the re-scaling of one weight vector",
        only == {"weight-vector-rescaling"},
        fact=True,
    )
    yield Trial("layer norm cancels more of them", min(more) > max(others), fact=True)
    yield Trial("weight norm acts on the weights alone, whatever the data are", False)


# --- spectral norm ------------------------------------------------------------------------------------------------


@lru_cache(maxsize=64)
def train_layer_matrices(key: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return a layer's matrix after 200 steps on digits, and that matrix divided by its largest singular value."""
    first = weights.FIRST_LAYERS[key]
    w = weights.train_first_layer(first, 200, seed)
    return weights.build_operator_matrix(w, first), weights.build_operator_matrix(
        normalize(w, SCHEMES["spectral"]).xhat, first
    )


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
    pairs = [
        [measure_pair_stretches(m, each).max() for m in train_layer_matrices("dense", each)]
        for each in list_seeds(seed)
    ]
    before, most = np.transpose(pairs)
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

    @lru_cache(maxsize=16)
    def slopes(each: int) -> np.ndarray:
        digits, _ = weights.sample_digit_pairs(weights.PAIR_COUNT, each)
        return weights.measure_critic_gradients(train_layer_matrices("square", each)[1], digits, each)

    def left(each: int) -> float:
        """Return the change of the smallest over the largest singular value by the division."""
        ratios = [
            found[-1] / found[0]
            for found in map(partial(np.linalg.svd, compute_uv=False), train_layer_matrices("square", each))
        ]
        return abs(ratios[1] - ratios[0])

    least = repeat_over_seeds(
        seed, lambda each: measure_pair_stretches(train_layer_matrices("square", each)[1], each).min()
    )
    lost = repeat_over_seeds(seed, lambda each: _measure_null_space_stretch(train_layer_matrices("dense", each)[1]))
    yield expect_at_least("least ‖f(x) − f(y)‖ / ‖x − y‖ of 2,064 pairs, as many units as inputs", least, 0.1)
    yield expect_at_least("‖f(x) − f(y)‖ / ‖x − y‖ along what a layer of fewer units maps to 0", lost, 0.1)
    values = repeat_over_seeds(seed, left)
    yield expect_equal("change by the division of the smallest singular value over the largest", values, fact=True)
    values = repeat_over_seeds(seed, lambda each: slopes(each).min())
    yield expect_at_least("least ‖∇f‖ of a critic at 2,000 digits", values, 0.99)
    values = repeat_over_seeds(seed, lambda each: slopes(each).max())
    yield expect_at_most("largest ‖∇f‖ of that critic", values, 1 + ROUNDING_TOLERANCE, fact=True)


def _measure_null_space_stretch(m: np.ndarray) -> float:
    """Return the length of a matrix's product with a vector of length 1 from its null space."""
    return float(np.linalg.norm(np.linalg.svd(m)[0][:, -1] @ m))


# --- RMS norm -----------------------------------------------------------------------------------------------------


@CLAIMS.add("R01", "001", "holds", "/identities?row=centred-rms",
    says="RMS norm divides by the root mean square: it does not centre and learns no β.",
    condition="Its formula subtracts nothing. It cancels each re-scaling that layer norm does, and no "
    "re-centring.")  # fmt: skip
def check_rms_norm(seed: int) -> Iterator[Trial]:
    """Yield trials that compare RMS norm with its formula and layer norm, and measure its invariances of Table 1."""
    rms, formula = SCHEMES["rms"], make_custom_scheme(None, Field.parse("own, own, own, full"))
    by_formula = repeat_over_seeds(
        seed, lambda each: compare_schemes(rms, formula, CONV_SHAPE, seed=each).worst.residual
    )
    lost = repeat_over_seeds(
        seed, lambda each: len(find_cancelled_changes("layer", each) - find_cancelled_changes("rms", each))
    )
    recentring = all(
        find_cancelled_changes("layer", each) - find_cancelled_changes("rms", each) == {"weight-matrix-recentering"}
        for each in list_seeds(seed)
    )
    yield expect_equal("largest difference of x̂ from x over its root mean square along the last axis", by_formula)
    yield Trial("it learns γ and no β", rms.gain is not None and rms.bias is None)
    values = measure_identity_gap("centred-rms", CONV_SHAPE, seed)
    yield expect_equal("difference from layer norm over channels, where x is centred first", values)
    values = measure_identity_gap("rms-is-layer", CONV_SHAPE, seed)
    yield expect_at_least("difference from layer norm over channels, where x is not centred", values, 0.1, fact=True)
    yield Trial("of the changes that layer norm cancels, only the re-centring of the weights is lost", recentring, lost)


def normalize_like_tutorial(x: np.ndarray, eps: float = 1e-8) -> np.ndarray:
    """Return RMS norm as the tutorial's Keras class computes it, x / (√E[x²] + ε) along the last axis, without γ."""
    rms = np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True))
    return x / (rms + eps)


@CLAIMS.add("R03", "001", "holds", "/?scheme=rms&eps=1e-08&tab=formula",
    says="In the tutorial's RMS norm for Keras, ε stands outside the root.",
    condition="Its code adds ε after the root. It matters where the root mean square of the inputs is not far "
    "above √ε; elsewhere it cannot be seen. The view that this opens has ε inside.")  # fmt: skip
def check_eps_outside_root(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the tutorial's class with RMS norm with ε inside the root, at small and large x."""

    def gap(each: int, size: float) -> float:
        x = size * sample_normal((16, 1, 1, 32), each)
        return find_largest_difference(normalize_like_tutorial(x), compute_xhat(x, SCHEMES["rms"], 1e-8)).residual

    values = repeat_over_seeds(seed, lambda e: gap(e, 1e-4))
    yield expect_at_least("difference from ε inside the root: at inputs of about 10⁻⁴", values, 0.1)
    values = repeat_over_seeds(seed, lambda e: gap(e, 1.0))
    yield expect_at_most("difference from ε inside the root: at inputs of about 1", values, 1e-7, fact=True)
    values = measure_torch_gap(SCHEMES["rms"], DENSE_SHAPE, 0.01, seed)
    yield expect_equal("difference of the general form from PyTorch's layer, ε = 0.01", values, fact=True)


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

    def gap(each: int, mean: float) -> float:
        noise = sample_normal(DENSE_SHAPE, each)
        x = noise - noise.mean(-1, keepdims=True) + mean
        return find_largest_difference(
            divide_by_deviation(x, DEFAULT_EPS), compute_xhat(x, SCHEMES["rms"], DEFAULT_EPS)
        ).residual

    code = SCHEMES["rms"].keras
    option = "relative difference of LayerNormalization(rms_scaling=True) from RMS norm"
    yield Trial("the tutorial says so of the Keras of its time", True)
    yield Trial(f"what this app's code for Keras 3 calls: {str(code).partition('(')[0]}", code is None)
    values = repeat_over_seeds(seed, lambda e: gap(e, 1.0))
    yield expect_at_least(f"{option} where the mean of x is 1", values, 0.1, fact=True)
    yield expect_equal(f"{option} where it is 0", repeat_over_seeds(seed, lambda e: gap(e, 0.0)), fact=True)


# --- divisive norm ------------------------------------------------------------------------------------------------

REN_TABLE_2 = {"batch": "full, full, full, own", "layer": "own, full, full, full"}
"""The ranges of Table 2 of Ren et al. 2017, over (N, H, W, C); A and B are the same."""


@CLAIMS.add("D01", "000", "holds", "/identities?row=windows-batch",
    says="Batch and layer norm are special cases of divisive normalization.",
    condition="Each averages over another range of the same formula.")  # fmt: skip
def check_ren_table_2(seed: int) -> Iterator[Trial]:
    """Yield trials that compare batch norm and layer norm with one formula that averages over the ranges of Table 2."""

    def gap(key: str, rule: str) -> tuple[float, ...]:
        field = Field.parse(REN_TABLE_2[key].replace("full", rule))
        general = make_custom_scheme(field, field)
        return repeat_over_seeds(
            seed, lambda each: compare_schemes(SCHEMES[key], general, CONV_SHAPE, eps=0.0, seed=each).worst.residual
        )

    what = "largest difference of batch norm's x̂ from the general form's with the ranges of Table 2"
    yield expect_equal(what, gap("batch", "full"))
    yield expect_equal("largest difference of layer norm's x̂ from it with the ranges of Table 2", gap("layer", "full"))
    values = gap("batch", "window(5)")
    yield expect_equal("largest difference of batch norm's x̂ from it with windows of radius 5", values)
    values = gap("layer", "window(5)")
    yield expect_equal("largest difference of layer norm's x̂ from it with windows of radius 5", values)


@CLAIMS.add("D02", "000", "holds", "/divisive?eps=0.01",
    says="A larger ε makes divisive normalization linear instead of saturated.",
    condition="ε then outweighs the variance, so contrast is kept.")  # fmt: skip
def check_divisive_saturation(seed: int) -> Iterator[Trial]:
    """Yield trials that measure by which factor divisive norm's x̂ grows if the contrast doubles, at several ε."""
    steps = 10.0 ** np.arange(-4, 5)

    @lru_cache(maxsize=16)
    def factors(each: int) -> np.ndarray:
        x = sample_normal((1, 8, 8, 4), each)
        once, twice = ([compute_xhat(c * x, SCHEMES["divisive"], eps) for eps in steps] for c in (1, 2))
        return np.reshape(np.array(twice) / np.array(once), (len(steps), -1))

    values = repeat_over_seeds(seed, lambda e: factors(e)[0].max())
    yield expect_at_most("largest factor by which doubling the contrast multiplies x̂, at ε = 10⁻⁴", values, 1.01)
    values = repeat_over_seeds(seed, lambda e: factors(e)[-1].min())
    yield expect_at_least("least factor by which doubling the contrast multiplies x̂, at ε = 10⁴", values, 1.99)
    values = repeat_over_seeds(seed, lambda e: np.diff(factors(e), axis=0).min())
    yield expect_at_least("least rise of this factor where ε is ten times as large", values, 0.0)
