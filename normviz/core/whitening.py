"""Whitening: v of every group of channels times the inverse root of their covariance matrix (ZCA), for any array API.

    Σ = E[v vᵀ] of a group's channels, over all examples and positions;   x̂ = (Σ + εI)^(-1/2) v

In the basis of Σ's eigenvectors it is batch norm: every direction is divided by its own standard deviation. These and
the eigenvectors come from the singular values of v, never from Σ, whose squares would cost half of the digits. A
direction whose deviation is rounding gives 0 at ε = 0, as 0/0 does in the general form: the inverse root is that of the
pseudo-inverse. There are such directions wherever a group has at least as many channels as there are vectors.
"""

from math import prod
from typing import NamedTuple

from array_api_compat import array_namespace

from normviz.core.arrays import Array


class Whitened(NamedTuple):
    """x̂ in the shape of v, and (Σ + εI)^(-1/2) of every group, (…, groups, C/groups, C/groups)."""

    xhat: Array
    matrix: Array


def whiten(v: Array, groups: int, eps: float) -> Whitened:
    """x̂ = (Σ + εI)^(-1/2) v of the centred (…, N, H, W, C); a group with a number that is not finite is NaN.

    First derivatives are those of `whitened_backward`; a decomposition's own would divide by the differences of
    eigenvalues, which may be 0.

    Source: Huang et al. 2018, Decorrelated Batch Normalization, Section 3.
    """
    xp = array_namespace(v)
    known = _decomposed(v, groups, eps)
    right = xp.matrix_transpose(known.vectors)
    xhat, matrix = known.unit @ right, (known.vectors * known.inverse[..., None, :]) @ right
    if known.fixed is not known.rows:  # an array that may have a gradient: it gets that of what x̂ should be
        slope = known.vectors @ (known.slopes * (right @ _covariance(known.rows) @ known.vectors)) @ right
        change = known.rows @ matrix + known.fixed @ slope
        xhat = xhat + (change - change.detach())
    return Whitened(ungrouped(known.where_finite(xhat), v.shape), known.where_finite(matrix / known.scale))


def whitened_backward(v: Array, g: Array, groups: int, eps: float) -> tuple[Array, Array]:
    """∂l/∂v and ∂l/∂ε from g = ∂l/∂x̂; g is (…, N, H, W, C) as v is, or a stack of such.

        ∂l/∂v = g W + (2/M) v · Q (K ∘ Qᵀ S Q) Qᵀ,   ∂l/∂ε = -½ Σ_k (Qᵀ S Q)_kk / √(λ_k + ε)³

    for M vectors in the rows of v and g, W = (Σ + εI)^(-1/2), the eigenvectors Q and eigenvalues λ of Σ, the
    `divided_differences` K, and S = ½ (vᵀg + gᵀv).
    """
    xp = array_namespace(v)
    known, rows = _decomposed(v, groups, eps), in_groups(g, groups)
    right, size = xp.matrix_transpose(known.vectors), rows.shape[-2]
    product = xp.matrix_transpose(known.fixed) @ rows
    turned = right @ ((product + xp.matrix_transpose(product)) / 2) @ known.vectors
    by_covariance = known.vectors @ (known.slopes * turned) @ right
    dv = (rows @ known.vectors) * known.inverse[..., None, :] @ right + known.fixed @ by_covariance * (2 / size)
    squares = known.inverse * (known.inverse / known.scale[..., 0]) ** 2
    deps = -xp.sum(xp.linalg.diagonal(turned) * squares, axis=-1) / 2
    deps = xp.where(known.finite[..., 0, 0], deps, xp.full_like(deps, float("nan")))
    return ungrouped(known.where_finite(dv / known.scale), g.shape), xp.sum(deps, axis=-1)


def whitened_diagonal(v: Array, groups: int, eps: float) -> Array:
    """∂x̂_i/∂x_i of every element alone, in the shape of v.

    (1 - 1/M) W_cc + Σ_ij (p_i q_i K_ij p_j q_j + p_i² K_ij q_j²) / M for channel c of a vector v_m, in the basis of
    `whitened_backward`: p = Qᵀ v_m, q = Qᵀ e_c.
    """
    xp = array_namespace(v)
    known = _decomposed(v, groups, eps)
    size, vectors, turned = known.fixed.shape[-2], known.vectors, known.fixed @ known.vectors
    both = turned[..., :, None, :] * vectors[..., None, :, :]
    through = xp.sum(both @ known.slopes[..., None, :, :] * both, axis=-1)
    through = through + turned**2 @ known.slopes @ xp.matrix_transpose(vectors**2)
    own = xp.sum(vectors**2 * known.inverse[..., None, :], axis=-1)[..., None, :]
    return ungrouped(known.where_finite((own * (1 - 1 / size) + through / size) / known.scale), v.shape)


def in_groups(x: Array, groups: int) -> Array:
    """(…, N, H, W, C) as (…, groups, N·H·W, C/groups): of every group the vectors of all examples and positions."""
    xp = array_namespace(x)
    return xp.moveaxis(xp.reshape(x, (*x.shape[:-4], prod(x.shape[-4:-1]), groups, -1)), -2, -3)


