"""Measurements on random tensors that several checks use."""

import numpy as np

from normviz.core.equality import compare_schemes, compute_xhat, find_largest_difference
from normviz.core.fields import Shape
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme
from normviz.data.samples import sample_uneven
from normviz.topics.same.identities import IDENTITIES, measure_residual

DENSE_SHAPE: Shape = (8, 1, 1, 12)
"""A batch behind a dense layer, (N, 1, 1, C)."""

CONV_SHAPE: Shape = (4, 3, 3, 6)
"""A batch behind a convolution, (N, H, W, C)."""

LAYER_NORM_VARIANTS = {"layer": "H, W, C", "layer-channels": "C", "layer-spatial": "H, W"}
"""The axes of the three variants of layer norm."""


def compute_residual(left: np.ndarray, right: np.ndarray) -> float:
    """Return the largest difference of two arrays, divided by the largest magnitude in both."""
    return find_largest_difference(left, right).residual


def measure_scheme_gap(key: str, other_key: str, shape: Shape, seed: int) -> float:
    """Return the largest difference of two schemes' x̂ on random tensors of a shape."""
    return compare_schemes(SCHEMES[key], SCHEMES[other_key], shape, seed=seed).worst.residual


def measure_identity_gap(key: str, shape: Shape, seed: int) -> float:
    """Return the largest difference of the sides of `IDENTITIES[key]`."""
    return measure_residual(IDENTITIES[key], sample_uneven(shape, seed))


def measure_torch_gap(scheme: Scheme, shape: Shape, eps: float, seed: int) -> float:
    """Return the largest difference of a scheme's x̂ from that of PyTorch's layer."""
    from normviz.train.layer_timing import normalize_with_torch  # here: torch takes seconds, and pages list the checks

    x = sample_uneven(shape, seed)
    return compute_residual(compute_xhat(x, scheme, eps), normalize_with_torch(x, scheme, eps))


def measure_change_shares(scheme: Scheme, shape: Shape, seed: int) -> tuple[float, float]:
    """Return the shares of x̂ that change with one element of x: in the element's example, and in all others."""
    x = sample_uneven(shape, seed)
    changed = x.copy()
    changed[0, 0, 0, 0] += 1
    apart = compute_xhat(x, scheme, DEFAULT_EPS) != compute_xhat(changed, scheme, DEFAULT_EPS)
    return float(np.mean(apart[0])), float(np.mean(apart[1:]))
