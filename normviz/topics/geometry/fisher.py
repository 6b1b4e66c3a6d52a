"""The Fisher information of a small generalised linear model, with and without normalization.

Every unit i predicts a number y_i: normal with mean z_i and variance 1, or 1 with probability 1/(1+e^-z_i).

    a = W x,   z = γ · normalized(a) + β

KL between the predictions of θ and of θ + δ, a mean over the data, is ½ δᵀ F δ for small δ, with

    F = E_x[ Jᵀ Cov[y|x] J ],   J = ∂z/∂θ

Source: Ba, Kiros & Hinton 2016, section 5.2. The parameters are in the order of the paper: w, γ and β, unit by unit.
"""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

import numpy as np

from normviz.core.registry import SCHEMES
from normviz.core.settings import choice, integer, real
from normviz.data.digits import load_digits

UNITS, INPUTS, EXAMPLES = 4, 2, 48
PARAMETERS_PER_UNIT = INPUTS + 2
"""Number of parameters of a unit: its weights, its gain and its bias."""

SCALING_FACTOR = 2.0
"""The factor on weights, data or gain that shows how F scales; a power of two, so that nothing is rounded."""

SCHEME_KEYS = ("none", "batch", "weight", "layer")
PARAMETER_KINDS = ("w", "γ", "β")
OUTPUT_KINDS = {"normal": "Normal", "bernoulli": "Bernoulli"}
EQUAL_TOLERANCE = 1e-9
"""Largest relative difference of two blocks of F that counts as equal."""


