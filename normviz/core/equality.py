"""Whether two schemes are the same on a shape: by their fields, and by the largest difference on random tensors."""

from math import prod
from typing import NamedTuple

import numpy as np

from normviz.core.fields import OWN, Field, Shape
from normviz.core.normalize import normalize, quiet
from normviz.core.schemes import DEFAULT_EPS, Scheme
from normviz.core.tolerances import INVARIANT

WORK = 2**22
"""The most numbers that windows may hold together: the tensor is drawn many times over, for many visitors."""

AT_ONCE = 2**18
"""Elements of random tensors that are normalized in one call."""

DRAWS = 256
"""Random tensors for two schemes of one's own, at most; where there are few elements, signs may agree by chance."""


def general_form(x: np.ndarray, scheme: Scheme, eps: float) -> np.ndarray:
    """x̂ by the scheme's fields; ε is left out where the scheme has none."""
    return normalize(x, scheme, 0.0 if scheme.eps is None else eps).xhat


class Difference(NamedTuple):
    """How far two arrays are apart: relative to the largest magnitude, and the element where they are furthest."""

    residual: float
    index: tuple[int, ...]
    left: float
    right: float


@quiet
def distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """|left - right|; NaN and Inf are equal to themselves, and infinitely far from others."""
    alike = (left == right) | (np.isnan(left) & np.isnan(right))
    apart = np.where(alike, 0, np.abs(left - right))
    return np.where(np.isnan(apart), np.inf, apart)


def difference(left: np.ndarray, right: np.ndarray) -> Difference:
    """The largest of `distances` over the largest finite |left| or |right|; 0 for two arrays of zeros."""
    apart = distances(left, right)
    index = tuple(int(i) for i in np.unravel_index(np.argmax(apart), apart.shape))
    magnitudes = np.maximum(np.abs(left), np.abs(right))
    scale = np.max(magnitudes, where=np.isfinite(magnitudes), initial=0)
    gap = float(apart[index])
    return Difference(gap / float(scale) if scale else gap, index, float(left[index]), float(right[index]))


def is_rounding(residual: float, dtype: object = np.float64) -> bool:
    """Whether a residual is no more than rounding, in arrays of this type."""
    return residual <= INVARIANT[np.dtype(dtype).name]


class Comparison(NamedTuple):
    """Two schemes on random tensors.

    same_fields: they share the same elements on this shape. equal: they compute the same on it, as `behaviour` says.
    draws: how many random tensors. worst: where they are furthest apart, in the tensor x, with x̂ left and right.
    """

    same_fields: bool
    equal: bool
    draws: int
    worst: Difference
    x: np.ndarray
    left: np.ndarray
    right: np.ndarray


def compare(left: Scheme, right: Scheme, shape: Shape, eps: float = DEFAULT_EPS, seed: int = 0) -> Comparison:
    """Whether two schemes of activations are equal on a shape: by their fields, and on standard normal tensors.

    Raises:
        InvalidInput: a field that does not fit the shape, or windows that would lay out too many elements.
    """
    for scheme in (left, right):
        scheme.check(shape, WORK)
    cost = max((field.laid_out(shape) for field in (*left.fields, *right.fields)), default=prod(shape))
    draws = max(3, min(DRAWS, AT_ONCE // cost))
    at_once = max(1, min(draws, AT_ONCE // cost))
    rng = np.random.default_rng(seed)
    found = (
        _furthest(left, right, rng.standard_normal((min(at_once, draws - done), *shape)), eps)
        for done in range(0, draws, at_once)
    )
    worst, x, left_xhat, right_xhat = max(found, key=lambda each: each[0].residual)
    return Comparison(
        left.canonical(shape) == right.canonical(shape),
        behaviour(left, shape) == behaviour(right, shape),
        draws,
        worst,
        x,
        left_xhat,
        right_xhat,
    )


def behaviour(scheme: Scheme, shape: Shape) -> tuple:
    """What a scheme computes on this shape, in a form that is equal exactly when x̂ is, for every tensor.

    Beside `Scheme.canonical` there are two cases, both of summation fields that are too small to say much. An
    element that is its own mean leaves v = 0, whatever divides it. And of two elements with one mean, v is the same
    but for its sign, so v² is its own mean over the pair: what divides may share it or not.
    """
    axes, a, b, *rest = scheme.canonical(shape)
    sizes = set() if a is None else set(np.unique(a.sizes(shape)).tolist())
    if sizes == {1}:
        return axes, "zero"
    if sizes == {2} and b is not None:
        b = Field(tuple(pair if rule == OWN else rule for rule, pair in zip(b.rules, a.rules, strict=True)))
    return axes, a, b, *rest


def _furthest(left: Scheme, right: Scheme, z: np.ndarray, eps: float) -> tuple:
    """The largest residual in a stack of tensors, with the tensor that has it and what the two make of that."""
    xhats = (general_form(z, scheme, eps) for scheme in (left, right))
    draws = ((difference(ours, theirs), x, ours, theirs) for x, ours, theirs in zip(z, *xhats, strict=True))
    return max(draws, key=lambda draw: draw[0].residual)
