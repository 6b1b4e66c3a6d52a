"""Claims about gradients, the geometry of a step, learning rates and the invariances."""

from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise

import numpy as np

from normviz.core.backward import compute_diagonal_gradient, compute_gradients, compute_jacobian
from normviz.core.equality import is_within_rounding
from normviz.core.fields import Shape
from normviz.core.registry import SCHEMES
from normviz.core.text import typeset
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.claims import fisher
from normviz.topics.claims.checks.tensors import compute_residual
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal
from normviz.topics.geometry import rate
from normviz.topics.gradients.autograd import differentiate_by_autograd
from normviz.topics.gradients.small import make_small_tensors
from normviz.topics.table1.fade import compute_eps_effects
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.topics.table1.sweeps import TWIN_POSITIONS
from normviz.train.setting import Setting

CLAIMS = ClaimList()

LAYER_NORM = SCHEMES["layer"]

EXAMPLE_SHAPE: Shape = (1, 1, 1, 4)
"""One example behind a dense layer, (N, H, W, C), the case that the notes differentiate."""

SMOOTHING_EPS = 0.01
"""ε = s², at which the derivative by s is taken."""

FADING_EPS = (1e-5, 1e-3, 1e-1)
"""Values of ε over which invariances fade."""

RESCALINGS = ("weight-matrix-rescaling", "dataset-rescaling", "case-rescaling")
"""Transformations that cancel because layer norm divides."""

TRAINING_STEPS = 50
"""Training steps of the networks of this module."""


@CLAIMS.add("N01", "000", "holds", "/gradients?show=formula&scheme=layer&n=4&h=1&w=1&c=4&eps=0&torch=1",
    short="The notes' gradients of layer norm's gain and bias are right.",
    says="The gradient of layer norm's gain is ∂L/∂h f′ (a − μ)/σ, and that of its bias is ∂L/∂h f′.",
    condition="Both agree with PyTorch's automatic gradients. Over a mini-batch both are summed.")  # fmt: skip
def check_affine_gradients(seed: int) -> Iterator[Trial]:
    """Yield trials that compare printed formulas of ∂L/∂γ and ∂L/∂β, summed over a mini-batch, with autograd's."""
    at = make_small_tensors(LAYER_NORM, (4, 1, 1, 4), seed)
    exact = differentiate_by_autograd(LAYER_NORM, at, 0.0)
    xhat = (at.x - at.x.mean(-1, keepdims=True)) / at.x.std(-1, keepdims=True)
    gain, bias = ((at.dy * factor).sum(0, keepdims=True) for factor in (xhat, 1))
    yield expect_equal("largest difference from autograd's ∂L/∂γ", compute_residual(gain, exact["dgain"]))
    yield expect_equal("from its ∂L/∂β", compute_residual(bias, exact["dbias"]))


@CLAIMS.add("N02", "000", "wrong", "/gradients?show=jacobian&scheme=layer&n=1&h=1&w=1&c=4&eps=0",
    short="Through layer norm, the gradient of a unit comes back through that unit alone.",
    says="With layer norm, the gradient of a pre-activation is ∂L/∂aᵢ = ∂L/∂hᵢ · ∂hᵢ/∂aᵢ.",
    condition="Mean and deviation are shared, so all units are reached. Through μ and σ, aᵢ moves all units of its "
    "layer: ∂L/∂aᵢ is the sum of ∂L/∂hⱼ · ∂hⱼ/∂aᵢ over all j.")  # fmt: skip
def check_diagonal_gradient(seed: int) -> Iterator[Trial]:
    """Yield trials that compare ∂L/∂hᵢ · ∂hᵢ/∂aᵢ, and the sum of these terms over all units, with autograd's ∂L/∂aᵢ."""
    at = make_small_tensors(LAYER_NORM, EXAMPLE_SHAPE, seed)
    exact = differentiate_by_autograd(LAYER_NORM, at, 0.0)["dx"]
    alone = compute_residual(compute_diagonal_gradient(at.x, at.dy * at.gain, LAYER_NORM, 0.0), exact)
    yield expect_equal("largest difference from autograd's ∂L/∂aᵢ: of the term through hᵢ alone", alone)
    summed = compute_residual(compute_gradients(at.x, at.dy, LAYER_NORM, 0.0, at.gain).dx, exact)
    yield expect_equal("of the sum over all units", summed, fact=True)
    diagonal = np.diag(compute_jacobian(at.x, LAYER_NORM, 0.0)).reshape(EXAMPLE_SHAPE)
    own = compute_residual(compute_diagonal_gradient(at.x, np.ones(EXAMPLE_SHAPE), LAYER_NORM, 0.0), diagonal)
    yield expect_equal("of the printed ∂hᵢ/∂aᵢ from the Jacobian's diagonal", own, fact=True)


@CLAIMS.add("N03", "000", "holds-if", f"/gradients?show=formula&scheme=layer&n=1&h=1&w=1&c=4&eps={SMOOTHING_EPS}",
    short="The notes' gradient of the smoothing term is right.",
    says="The gradient of the smoothing term s, where ε = s², is ∂L/∂hᵢ f′ γᵢ (aᵢ − μ) · (−s/σ³).",
    condition="Summed over all units of the layer, it is. All of them share one s.")  # fmt: skip
