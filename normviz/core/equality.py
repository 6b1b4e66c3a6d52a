"""Comparison of two schemes on a shape: by their fields, and by the largest difference on random tensors."""

from dataclasses import dataclass
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike

from normviz.core.fields import OWN, Field, Index, Shape
from normviz.core.normalize import ignore_float_warnings, normalize
from normviz.core.registry import DEFAULT_EPS, Scheme
from normviz.core.tolerances import INVARIANCE_TOLERANCES

MAX_COMPARED_WINDOW_ELEMENTS = 2**21
"""The most numbers that windows may hold together in a comparison, which normalizes many tensors."""

MAX_BATCH_ELEMENTS = 2**18
"""The most elements of random tensors that are normalized in one call."""

MAX_DRAWS = 256
"""The most random tensors for two schemes; a tensor of few elements needs many, since its signs may agree by chance."""


def compute_xhat(x: np.ndarray, scheme: Scheme, eps: float) -> np.ndarray:
    """Compute x̂ of a scheme, with ε = 0 for a scheme without ε."""
    return normalize(x, scheme, 0.0 if scheme.eps is None else eps).xhat


@dataclass(frozen=True)
class ArrayDifference:
    """The largest difference of two arrays, relative to their largest magnitude, and the element where it occurs."""

    residual: float
    index: Index
    left: float
    right: float


@ignore_float_warnings
def compute_distances(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Compute |left - right| element by element; 0 for two NaN or two equal infinities, else infinite if not finite."""
    alike = (left == right) | (np.isnan(left) & np.isnan(right))
    apart = np.where(alike, 0, np.abs(left - right))
    return np.where(np.isnan(apart), np.inf, apart)


def find_largest_difference(left: np.ndarray, right: np.ndarray) -> ArrayDifference:
    """Return the largest of `compute_distances`, relative to the largest finite magnitude in both arrays."""
    apart = compute_distances(left, right)
    index = tuple(int(i) for i in np.unravel_index(np.argmax(apart), apart.shape))
    magnitudes = np.maximum(np.abs(left), np.abs(right))
    scale = np.max(magnitudes, where=np.isfinite(magnitudes), initial=0)
    gap = float(apart[index])
    return ArrayDifference(gap / float(scale) if scale else gap, index, float(left[index]), float(right[index]))


def is_within_rounding(residual: float, dtype: DTypeLike = np.float64) -> bool:
    """Return True if a relative difference is no more than rounding explains in arrays of this type."""
    return residual <= INVARIANCE_TOLERANCES[np.dtype(dtype).name]


class SchemeComparison(NamedTuple):
    """Two schemes compared on random tensors.

    Attributes:
        same_fields: True if their fields are the same on this shape.
        equal: True if they compute the same on it, by `compute_behaviour_key`.
        draws: number of random tensors.
        worst: the largest difference in x̂ over all of them.
        x, left, right: the tensor with that difference, and x̂ by both schemes.
    """

    same_fields: bool
    equal: bool
    draws: int
    worst: ArrayDifference
    x: np.ndarray
    left: np.ndarray
    right: np.ndarray


def compare_schemes(
    left: Scheme, right: Scheme, shape: Shape, eps: float = DEFAULT_EPS, seed: int = 0
) -> SchemeComparison:
    """Return a `SchemeComparison`: whether fields and x̂ of two schemes of activations are equal, on normal tensors.

    Raises:
        InvalidInput: a field that does not fit the shape, or windows that would lay out too many elements.
    """
    for scheme in (left, right):
        scheme.check(shape, MAX_COMPARED_WINDOW_ELEMENTS)
    cost = max((field.count_window_elements(shape) for field in (*left.fields, *right.fields)), default=prod(shape))
    draws = max(3, min(MAX_DRAWS, MAX_BATCH_ELEMENTS // cost))
    at_once = max(1, min(draws, MAX_BATCH_ELEMENTS // cost))
    rng = np.random.default_rng(seed)
    found = (
        _find_largest_difference(left, right, rng.standard_normal((min(at_once, draws - done), *shape)), eps)
        for done in range(0, draws, at_once)
    )
    worst, x, left_xhat, right_xhat = max(found, key=lambda each: each[0].residual)
    return SchemeComparison(
        left.compute_canonical_key(shape) == right.compute_canonical_key(shape),
        compute_behaviour_key(left, shape) == compute_behaviour_key(right, shape),
        draws,
        worst,
        x,
        left_xhat,
        right_xhat,
    )


def compute_behaviour_key(scheme: Scheme, shape: Shape) -> tuple[Any, ...]:
    """Return a key that is equal for two schemes exactly if they compute the same x̂ for every tensor of a shape.

    It is `Scheme.compute_canonical_key` except for two cases of small summation fields. In a field of one element,
    v = 0 and the divisor does not matter. In a field of two elements v differs only in its sign, so v² is the same for
    both, and the suppression field may hold one of them or the pair.
    """
    axes, a, b, *rest = scheme.compute_canonical_key(shape)
    sizes = set() if a is None else set(np.unique(a.compute_sizes(shape)).tolist())
    if sizes == {1}:
        return axes, "zero"
    if sizes == {2} and b is not None:
        b = Field(tuple(pair if rule == OWN else rule for rule, pair in zip(b.rules, a.rules, strict=True)))
    return axes, a, b, *rest


def _find_largest_difference(
    left: Scheme, right: Scheme, stack: np.ndarray, eps: float
) -> tuple[ArrayDifference, np.ndarray, np.ndarray, np.ndarray]:
    """Normalize a stack of tensors by both schemes; return the largest difference of x̂, its tensor and both x̂."""
    xhats = (compute_xhat(stack, scheme, eps) for scheme in (left, right))
    draws = (
        (find_largest_difference(ours, theirs), x, ours, theirs) for x, ours, theirs in zip(stack, *xhats, strict=True)
    )
    return max(draws, key=lambda draw: draw[0].residual)
