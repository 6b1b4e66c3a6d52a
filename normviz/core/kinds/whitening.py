"""Whitening: v of every group of channels times the inverse root of their covariance matrix (ZCA), for any array API.

    Σ = E[v vᵀ] of a group's channels, over all examples and positions;   x̂ = (Σ + εI)^(-1/2) v

In the basis of Σ's eigenvectors it is batch norm: every direction is divided by its own standard deviation. These and
the eigenvectors come from the singular values of v, never from Σ, whose squares would cost half of the digits. A
direction whose deviation is rounding gives 0 at ε = 0, as 0/0 does in the general form: the inverse root is that of the
pseudo-inverse. There are such directions wherever a group has at least as many channels as there are vectors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np
from array_api_compat import array_namespace

from normviz.core.arrays import Array, get_device
from normviz.core.errors import InvalidInput
from normviz.core.fields import CHANNEL_FIELD, FULL, MAX_WINDOW_ELEMENTS, Field, Index, Shape
from normviz.core.kinds.base import Kind, NormalizationResult
from normviz.core.kinds.general import GENERAL
from normviz.core.reductions import broadcast_statistic

if TYPE_CHECKING:
    from normviz.core.scheme import Scheme

MAX_GROUP_CHANNELS = 4096
"""The most channels of a group for a derivative, which takes matrices over them: 128 MiB each in float64."""


@dataclass(frozen=True)
class WhiteningKind(Kind):
    """Multiplication of every group of channels by the inverse root of their covariance matrix."""

    key: ClassVar[str] = "whitening"
    statistic: ClassVar[str] = "covariance matrix"
    decomposes: ClassVar[bool] = True

    def normalize(self, scheme: "Scheme", v: Array, eps: float) -> tuple[Array | None, Array]:
        return None, whiten(v, scheme.count_covariances(v.shape[-4:]), eps)

    def backpropagate(
        self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float
    ) -> tuple[Array, Array | None]:
        return backpropagate_whitening(result.v, g, scheme.count_covariances(result.v.shape[-4:]), eps)

    def compute_diagonal(self, scheme: "Scheme", result: NormalizationResult, kept: Array, eps: float) -> Array:
        return compute_whitening_diagonal(result.v, scheme.count_covariances(result.v.shape[-4:]), eps)

    def compute_steepest_slope(self, scheme: "Scheme", result: NormalizationResult, eps: float) -> Array:
        slope = compute_steepest_slope(result.v, scheme.count_covariances(result.v.shape[-4:]), eps)
        return broadcast_statistic(slope, result.v.shape)

    def backpropagate_frozen(self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float) -> Array:
        return apply_inverse_root(g, result.v, scheme.count_covariances(result.v.shape[-4:]), eps)

    def list_element_parts(
        self, scheme: "Scheme", result: NormalizationResult, index: Index
    ) -> list[tuple[float, float, float]]:
        """Return (v, divisor, x̂) of the part of an element along each eigenvector of Σ."""
        position = int(np.ravel_multi_index(index[:-1], result.v.shape[:-1]))
        parts, roots = project_on_eigenvectors(result.v, scheme.count_covariances(result.v.shape), position, index[-1])
        each = zip(parts.tolist(), roots.tolist(), strict=True)
        return [(part, root, part / root if root else 0.0) for part, root in each]

    def check(self, scheme: "Scheme", shape: Shape, max_elements: int = MAX_WINDOW_ELEMENTS) -> None:
        super().check(scheme, shape, max_elements)
        rules = () if scheme.suppression is None else scheme.suppression.rules
        if scheme.summation != CHANNEL_FIELD or rules[:3] != (FULL,) * 3 or rules[3].kind == "window":
            raise InvalidInput(f"{scheme.name} is over N, H and W and within groups of C; it has no other fields.")

    def simplify(self, summation: Field | None, suppression: Field | None) -> Kind:
        return GENERAL if summation == suppression else self

    def count_covariances(self, scheme: "Scheme", shape: Shape) -> int:
        return 0 if scheme.suppression is None else scheme.suppression.rules[-1].count_statistics(shape[-1])

    def count_terms(self, scheme: "Scheme", shape: Shape) -> int:
        return shape[-1] // self.count_covariances(scheme, shape)

    def compute_divisor_shape(self, scheme: "Scheme", shape: Shape) -> tuple[int, ...]:
        groups = self.count_covariances(scheme, shape)
        return groups, shape[-1] // groups, shape[-1] // groups

    def list_dependence_fields(self, scheme: "Scheme") -> tuple[Field, ...]:
        return scheme.fields[-1:]

    def find_divisor_field(self, scheme: "Scheme") -> Field:
        return scheme.fields[0]


WHITENING = WhiteningKind()


def whiten(v: Array, groups: int, eps: float) -> Array:
    """Compute x̂ = (Σ + εI)^(-1/2) v of the centred (…, N, H, W, C); a group with a non-finite number is NaN.

    First derivatives are those of `backpropagate_whitening`; the derivative of the decomposition itself would divide by
    differences of eigenvalues, which may be 0.

    Source: Huang et al. 2018, Decorrelated Batch Normalization, Section 3.
    """
    if getattr(v, "requires_grad", False):
        return _whiten_differentiably(v, groups, eps)
    known = _decompose(v, groups, eps)
    xhat = known.unit @ array_namespace(v).matrix_transpose(known.vectors)
    return merge_groups(known.mask_nonfinite(xhat), v.shape)


def compute_inverse_root(v: Array, groups: int, eps: float, columns: Sequence[int] | None = None) -> Array:
    """Compute (Σ + εI)^(-1/2) of every group of channels, (…, groups, D, D), or some of its columns."""
    xp = array_namespace(v)
    known, size = _decompose(v, groups, eps), v.shape[-1] // groups
    chosen = xp.asarray(range(size) if columns is None else columns, device=get_device(v))
    right = xp.matrix_transpose(xp.take(known.vectors, chosen, axis=-2))
    matrix = (known.vectors * (known.inverse - known.rest)[..., None, :]) @ right
    on_diagonal = xp.astype(xp.arange(size, device=get_device(v))[:, None] == chosen, v.dtype)
    return known.mask_nonfinite((matrix + known.rest[..., None] * on_diagonal) / known.scale)


def apply_inverse_root(x: Array, v: Array, groups: int, eps: float) -> Array:
    """Compute (Σ + εI)^(-1/2) x, with the covariances Σ of v; x and v are (…, N, H, W, C)."""
    known = _decompose(v, groups, eps, all_directions=True)
    right = array_namespace(v).matrix_transpose(known.vectors)
    inverse = known.inverse / known.scale[..., 0]
    return merge_groups(
        known.mask_nonfinite((split_into_groups(x, groups) @ known.vectors) * inverse[..., None, :] @ right), x.shape
    )


def compute_steepest_slope(v: Array, groups: int, eps: float) -> Array:
    """Compute the largest 1/√(λ + ε) of every group, (…, 1, 1, 1, groups): the largest slope of x̂ in v."""
    xp = array_namespace(v)
    known = _decompose(v, groups, eps)
    largest = xp.max(known.mask_nonfinite(known.inverse[..., None, :] / known.scale), axis=-1)
    return largest[..., 0][..., None, None, None, :]


def project_on_eigenvectors(v: Array, groups: int, position: int, channel: int) -> tuple[Array, Array]:
    """Split one element of v into its parts along the eigenvectors of Σ; return them and the deviations along them.

    The parts sum to the element of `channel` at `position`, counted among the M vectors of all examples and positions.
    Deviations that are rounding are 0.
    """
    xp = array_namespace(v)
    known, (group, row) = _decompose(v, groups, 0.0), divmod(channel, v.shape[-1] // groups)
    vectors, scale = known.vectors[group, ...], known.scale[group, 0, :]
    parts = (known.rows[group, position, :] @ vectors) * vectors[row, :] * scale
    root, inverse = known.root[group, :], known.inverse[group, :]
    return parts, xp.where(inverse > 0, root, xp.zeros_like(root)) * scale


def backpropagate_whitening(v: Array, g: Array, groups: int, eps: float) -> tuple[Array, Array]:
    """Compute ∂L/∂v and ∂L/∂ε from g = ∂L/∂x̂; g is (…, N, H, W, C) as v is, or a stack of such arrays.

        ∂L/∂v = g W + (2/M) v · Q (K ∘ Qᵀ S Q) Qᵀ,   ∂L/∂ε = -½ Σ_k (Qᵀ S Q)_kk / √(λ_k + ε)³

    for M vectors in the rows of v and g, W = (Σ + εI)^(-1/2), the eigenvectors Q and eigenvalues λ of Σ,
    K of `compute_divided_differences`, and S = ½ (vᵀg + gᵀv).
    """
    xp = array_namespace(v)
    known, rows = _decompose(v, groups, eps, all_directions=True), split_into_groups(g, groups)
    right, size = xp.matrix_transpose(known.vectors), rows.shape[-2]
    product = xp.matrix_transpose(known.rows) @ rows
    turned = right @ ((product + xp.matrix_transpose(product)) / 2) @ known.vectors
    by_covariance = known.vectors @ (known.slopes * turned) @ right
    dv = (rows @ known.vectors) * known.inverse[..., None, :] @ right + known.rows @ by_covariance * (2 / size)
    squares = known.inverse * (known.inverse / known.scale[..., 0]) ** 2
    deps = -xp.sum(xp.linalg.diagonal(turned) * squares, axis=-1) / 2
    deps = xp.where(known.finite[..., 0, 0], deps, xp.full_like(deps, float("nan")))
    return merge_groups(known.mask_nonfinite(dv / known.scale), g.shape), xp.sum(deps, axis=-1)


def compute_whitening_diagonal(v: Array, groups: int, eps: float) -> Array:
    """Compute ∂x̂_i/∂x_i of every element, in the shape of v.

    (1 - 1/M) W_cc + Σ_ij (p_i q_i K_ij p_j q_j + p_i² K_ij q_j²) / M for channel c of a vector v_m, in the basis of
    `backpropagate_whitening`: p = Qᵀ v_m, q = Qᵀ e_c.
    """
    xp = array_namespace(v)
    known = _decompose(v, groups, eps, all_directions=True)
    size, vectors, turned = known.rows.shape[-2], known.vectors, known.rows @ known.vectors
    both = turned[..., :, None, :] * vectors[..., None, :, :]
    through = xp.sum(both @ known.slopes[..., None, :, :] * both, axis=-1)
    through = through + turned**2 @ known.slopes @ xp.matrix_transpose(vectors**2)
    own = xp.sum(vectors**2 * known.inverse[..., None, :], axis=-1)[..., None, :]
    return merge_groups(known.mask_nonfinite((own * (1 - 1 / size) + through / size) / known.scale), v.shape)


def split_into_groups(x: Array, groups: int) -> Array:
    """Reshape (…, N, H, W, C) to (…, groups, N·H·W, C/groups): the vectors of each group at all positions."""
    xp = array_namespace(x)
    return _swap_groups_and_rows(xp.reshape(x, (*x.shape[:-4], prod(x.shape[-4:-1]), groups, -1)))


def merge_groups(rows: Array, shape: tuple[int, ...]) -> Array:
    """Reshape the result of `split_into_groups` back to `shape`."""
    xp = array_namespace(rows)
    return xp.reshape(_swap_groups_and_rows(rows), shape)


def _swap_groups_and_rows(x: Array) -> Array:
    """Exchange the third and the second axis from the end; torch.vmap has no rule for `moveaxis`."""
    front = range(x.ndim - 3)
    return array_namespace(x).permute_dims(x, (*front, x.ndim - 2, x.ndim - 3, x.ndim - 1))


def invert_above(root: Array, threshold: Array) -> Array:
    """Compute 1 / root, and 0 where a root is not above the threshold."""
    xp = array_namespace(root)
    kept = root > threshold
    return xp.where(kept, 1 / xp.where(kept, root, xp.ones_like(root)), xp.zeros_like(root))


def compute_divided_differences(root: Array, inverse: Array) -> Array:
    """Compute the divided differences of f(λ) = 1/√λ, (…, D, D), from the roots √λ and their `inverse`.

    (f(λᵢ) - f(λⱼ)) / (λᵢ - λⱼ) for roots √λ and their inverses by `invert_above`, written without a difference that may
    be 0: -1 / (√λᵢ √λⱼ (√λᵢ + √λⱼ)). f(0) = 0 for a direction that is left out, beside one that is not; pairs of such
    directions change nothing.

    Source: Daleckii & Krein 1965; Higham 2008, Functions of Matrices, Theorem 3.11.
    """
    xp = array_namespace(root)
    a, b = inverse[..., :, None], inverse[..., None, :]
    total = root[..., :, None] + root[..., None, :]
    both = (a > 0) & (b > 0)
    return xp.where(both, -a * b / xp.where(both, total, xp.ones_like(total)), (a + b) ** 3)


class _Decomposition(NamedTuple):
    """Singular value decomposition of every channel group of v / `scale`, (M, D); K = min(M, D) or D directions.

    Attributes:
        rows: (…, groups, M, D), zeros in groups that are not `finite`.
        unit: x̂ in the basis of the eigenvectors, (…, groups, M, K).
        vectors: Q, (…, groups, D, K).
        root, inverse: √(λ + ε) and its inverse by `invert_above`, (…, groups, K).
        rest: the inverse of the directions that are left out, (…, groups, 1).
        scale, finite: (…, groups, 1, 1).
    """

    rows: Array
    unit: Array
    vectors: Array
    root: Array
    inverse: Array
    rest: Array
    scale: Array
    finite: Array

    @property
    def slopes(self) -> Array:
        """The divided differences of f(λ) = 1/√λ at the eigenvalues, (…, groups, K, K)."""
        return compute_divided_differences(self.root, self.inverse)

    def mask_nonfinite(self, x: Array) -> Array:
        """Replace x by NaN in groups with a non-finite number."""
        xp = array_namespace(x)
        return xp.where(self.finite, x, xp.full_like(x, float("nan")))


def _decompose(v: Array, groups: int, eps: float, all_directions: bool = False) -> _Decomposition:
    """Return singular values and vectors of each channel group; `all_directions`: even if there are fewer rows."""
    xp = array_namespace(v)
    rows = split_into_groups(v.detach() if hasattr(v, "detach") else v, groups)
    size, together = rows.shape[-2:]
    finite = xp.all(xp.all(xp.isfinite(rows), axis=-1), axis=-1)[..., None, None]
    rows = xp.where(finite, rows, xp.zeros_like(rows))
    scale = _find_scale(rows, eps)
    rows = rows / scale
    left, values, right = xp.linalg.svd(_pad_with_zero_rows(rows) if all_directions else rows, full_matrices=False)
    deviation, epsilon = values / size**0.5, eps**0.5 / scale[..., 0]
    root = xp.sqrt(deviation**2 + epsilon**2)
    # Along a single direction nothing is lost beside another: there only 0 is 0.
    least = 0.0 if together == 1 else max(size, together) * float(xp.finfo(v.dtype).eps)
    least = least * xp.max(deviation, axis=-1, keepdims=True)
    inverse, rest = invert_above(root, least), invert_above(epsilon, least)
    unit = (left * (values * inverse)[..., None, :])[..., :size, :]
    return _Decomposition(rows, unit, xp.matrix_transpose(right), root, inverse, rest, scale, finite)


def _whiten_differentiably(v: Array, groups: int, eps: float) -> Array:
    """Compute x̂ of a torch tensor so that autograd differentiates it by the formula of the derivative."""
    xp = array_namespace(v)
    known = _decompose(v, groups, eps, all_directions=True)
    right = xp.matrix_transpose(known.vectors)
    rows = xp.where(known.finite, split_into_groups(v, groups), xp.zeros_like(known.rows)) / known.scale
    covariance = xp.matrix_transpose(rows) @ rows / rows.shape[-2]
    slope = known.vectors @ (known.slopes * (right @ covariance @ known.vectors)) @ right
    change = (rows @ known.vectors) * known.inverse[..., None, :] @ right + known.rows @ slope
    xhat = known.unit @ right + (change - change.detach())
    return merge_groups(known.mask_nonfinite(xhat), v.shape)


def _pad_with_zero_rows(rows: Array) -> Array:
    """Append rows of zeros to (…, M, D) until M ≥ D, so that the decomposition has all D singular vectors."""
    xp = array_namespace(rows)
    size, together = rows.shape[-2:]
    if together > MAX_GROUP_CHANNELS:
        raise InvalidInput(
            f"whitening of {together:,} channels together is not derived; up to {MAX_GROUP_CHANNELS:,} are."
        )
    below = xp.zeros((*rows.shape[:-2], max(together - size, 0), together), dtype=rows.dtype, device=get_device(rows))
    return xp.concat([rows, below], axis=-2)


def _find_scale(rows: Array, eps: float) -> Array:
    """Return a power of two near the largest magnitude of every group, so that no square overflows or vanishes."""
    xp = array_namespace(rows)
    finfo = xp.finfo(rows.dtype)
    least, most = max(eps**0.5, float(finfo.smallest_normal)), float(finfo.max) / 2
    largest = xp.clip(xp.max(xp.max(xp.abs(rows), axis=-1), axis=-1), least, most)[..., None, None]
    return xp.asarray(2.0, dtype=rows.dtype, device=get_device(rows)) ** xp.floor(xp.log2(largest))