def check_smoothing_gradient(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the printed ∂L/∂s, of one unit and summed over all, with 2s ∂L/∂ε, as ε = s²."""
    at, s = make_small_tensors(LAYER_NORM, EXAMPLE_SHAPE, seed), SMOOTHING_EPS**0.5
    v = at.x - at.x.mean()
    sigma = np.sqrt(s**2 + np.mean(v**2))
    terms = at.dy * at.gain * v * -s / sigma**3
    exact = np.asarray(2 * s * compute_gradients(at.x, at.dy, LAYER_NORM, SMOOTHING_EPS, at.gain).deps)
    summed, first = (compute_residual(np.asarray(each), exact) for each in (terms.sum(), terms.ravel()[0]))
    yield expect_equal("difference from ∂L/∂s, relative: of the formula summed over the units", summed)
    yield expect_equal("of the formula at the first unit alone", first)


def measure_scaling_powers(seed: int, block: str, change: str, outputs: str = "normal") -> dict[str, float]:
    """Return by scheme the power with which the Fisher block "w" or "γ" grows with `change`."""
    model = fisher.FisherModel(outputs, seed=seed)
    return {key: fisher.compute_scaling_power(key, model, block, change) for key in fisher.SCHEME_KEYS}


def expect_power(description: str, value: float, expected: int, fact: bool = False) -> Trial:
    """Return a trial that holds if a measured power equals the expected one up to rounding; `fact`: see `Trial`."""
    return Trial(description, is_within_rounding(abs(value - expected)), (float(value),), fact)


@CLAIMS.add("N04", "000", "holds", f"/geometry?show=rate&steps={TRAINING_STEPS}",
    says="With normalization, the length of the weights sets the effective learning rate.",
    condition="A step turns longer weights by a smaller angle. The rate is η/‖w‖² for SGD. In layer norm, whose "
    "units share μ and σ, ‖w‖ is the length of all weights together.")  # fmt: skip
def check_effective_rate(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how Fisher information and effective SGD steps scale with the length of the weights."""
    block, training = measure_scaling_powers(seed, "w", "length"), rate.RateSetting(steps=TRAINING_STEPS, seed=seed)
    rates, twins = rate.train_single(training).effective_rates[:, 0], rate.measure_twin_gaps(training, "sgd")
    yield expect_power("power of ‖w‖ in the Fisher information of w: behind batch norm", block["batch"], -2)
    yield expect_power("power of ‖w‖ in the Fisher information of w: behind layer norm", block["layer"], -2)
    what = "power of ‖w‖ in the Fisher information of w: without normalization"
    yield expect_power(what, block["none"], 0, fact=True)
    what = f"η/‖W‖² after {TRAINING_STEPS} steps of SGD, which lengthen W, over that at first"
    yield expect_at_most(what, rates[-1] / rates[0], 0.999)
    yield expect_equal("how far the scores of a twin that starts from 3W come away, at 3² times η", twins[2])
    yield expect_at_least("how far the scores of a twin that starts from 3W come away, at the same η", twins[0], 0.01)


@CLAIMS.add("N05", "000", "holds", "/gradients?show=formula&scheme=layer",
    says="How the gain is learned depends on the error, and on no scale of weights or data.",
    condition="Both scales cancel before the gain. That nothing but the error matters is so where its size is the "
    "same for all examples, as for normal outputs; else each counts with x̂²: it is E[x̂² (y − E[y|x])²].")  # fmt: skip
def check_gain_learning(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how the Fisher information of the gain scales with the weights and with the data."""

    def scaled(change: str) -> float:
        powers = [measure_scaling_powers(seed, "γ", change, outputs) for outputs in fisher.OUTPUT_KINDS]
        return max((row[key] for row in powers for key in ("batch", "layer")), key=abs)

    def off(outputs: str) -> float:
        model = fisher.FisherModel(outputs, seed=seed)
        parts = [fisher.compute_gain_information(key, model) for key in ("batch", "layer")]
        return max(abs(part.information / part.error - 1) for part in parts)

    what = "power of ‖w‖ in the Fisher information of γ: behind batch and layer norm"
    yield expect_power(what, scaled("length"), 0)
    yield expect_power("power of the scale of the data in it, there", scaled("scale"), 0)
    power = measure_scaling_powers(seed, "γ", "length")["none"]
    yield expect_power("power of ‖w‖ in it without normalization, normal outputs", power, 2, fact=True)
    yield expect_equal("relative difference of it from the squared prediction error, normal outputs", off("normal"))
    yield expect_at_least("that difference with Bernoulli outputs", off("bernoulli"), 1e-3, fact=True)


@lru_cache(maxsize=256)
def measure_layer_gaps(key: str, seed: int, eps: float = 0.0, layer: str = "dense") -> dict[str, float]:
    """Return how far each transformation, with δ = 3, changes the output of the scheme `key`, by transformation key."""
    found = measure_forward_gaps([SCHEMES[key]], Setting(layer, eps=eps, seed=seed))[0, TWIN_POSITIONS]
    return dict(zip(TRANSFORMATIONS, map(float, found), strict=True))


@CLAIMS.add("F01", "000", "holds", "/invariance?schemes=layer,layer-weight&cell=layer-weight.weight-matrix-recentering",
    says="Weight norm in front of layer norm gains one invariance and costs another.",
    condition="One neuron's factor then cancels, a shift no longer does. On a conv layer it gains the same and has "
    "nothing to lose: layer norm over H, W and C does not cancel the re-centring there. Whether it then beats "
    "batch norm in convolutional networks, which is what the notes ask, is not measured here.",
    asked=True)  # fmt: skip
def check_weight_norm_in_front(seed: int) -> Iterator[Trial]:
    """Yield trials that measure which changes of weights or data alter layer norm's x̂, alone and after weight norm."""
    vector, matrix, example = "weight-vector-rescaling", "weight-matrix-recentering", "case-rescaling"
    both, alone = (measure_layer_gaps(key, seed) for key in ("layer-weight", "layer"))
    yield expect_equal("how far one vector × 3 changes x̂, dense layer: with weight norm", both[vector])
    what = "how far one vector × 3 changes x̂, dense layer: layer norm alone"
    yield expect_at_least(what, alone[vector], 0.01, fact=True)
    yield expect_at_least("how far τ on all vectors changes x̂, dense layer: with weight norm", both[matrix], 0.01)
    what = "how far τ on all vectors changes x̂, dense layer: layer norm alone"
    yield expect_equal(what, alone[matrix], fact=True)
    yield expect_equal("how far one example × 3 changes x̂, dense layer: with weight norm", both[example], fact=True)
    both, alone = (measure_layer_gaps(key, seed, layer="conv") for key in ("layer-weight", "layer"))
    yield expect_equal("how far one vector × 3 changes x̂, conv layer: with weight norm", both[vector])
    what = "how far τ on all vectors changes x̂, conv layer: layer norm alone"
    yield expect_at_least(what, alone[matrix], 0.01, fact=True)


@CLAIMS.add("F02", "000", "holds", "/invariance?schemes=batch,layer&panel=eps&eps=0.001&cell=layer.dataset-rescaling",
    says="A larger ε takes away the invariances to factors, and none to shifts.",
    condition="ε changes the divisor only; the mean still cancels shifts.",
    asked=True)  # fmt: skip
def check_larger_eps(seed: int) -> Iterator[Trial]:
    """Yield trials that measure how far factors and shifts alter x̂ at larger ε, if they leave it unchanged at ε = 0."""
    scaled, shifted, differences = [], [], []
    for eps in (0.0, *FADING_EPS):
        layer, batch = (measure_layer_gaps(key, seed, eps) for key in ("layer", "batch"))
        faded = compute_eps_effects(LAYER_NORM, Setting(eps=eps, seed=seed))
        scaled.append(max(layer[change] for change in RESCALINGS))
        differences += [abs(layer[change] - faded[change].largest) for change in RESCALINGS]
        shifted += [layer["weight-matrix-recentering"], batch["dataset-recentering"]]
    what = "how far δ = 3, where layer norm cancels it, changes x̂: at ε = 0"
    yield expect_equal(what, scaled[0], fact=True)
    for eps, (before, value) in zip(FADING_EPS, pairwise(scaled), strict=True):
        yield Trial(f"at ε = {typeset(eps)}", before < value, (value,))
    yield expect_equal("largest difference from what ε beside E[v²] predicts", max(differences), fact=True)
    what = "how far τ, where layer or batch norm cancels it, changes x̂ at any of these ε"
    yield expect_equal(what, max(shifted))


@CLAIMS.add("F03", "000", "holds", f"/geometry?show=rate&steps={TRAINING_STEPS}",
    says="With Adam, the effective learning rate is η/‖w‖ instead of η/‖w‖².",
    condition="Adam's steps do not shrink with the gradient. Exact where Adam's ε is far below the gradients.",
    asked=True)  # fmt: skip
def check_adam_rate(seed: int) -> Iterator[Trial]:
    """Yield trials that train twins from W and from 3W with batch norm, with Adam and with SGD, at several rates."""
    training = rate.RateSetting(steps=TRAINING_STEPS, seed=seed)
    adam, sgd = (rate.measure_twin_gaps(training, optimizer) for optimizer in ("adam", "sgd"))
    yield expect_equal("how far the scores of a twin that starts from 3W come away with Adam at 3 times η", adam[1])
    yield expect_at_least("how far they come away with Adam at η", adam[0], 0.01)
    yield expect_at_least("how far they come away with Adam at 3² times η", adam[2], 0.01)
    yield expect_equal("how far they come away with SGD at 3² times η", sgd[2], fact=True)
    yield expect_at_least("how far they come away with SGD at 3 times η", sgd[1], 0.01, fact=True)
