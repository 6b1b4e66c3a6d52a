"""Measurements on random tensors that several checks use."""

import numpy as np

from normviz.core.equality import compare_schemes, compute_xhat, find_largest_difference
from normviz.core.fields import Shape
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme
from normviz.data.samples import sample_uneven
from normviz.topics.claims.seeds import list_seeds, repeat_over_seeds
from normviz.topics.same.identities import IDENTITIES, measure_residual

DENSE_SHAPE: Shape = (8, 1, 1, 12)
"""A batch behind a dense layer, (N, 1, 1, C)."""

CONV_SHAPE: Shape = (4, 3, 3, 6)
"""A batch behind a convolution, (N, H, W, C)."""

LAYER_NORM_VARIANTS = {"layer": "H, W, C", "layer-channels": "C", "layer-spatial": "H, W"}
"""The axes of the three variants of layer norm."""


def measure_scheme_gap(key: str, other_key: str, shape: Shape, seed: int) -> tuple[float, ...]:
    """Return the largest difference of two schemes' x̂ on random tensors of a shape, one per seed from `seed` on."""
    return repeat_over_seeds(
        seed, lambda each: compare_schemes(SCHEMES[key], SCHEMES[other_key], shape, seed=each).worst.residual
    )


def measure_identity_gap(key: str, shape: Shape, seed: int) -> tuple[float, ...]:
    """Return the largest difference of the sides of `IDENTITIES[key]`, one per seed from `seed` on."""
    return repeat_over_seeds(seed, lambda each: measure_residual(IDENTITIES[key], sample_uneven(shape, each)))


def measure_torch_gap(scheme: Scheme, shape: Shape, eps: float, seed: int) -> tuple[float, ...]:
    """Return the largest difference of a scheme's x̂ from that of PyTorch's layer, one per seed from `seed` on."""
    from normviz.train.layer_timing import (
        normalize_with_torch,  # imported here: torch takes seconds, and pages list these checks
    )

    def measure(each: int) -> float:
        x = sample_uneven(shape, each)
        return find_largest_difference(compute_xhat(x, scheme, eps), normalize_with_torch(x, scheme, eps)).residual

    return repeat_over_seeds(seed, measure)


def measure_change_shares(scheme: Scheme, shape: Shape, seed: int) -> tuple[float, float]:
    """Return the shares of x̂ that change with one element of x: in the element's example, and in all others."""
    x = sample_uneven(shape, seed)
    changed = x.copy()
    changed[0, 0, 0, 0] += 1
    apart = compute_xhat(x, scheme, DEFAULT_EPS) != compute_xhat(changed, scheme, DEFAULT_EPS)
    return float(np.mean(apart[0])), float(np.mean(apart[1:]))


def measure_change_shares_by_seed(key: str, shape: Shape, seed: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the two results of `measure_change_shares` for the scheme `key`, each with one number per seed."""
    own, others = zip(*(measure_change_shares(SCHEMES[key], shape, each) for each in list_seeds(seed)), strict=True)
    return own, others