@dataclass(frozen=True)
class FisherModel:
    """Generalized linear model: kind of outputs, length of the weights, scale of the data, γ, and the seed."""

    outputs: str = choice("normal", OUTPUT_KINDS, label="Outputs")
    length: float = real(
        2.0, 0.25, 4.0, label="Length of every weight vector ‖w‖", stops=(0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
    )
    scale: float = real(1.0, 0.25, 4.0, label="Data times", stops=(0.25, 0.5, 1.0, 2.0, 4.0))
    gain: float = real(1.0, 0.25, 4.0, label="Gain γ", stops=(0.25, 0.5, 1.0, 2.0, 4.0))
    seed: int = integer(0, 0, 9999, label="Seed")

    @property
    def x(self) -> np.ndarray:
        """The data (examples, inputs)."""
        return self.scale * load_digit_components()

    @property
    def w(self) -> np.ndarray:
        """The weights (units, inputs), all vectors of one length."""
        w = np.random.default_rng(self.seed).standard_normal((UNITS, INPUTS))
        return self.length * w / np.linalg.norm(w, axis=1, keepdims=True)


@cache
def load_digit_components() -> np.ndarray:
    """Load the first two principal components of some digits, (examples, 2), scaled to mean square 1."""
    images, _ = load_digits()
    x = images.reshape(len(images), -1)
    x = x - x.mean(axis=0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    chosen = x[:EXAMPLES] @ axes[:INPUTS].T
    return chosen / np.sqrt(np.mean(chosen[:, 0] ** 2))


def compute_predictions(scheme: str, x: np.ndarray, w: np.ndarray, gain: float) -> np.ndarray:
    """Compute the outputs z = γ x̂ (…, examples, units) for weights (…, units, inputs); β is 0."""
    if scheme == "weight":
        w = w / np.linalg.norm(w, axis=-1, keepdims=True)
        return gain * (x @ np.swapaxes(w, -1, -2))
    return gain * normalize_sums(x @ np.swapaxes(w, -1, -2), scheme).xhat


def compute_output_jacobian(scheme: str, x: np.ndarray, w: np.ndarray, gain: float) -> np.ndarray:
    """Compute J = ∂z/∂θ, (examples, units of z, units of θ, `PARAMETERS_PER_UNIT`)."""
    one = np.eye(len(w))
    out = np.zeros((len(x), len(w), len(w), PARAMETERS_PER_UNIT))
    a = x @ w.T
    if scheme == "weight":
        length = np.linalg.norm(w, axis=1)
        direction = w / length[:, None]
        xhat = x @ direction.T
        by_weight = np.einsum("ij,ni,id->nijd", one, 1 / length * np.ones_like(a), -direction) * xhat[:, :, None, None]
        by_weight += np.einsum("ij,nd,i->nijd", one, x, 1 / length)
    elif scheme == "batch":
        xhat, inverse = normalize_sums(a, scheme)
        chi = x[:, None] - x.mean(axis=0) - xhat[:, :, None] * (xhat.T @ x / len(x))
        by_weight = np.einsum("ij,nid,i->nijd", one, chi, inverse.ravel())
    elif scheme == "layer":
        xhat, inverse = normalize_sums(a, scheme)
        inside = one - 1 / len(w) - xhat[:, :, None] * xhat[:, None] / len(w)
        by_weight = np.einsum("nij,nd->nijd", inside * inverse[:, :, None], x)
    else:
        xhat = a
        by_weight = np.einsum("ij,nd->nijd", one, x)
    out[..., :INPUTS] = gain * by_weight
    for unit in range(len(w)):
        out[:, unit, unit, INPUTS] = xhat[:, unit]
        out[:, unit, unit, INPUTS + 1] = 1.0
    return out


def compute_output_variance(outputs: str, z: np.ndarray) -> np.ndarray:
    """Compute Var[y|x] for outputs z: 1 for normal outputs, p(1-p) for Bernoulli outputs."""
    if outputs == "normal":
        return np.ones_like(z)
    return np.exp(-np.logaddexp(0, z) - np.logaddexp(0, -z))


def compute_fisher_information(scheme: str, model: FisherModel, **times: float) -> np.ndarray:
    """Compute the Fisher information matrix F, (parameters, parameters), exactly and unit by unit."""
    x, w, gain = _scale_model(model, **times)
    j = _flatten_jacobian(scheme, x, w, gain)
    spread = compute_output_variance(model.outputs, compute_predictions(scheme, x, w, gain))
    return np.einsum("nip,ni,niq->pq", j, spread, j) / len(x)


def _scale_model(
    model: FisherModel, w: float = 1.0, x: float = 1.0, gain: float = 1.0
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the data, the weights and the gain of a model, each multiplied by a factor."""
    return x * model.x, w * model.w, gain * model.gain


def _flatten_jacobian(scheme: str, x: np.ndarray, w: np.ndarray, gain: float) -> np.ndarray:
    """Compute the Jacobian ∂z/∂θ as (examples, units, parameters)."""
    return compute_output_jacobian(scheme, x, w, gain).reshape(len(x), len(w), -1)


def get_fisher_block(f: np.ndarray, name: str, other: str = "") -> np.ndarray:
    """Return the block of F for one kind of parameter, or for two different kinds, of all units."""
    at = {"w": range(INPUTS), "γ": [INPUTS], "β": [INPUTS + 1]}
    rows, columns = (
        [unit * PARAMETERS_PER_UNIT + k for unit in range(UNITS) for k in at[kind]] for kind in (name, other or name)
    )
    return f[np.ix_(rows, columns)]


def compute_kl_divergence(outputs: str, z: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Compute KL(p(y|z) ‖ p(y|other)), summed over units, a mean over the examples; other: (…, examples, units)."""
    if outputs == "normal":
        each = (z - other) ** 2 / 2
    else:
        share = np.exp(-np.logaddexp(0, -z))
        each = share * (z - other) - np.logaddexp(0, z) + np.logaddexp(0, other)
    return each.sum(axis=-1).mean(axis=-1)


# --- how blocks scale -----------------------------------------------------------------------------------------------

SCALINGS = {"w": "weights × 2", "x": "data × 2", "gain": "γ × 2"}
"""The quantities that `SCALING_FACTOR` multiplies, and their labels."""


class ScalingPower(NamedTuple):
    """Power of `SCALING_FACTOR` by which a block of F changes; `exact`: it holds for every element."""

    exponent: float
    exact: bool


def compute_scaling_powers(scheme: str, model: FisherModel) -> dict[tuple[str, str], ScalingPower]:
    """Measure how each block of F (w, γ, β) scales when weights, data or gain are scaled."""
    first = compute_fisher_information(scheme, model)
    found = {}
    for change in SCALINGS:
        second = compute_fisher_information(scheme, model, **{change: SCALING_FACTOR})
        for name in PARAMETER_KINDS:
            before, after = get_fisher_block(first, name), get_fisher_block(second, name)
            exponent = float(np.log(np.trace(after) / np.trace(before)) / np.log(SCALING_FACTOR))
            off = np.abs(after - SCALING_FACTOR ** round(exponent) * before).max() / np.abs(after).max()
            found[name, change] = ScalingPower(exponent, bool(off < EQUAL_TOLERANCE))
    return found


# --- equal distance in the plane of one unit's weights --------------------------------------------------------------

SEARCH_RADIUS = 20.0
"""Radius of the search around w, in the plane of its two weights."""

SEARCH_RADII = np.geomspace(1e-2, SEARCH_RADIUS, 56)
BISECTION_STEPS = 20


class KlContour(NamedTuple):
    """Points (angles, 2) at one KL distance from w, in the plane of unit 0's weights.

    Attributes:
        exact: where KL first reaches the distance.
        quadratic: where ½ δᵀFδ reaches it. Both end at `SEARCH_RADIUS`.
    """

    exact: np.ndarray
    quadratic: np.ndarray

    def is_open(self, w: np.ndarray) -> bool:
        """Return True if the KL divergence reaches the distance nowhere within `SEARCH_RADIUS` of w."""
        return bool(np.linalg.norm(self.exact - w, axis=1).min() >= SEARCH_RADIUS * (1 - 1e-9))


def make_search_angles() -> np.ndarray:
    """Return the angles of search from w's own direction, denser towards it and away from it."""
    quarter = np.geomspace(1e-4, np.pi / 2, 45)
    half = np.concatenate([quarter, np.pi - quarter[-2::-1]])
    return np.concatenate([half, half + np.pi])


def compute_kl_contour(scheme: str, model: FisherModel, distance: float) -> KlContour:
    """Compute the points at one KL distance around the weights of unit 0, all other weights fixed."""
    w = model.w
    turn = make_search_angles() + np.arctan2(w[0, 1], w[0, 0])
    ways = np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    steps = np.minimum(_compute_quadratic_radii(_get_unit_block(scheme, model), ways, distance), SEARCH_RADIUS)
    return KlContour(
        w[0] + _find_contour_radii(scheme, model, ways, distance)[:, None] * ways, w[0] + steps[:, None] * ways
    )


class StepLengths(NamedTuple):
    """Lengths of steps δ of unit 0's weights w with a given KL distance ½ δᵀFδ: at right angles to w, and along w.

    `curvature`: uᵀFu for a unit vector u along w, over the largest of all directions.
    """

    across: float
    along: float
    curvature: float


def compute_step_lengths(scheme: str, model: FisherModel, distance: float, weight_factor: float = 1.0) -> StepLengths:
    """Compute the lengths of two steps of unit 0's weights with a given KL distance; weights times `weight_factor`."""
    own, w = _get_unit_block(scheme, model, weight_factor), model.w[0]
    along = w / np.linalg.norm(w)
    ways = np.array([[-along[1], along[0]], along])
    across, ahead = _compute_quadratic_radii(own, ways, distance)
    return StepLengths(float(across), float(ahead), float(along @ own @ along / np.linalg.eigvalsh(own)[-1]))


def _get_unit_block(scheme: str, model: FisherModel, weight_factor: float = 1.0) -> np.ndarray:
    """Return the block of F for unit 0's weights, (2, 2)."""
    return get_fisher_block(compute_fisher_information(scheme, model, w=weight_factor), "w")[:INPUTS, :INPUTS]


def _compute_quadratic_radii(block: np.ndarray, directions: np.ndarray, distance: float) -> np.ndarray:
    """Return the lengths r with ½ r² uᵀFu = distance; very long but finite where uᵀFu is 0 to rounding."""
    curvature = np.einsum("...i,ij,...j->...", directions, block, directions)
    return np.sqrt(2 * distance / np.maximum(curvature, 1e-14 * np.abs(block).max()))


def _find_contour_radii(scheme: str, model: FisherModel, directions: np.ndarray, distance: float) -> np.ndarray:
    """Find the radius along each direction at which KL first reaches the distance, at most `SEARCH_RADIUS`."""
    x, w = model.x, model.w
    z = compute_predictions(scheme, x, w, model.gain)

    def beyond(radii: np.ndarray) -> np.ndarray:
        moved = np.broadcast_to(w, (*radii.shape, *w.shape)).copy()
        moved[..., 0, :] += radii[..., None] * (directions[:, None] if radii.ndim > 1 else directions)
        return compute_kl_divergence(model.outputs, z, compute_predictions(scheme, x, moved, model.gain)) >= distance

    found = beyond(np.broadcast_to(SEARCH_RADII, (len(directions), len(SEARCH_RADII))))
    at = np.argmax(found, axis=1)
    near, far = np.where(at > 0, SEARCH_RADII[at - 1], 0.0), SEARCH_RADII[at]
    for _ in range(BISECTION_STEPS):
        middle = (near + far) / 2
        out = beyond(middle)
        near, far = np.where(out, near, middle), np.where(out, middle, far)
    return np.where(found.any(axis=1), far, SEARCH_RADIUS)


class GainFactors(NamedTuple):
    """Factors of a gain's Fisher information: mean of (y - E[y|x])², mean of x̂², and F of one unit's γ."""

    error: float
    square: float
    information: float


def compute_gain_factors(scheme: str, model: FisherModel) -> GainFactors:
    """Compute the factors of a gain's Fisher information, E[x̂² (y - E[y|x])²]."""
    z = compute_predictions(scheme, model.x, model.w, model.gain)
    f = get_fisher_block(compute_fisher_information(scheme, model), "γ")
    error = float(compute_output_variance(model.outputs, z).mean())
    return GainFactors(error, float(np.mean((z / model.gain) ** 2)), float(f.trace() / UNITS))


class NormalizedSums(NamedTuple):
    """Normalized sums x̂ and 1/σ at ε = 0; a field of equal numbers gives 0. Without division, 1/σ is 1."""

    xhat: np.ndarray
    inverse: np.ndarray


def find_averaged_axes(scheme: str) -> tuple[int, ...]:
    """Return the averaged axes of an array (…, N, C); () if the scheme does not divide."""
    field = SCHEMES[scheme].suppression
    return () if field is None else tuple(axis for axis, at in ((-2, 0), (-1, 3)) if field.rules[at].kind == "full")


def normalize_sums(a: np.ndarray, scheme: str) -> NormalizedSums:
    """Compute x̂ = v / √E[v²] of sums a (…, N, C); v = a - E[a], or a if the scheme does not centre."""
    axes = find_averaged_axes(scheme)
    if not axes:
        return NormalizedSums(a, np.ones(1))
    v = a - a.mean(axes, keepdims=True) if SCHEMES[scheme].summation is not None else a
    root = np.sqrt(np.square(v).mean(axes, keepdims=True))
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    return NormalizedSums(v * inverse, inverse)