def ungrouped(rows: Array, shape: tuple[int, ...]) -> Array:
    """What `in_groups` has laid out, in its shape."""
    xp = array_namespace(rows)
    return xp.reshape(xp.moveaxis(rows, -3, -2), shape)


def inverted(root: Array, least: Array) -> Array:
    """1 / root, and 0 of a root that is not above the least."""
    xp = array_namespace(root)
    kept = root > least
    return xp.where(kept, 1 / xp.where(kept, root, xp.ones_like(root)), xp.zeros_like(root))


def divided_differences(root: Array, inverse: Array) -> Array:
    """How the inverse root of a symmetric matrix changes with it, in the basis of its eigenvectors: (…, D, D).

    (f(λᵢ) - f(λⱼ)) / (λᵢ - λⱼ) of f(λ) = 1/√λ, for roots √λ and what `inverted` makes of them: without a difference
    that may be 0 it is -1 / (√λᵢ √λⱼ (√λᵢ + √λⱼ)). Of a direction that is left out f(0) = 0, beside one that is not;
    among themselves they change nothing.

    Source: Daleckii & Krein 1965; Higham 2008, Functions of Matrices, Theorem 3.11.
    """
    xp = array_namespace(root)
    a, b = inverse[..., :, None], inverse[..., None, :]
    total = root[..., :, None] + root[..., None, :]
    both = (a > 0) & (b > 0)
    return xp.where(both, -a * b / xp.where(both, total, xp.ones_like(total)), (a + b) ** 3)


class _Decomposed(NamedTuple):
    """v in groups, over `scale`, and its decomposition.

    Attributes:
        rows, fixed: (…, groups, M, D), zeros in groups that are not `finite`; `fixed` without a gradient.
        unit: v Q over the roots, (…, groups, M, D): x̂ in the basis of the eigenvectors.
        vectors: Q, (…, groups, D, D).
        root, inverse: √(λ + ε) and what `inverted` makes of it, (…, groups, D).
        slopes: `divided_differences`.
        scale, finite: (…, groups, 1, 1).
    """

    rows: Array
    fixed: Array
    unit: Array
    vectors: Array
    root: Array
    inverse: Array
    slopes: Array
    scale: Array
    finite: Array

    def where_finite(self, x: Array) -> Array:
        """x, and NaN in groups with a number that is not finite."""
        xp = array_namespace(x)
        return xp.where(self.finite, x, xp.full_like(x, float("nan")))


def _decomposed(v: Array, groups: int, eps: float) -> _Decomposed:
    xp = array_namespace(v)
    rows = in_groups(v, groups)
    size, together = rows.shape[-2:]
    finite = xp.all(xp.all(xp.isfinite(rows), axis=-1), axis=-1)[..., None, None]
    rows = xp.where(finite, rows, xp.zeros_like(rows))
    scale = _scale(rows.detach() if hasattr(rows, "detach") else rows, eps)
    rows = rows / scale
    fixed = rows.detach() if hasattr(rows, "detach") else rows
    left, values, right = xp.linalg.svd(_tall(fixed), full_matrices=False)
    deviation = values / size**0.5
    root = xp.sqrt(deviation**2 + (eps**0.5 / scale[..., 0]) ** 2)
    # Along a single direction nothing is lost beside another: there only 0 is 0.
    least = 0.0 if together == 1 else max(size, together) * float(xp.finfo(v.dtype).eps)
    inverse = inverted(root, least * xp.max(deviation, axis=-1, keepdims=True))
    unit = (left * (values * inverse)[..., None, :])[..., :size, :]
    vectors = xp.matrix_transpose(right)
    slopes = divided_differences(root, inverse)
    return _Decomposed(rows, fixed, unit, vectors, root, inverse, slopes, scale, finite)


def _covariance(rows: Array) -> Array:
    return array_namespace(rows).matrix_transpose(rows) @ rows / rows.shape[-2]


def _tall(rows: Array) -> Array:
    """Rows of zeros below, so that there is a singular vector for every direction."""
    xp = array_namespace(rows)
    lacking = max(rows.shape[-1] - rows.shape[-2], 0)
    below = xp.zeros((*rows.shape[:-2], lacking, rows.shape[-1]), dtype=rows.dtype, device=rows.device)
    return xp.concat([rows, below], axis=-2) if lacking else rows


def _scale(rows: Array, eps: float) -> Array:
    """A power of two near the largest magnitude of every group, so that no square overflows or vanishes."""
    xp = array_namespace(rows)
    finfo = xp.finfo(rows.dtype)
    least, most = max(eps**0.5, float(finfo.smallest_normal)), float(finfo.max) / 2
    largest = xp.clip(xp.max(xp.max(xp.abs(rows), axis=-1), axis=-1), least, most)[..., None, None]
    return xp.asarray(2.0, dtype=rows.dtype, device=rows.device) ** xp.floor(xp.log2(largest))
