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

    First derivatives are those of `divided_differences`; a decomposition's own would divide by the differences of
    eigenvalues, which may be 0.

    Source: Huang et al. 2018, Decorrelated Batch Normalization, Section 3.
    """
    xp = array_namespace(v)
    rows = in_groups(v, groups)
    size, together = rows.shape[-2:]
    finite = xp.all(xp.all(xp.isfinite(rows), axis=-1), axis=-1)[..., None, None]
    rows = xp.where(finite, rows, xp.zeros_like(rows))
    fixed = rows.detach() if hasattr(rows, "detach") else rows
    scale = _scale(fixed, eps)
    left, values, right = xp.linalg.svd(_tall(fixed / scale), full_matrices=False)
    deviation = values / size**0.5
    root = xp.sqrt(deviation**2 + (eps**0.5 / scale[..., 0]) ** 2)
    # Along a single direction nothing is lost beside another: there only 0 is 0.
    least = 0.0 if together == 1 else max(size, together) * float(xp.finfo(v.dtype).eps)
    inverse = inverted(root, least * xp.max(deviation, axis=-1, keepdims=True))
    xhat = ((left * (values * inverse)[..., None, :]) @ right)[..., :size, :]
    vectors = xp.matrix_transpose(right)
    matrix = (vectors * inverse[..., None, :]) @ right
    if fixed is not rows:  # an array that may have a gradient: x̂ as it is, with the derivative of what it should be
        moved = rows / scale
        covariance = xp.matrix_transpose(moved) @ moved / size
        turn = vectors @ (divided_differences(root, inverse) * (right @ covariance @ vectors)) @ right
        change = moved @ matrix + (fixed / scale) @ turn
        xhat = xhat + (change - change.detach())
    xhat, matrix = (xp.where(finite, part, xp.full_like(part, float("nan"))) for part in (xhat, matrix / scale))
    return Whitened(ungrouped(xhat, v.shape), matrix)


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
