"""Normalization of summed inputs (…, examples, units) at ε = 0, in few operations.

The same as `normviz.core.normalize` makes of (…, N, 1, 1, C), without its care for very large and very small numbers.
"""

from typing import NamedTuple

import numpy as np

from normviz.core.registry import SCHEMES


class NormalizedSums(NamedTuple):
    """x̂, and 1/σ, with 0 for 1/0: a field of equal numbers becomes 0; 1 where nothing divides."""

    xhat: np.ndarray
    inverse: np.ndarray


def find_averaged_axes(scheme: str) -> tuple[int, ...]:
    """The axes of (…, N, C) that the scheme's statistics run over; none where it does not divide."""
    field = SCHEMES[scheme].suppression
    return () if field is None else tuple(axis for axis, at in ((-2, 0), (-1, 3)) if field.rules[at].kind == "full")


def normalize_sums(a: np.ndarray, scheme: str) -> NormalizedSums:
    """v = a - E[a], or a where the scheme does not centre, and x̂ = v / √E[v²], over what the scheme averages."""
    axes = find_averaged_axes(scheme)
    if not axes:
        return NormalizedSums(a, np.ones(1))
    v = a - a.mean(axes, keepdims=True) if SCHEMES[scheme].summation is not None else a
    root = np.sqrt(np.square(v).mean(axes, keepdims=True))
    inverse = np.divide(1.0, root, out=np.zeros_like(root), where=root > 0)
    return NormalizedSums(v * inverse, inverse)
