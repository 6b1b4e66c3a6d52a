"""Spectral norm: all weights of a layer divided by the largest singular value of their matrix."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from array_api_compat import array_namespace

from normviz.core.arrays import Array
from normviz.core.fields import Field
from normviz.core.kinds.base import NormalizationResult
from normviz.core.kinds.general import GeneralKind
from normviz.core.reductions import divide_by_divisor, invert_deviation

if TYPE_CHECKING:
    from normviz.core.scheme import Scheme


@dataclass(frozen=True)
class SpectralKind(GeneralKind):
    """Division by the largest singular value."""

    key: ClassVar[str] = "spectral"
    statistic: ClassVar[str] = "largest singular value"
    decomposes: ClassVar[bool] = True
    has_eps: ClassVar[bool] = False
    usual_max: ClassVar[float | None] = None

    def normalize(self, scheme: "Scheme", v: Array, eps: float) -> tuple[Array | None, Array]:
        deviation = compute_spectral_norm(v)
        return deviation, divide_by_divisor(v, deviation)

    def backpropagate(
        self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float
    ) -> tuple[Array, Array | None]:
        return _differentiate_spectral(result.v, g), None

    def compute_diagonal(self, scheme: "Scheme", result: NormalizationResult, kept: Array, eps: float) -> Array:
        u, v, inverse = _find_singular_vectors(result.v)
        return (1 - result.xhat * array_namespace(u).reshape(u * v, result.v.shape)) * inverse

    def find_averaging_fields(self, scheme: "Scheme") -> tuple[Field | None, Field | None]:
        return scheme.summation, None


def compute_spectral_norm(weight: Array) -> Array:
    """Compute the spectral norm of a weight tensor as a (kh·kw·Cin, Cout) matrix, in the shape (..., 1, 1, 1, 1)."""
    xp = array_namespace(weight)
    fan_in, fan_out = int(np.prod(weight.shape[-4:-1])), weight.shape[-1]
    matrix = xp.reshape(weight, (*weight.shape[:-4], fan_in, fan_out))
    # The decomposition raises an error on NaN and Inf; its result is NaN instead, as that of every other statistic.
    finite = xp.isfinite(matrix)
    largest = xp.linalg.svdvals(xp.where(finite, matrix, xp.zeros_like(matrix)))[..., :1]
    all_finite = xp.all(xp.all(finite, axis=-1), axis=-1)[..., None]
    return xp.where(all_finite, largest, xp.full_like(largest, float("nan")))[..., None, None, None]


def _differentiate_spectral(weight: Array, g: Array) -> Array:
    """Compute (G - ⟨G, Ŵ⟩ u vᵀ) / σ₁ for the (kh·kw·Cin, Cout) matrix W, Ŵ = W/σ₁, leading singular vectors u, v."""
    xp = array_namespace(weight)
    u, v, inverse = _find_singular_vectors(weight)
    along = xp.sum(g * (weight * inverse), axis=tuple(range(-4, 0)), keepdims=True)
    return (g - along * xp.reshape(u * v, weight.shape)) * inverse


def _find_singular_vectors(weight: Array) -> tuple[Array, Array, Array]:
    """Compute u (…, fan-in, 1), v (…, 1, Cout) and 1/σ₁ (…, 1, 1, 1, 1) of a weight tensor as a matrix."""
    xp = array_namespace(weight)
    matrix = xp.reshape(weight, (*weight.shape[:-4], -1, weight.shape[-1]))
    finite = xp.isfinite(matrix)
    u, s, v = xp.linalg.svd(xp.where(finite, matrix, xp.zeros_like(matrix)), full_matrices=False)
    known = xp.all(xp.all(finite, axis=-1), axis=-1)[..., None]
    largest = xp.where(known, s[..., :1], xp.full_like(s[..., :1], float("nan")))
    return u[..., :, :1], v[..., :1, :], invert_deviation(largest)[..., None, None, None]


SPECTRAL = SpectralKind()
