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
from normviz.data.digits import load_digits

UNITS, INPUTS, EXAMPLES = 4, 2, 48
PARAMETERS_PER_UNIT = INPUTS + 2
"""Number of parameters of a unit: its weights, its gain and its bias."""

SCALING_FACTOR = 2.0
"""The factor on weights, data or gain that shows how F scales; a power of two, so that nothing is rounded."""

SCHEME_KEYS = ("none", "batch", "weight", "layer")
OUTPUT_KINDS = ("normal", "bernoulli")


@dataclass(frozen=True)
class FisherModel:
    """A generalized linear model with normal or Bernoulli outputs: scales of weights, data and gain, and a seed."""

    outputs: str = "normal"
    length: float = 2.0
    scale: float = 1.0
    gain: float = 1.0
    seed: int = 0

    @property
    def x(self) -> np.ndarray:
        """The data, shape (examples, inputs)."""
        return self.scale * load_digit_components()

    @property
    def w(self) -> np.ndarray:
        """The weights, shape (units, inputs); the vector of each unit has the length `length`."""
        w = np.random.default_rng(self.seed).standard_normal((UNITS, INPUTS))
        return self.length * w / np.linalg.norm(w, axis=1, keepdims=True)


@cache
def load_digit_components() -> np.ndarray:
    """Return the first two principal components of some digits, shape (examples, 2), scaled to mean square 1."""
    images, _ = load_digits()
    x = images.reshape(len(images), -1)
    x = x - x.mean(axis=0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    chosen = x[:EXAMPLES] @ axes[:INPUTS].T
    return chosen / np.sqrt(np.mean(chosen[:, 0] ** 2))


def compute_predictions(scheme: str, x: np.ndarray, w: np.ndarray, gain: float) -> np.ndarray:
    """Return the outputs z = γ x̂ (…, examples, units) for weights (…, units, inputs) and data (examples, inputs)."""
    if scheme == "weight":
        w = w / np.linalg.norm(w, axis=-1, keepdims=True)
        return gain * (x @ np.swapaxes(w, -1, -2))
    return gain * normalize_sums(x @ np.swapaxes(w, -1, -2), scheme).xhat


def compute_output_jacobian(scheme: str, x: np.ndarray, w: np.ndarray, gain: float) -> np.ndarray:
    """Return J = ∂z/∂θ, (examples, units of z, units of θ, `PARAMETERS_PER_UNIT`), in the model without β."""
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
    """Return Var[y|x] for outputs z: 1 for "normal" `outputs`, p(1 − p) for Bernoulli ones."""
    if outputs == "normal":
        return np.ones_like(z)
    return np.exp(-np.logaddexp(0, z) - np.logaddexp(0, -z))


def compute_fisher_information(scheme: str, model: FisherModel, **times: float) -> np.ndarray:
    """Return the exact Fisher information matrix F, shape (parameters, parameters), unit after unit."""
    x, w, gain = _scale_model(model, **times)
    j = compute_output_jacobian(scheme, x, w, gain).reshape(len(x), UNITS, -1)
    spread = compute_output_variance(model.outputs, compute_predictions(scheme, x, w, gain))
    return np.einsum("nip,ni,niq->pq", j, spread, j) / len(x)


def _scale_model(
    model: FisherModel, w: float = 1.0, x: float = 1.0, gain: float = 1.0
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the data, weights and gain of a model, each multiplied by a factor."""
    return x * model.x, w * model.w, gain * model.gain


def get_fisher_block(f: np.ndarray, name: str) -> np.ndarray:
    """Return the block of F for one kind of parameter, "w", "γ" or "β", of all units."""
    at = {"w": range(INPUTS), "γ": [INPUTS], "β": [INPUTS + 1]}
    places = [unit * PARAMETERS_PER_UNIT + k for unit in range(UNITS) for k in at[name]]
    return f[np.ix_(places, places)]


def compute_scaling_power(scheme: str, model: FisherModel, name: str, change: str) -> float:
    """Return p if a block of F grows by `SCALING_FACTOR`ᵖ when `change`, "w", "x" or "gain", is scaled."""
    before = get_fisher_block(compute_fisher_information(scheme, model), name)
    after = get_fisher_block(compute_fisher_information(scheme, model, **{change: SCALING_FACTOR}), name)
    return float(np.log(np.trace(after) / np.trace(before)) / np.log(SCALING_FACTOR))


class GainFactors(NamedTuple):
    """The factors of the Fisher information of γ: mean of (y − E[y|x])², mean of x̂², and F of one unit's γ."""

    error: float
    square: float
    information: float


def compute_gain_factors(scheme: str, model: FisherModel) -> GainFactors:
    """Return the factors of E[x̂² (y − E[y|x])²], the Fisher information of γ."""
    z = compute_predictions(scheme, model.x, model.w, model.gain)
    f = get_fisher_block(compute_fisher_information(scheme, model), "γ")
    error = float(compute_output_variance(model.outputs, z).mean())
    return GainFactors(error, float(np.mean((z / model.gain) ** 2)), float(f.trace() / UNITS))


class NormalizedSums(NamedTuple):
    """Normalized pre-activations x̂ and 1/σ at ε = 0; equal numbers give 0. Without division, 1/σ is 1."""

    xhat: np.ndarray
    inverse: np.ndarray


def find_averaged_axes(scheme: str) -> tuple[int, ...]:
    """Return the axes of an array (…, N, C) over which the scheme averages squares; () if it does not divide."""
    field = SCHEMES[scheme].suppression
    return () if field is None else tuple(axis for axis, at in ((-2, 0), (-1, 3)) if field.rules[at].kind == "full")


def normalize_sums(a: np.ndarray, scheme: str) -> NormalizedSums:
    """Return x̂ = v / √E[v²] and 1/σ of pre-activations a (…, N, C); v = a − E[a], or a if not centred."""
    axes = find_averaged_axes(scheme)
    if not axes:
        return NormalizedSums(a, np.ones(1))
    v = a - a.mean(axes, keepdims=True) if SCHEMES[scheme].summation is not None else a
    root = np.sqrt(np.square(v).mean(axes, keepdims=True))
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    return NormalizedSums(v * inverse, inverse)
