"""The Fisher information of a small generalised linear model, with and without normalization.

Every unit i predicts a number y_i: normal with mean z_i and variance 1, or 1 with probability 1/(1+e^-z_i).

    a = W x,   z = γ · normalized(a) + β

KL between the predictions of θ and of θ + δ, a mean over the data, is ½ δᵀ F δ for small δ, with

    F = E_x[ Jᵀ Cov[y|x] J ],   J = ∂z/∂θ

Source: Ba, Kiros & Hinton 2016, section 5.2. The parameters θ are in the order of the paper: w and γ, unit by unit.
"""

from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

import numpy as np

from normviz.core.backward import compute_jacobian
from normviz.core.equality import compute_xhat
from normviz.core.registry import SCHEMES
from normviz.data.digits import load_digits

UNITS, INPUTS, EXAMPLES = 4, 2, 48
PARAMETERS_PER_UNIT = INPUTS + 1
"""Number of parameters of a unit: its weights and its gain."""

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
        """The weights, shape (inputs, units); the vector of each unit has the length `length`."""
        w = np.random.default_rng(self.seed).standard_normal((UNITS, INPUTS))
        return self.length * (w / np.linalg.norm(w, axis=1, keepdims=True)).T


@cache
def load_digit_components() -> np.ndarray:
    """Return the first two principal components of some digits, shape (examples, 2), scaled to mean square 1."""
    images, _ = load_digits()
    x = images.reshape(len(images), -1)
    x = x - x.mean(axis=0)
    _, _, axes = np.linalg.svd(x, full_matrices=False)
    chosen = x[:EXAMPLES] @ axes[:INPUTS].T
    return chosen / np.sqrt(np.mean(chosen[:, 0] ** 2))


def compute_unit_xhat(key: str, x: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return x̂ (examples, units) with the scheme `key` at ε = 0, from x (examples, inputs) and w (inputs, units)."""
    scheme = SCHEMES[key]
    if scheme.activation_part is None:
        return x @ compute_xhat(w[None, None], scheme, 0.0)[0, 0]
    return compute_xhat((x @ w)[:, None, None], scheme, 0.0)[:, 0, 0]


def compute_output_jacobian(key: str, x: np.ndarray, w: np.ndarray, gain: float) -> np.ndarray:
    """Return ∂z/∂θ with the scheme `key`, shape (examples, units of z, units of θ, `PARAMETERS_PER_UNIT`)."""
    scheme = SCHEMES[key]
    eps = None if scheme.eps is None else 0.0
    if scheme.activation_part is None:
        inner = compute_jacobian(w[None, None], scheme, eps).reshape(*w.shape, *w.shape)
        by_weight = np.einsum("ne,eidj->nijd", x, inner)
    else:
        a = x @ w
        inner = compute_jacobian(a[:, None, None], scheme, eps).reshape(*a.shape, *a.shape)
        by_weight = np.einsum("nimj,md->nijd", inner, x)
    by_gain = compute_unit_xhat(key, x, w)[:, :, None] * np.eye(w.shape[1])
    return np.concatenate([gain * by_weight, by_gain[..., None]], axis=-1)


def compute_output_variance(outputs: str, z: np.ndarray) -> np.ndarray:
    """Return Var[y|x] for outputs z: 1 for "normal" `outputs`, p(1 − p) for Bernoulli ones."""
    if outputs == "normal":
        return np.ones_like(z)
    return np.exp(-np.logaddexp(0, z) - np.logaddexp(0, -z))


def compute_fisher_information(key: str, model: FisherModel) -> np.ndarray:
    """Return the Fisher matrix F of a model with the scheme `key`, shape (parameters, parameters), unit by unit."""
    x, w = model.x, model.w
    j = compute_output_jacobian(key, x, w, model.gain).reshape(len(x), UNITS, -1)
    variance = compute_output_variance(model.outputs, model.gain * compute_unit_xhat(key, x, w))
    return np.einsum("nip,ni,niq->pq", j, variance, j) / len(x)


def get_fisher_block(f: np.ndarray, name: str) -> np.ndarray:
    """Return the block of F for one kind of parameter, "w" or "γ", of all units."""
    places = np.arange(len(f)).reshape(UNITS, PARAMETERS_PER_UNIT)
    chosen = (places[:, :INPUTS] if name == "w" else places[:, INPUTS:]).ravel()
    return f[np.ix_(chosen, chosen)]


def compute_scaling_power(key: str, model: FisherModel, block: str, change: str) -> float:
    """Return the power with which the block "w" or "γ" of F grows with `change`: "length", "scale" or "gain"."""
    scaled = replace(model, **{change: SCALING_FACTOR * getattr(model, change)})
    before, after = (
        np.trace(get_fisher_block(compute_fisher_information(key, each), block)) for each in (model, scaled)
    )
    return float(np.log(after / before) / np.log(SCALING_FACTOR))


class GainInformation(NamedTuple):
    """The mean of (y − E[y|x])², and the Fisher information of γ, which is the mean of x̂² (y − E[y|x])²."""

    error: float
    information: float


def compute_gain_information(key: str, model: FisherModel) -> GainInformation:
    """Return squared error and Fisher information of γ with the scheme `key`, both as means over the model's units."""
    z = model.gain * compute_unit_xhat(key, model.x, model.w)
    information = np.trace(get_fisher_block(compute_fisher_information(key, model), "γ")) / UNITS
    return GainInformation(float(compute_output_variance(model.outputs, z).mean()), float(information))
