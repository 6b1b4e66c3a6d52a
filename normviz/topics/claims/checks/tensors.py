"""What the checks of layer, instance and group norm measure on tensors that are drawn by seed."""

import numpy as np

from normviz.core.equality import compare_schemes, compute_xhat, find_largest_difference
from normviz.core.fields import Shape
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme
from normviz.data.samples import sample_uneven
from normviz.topics.claims.claim import over, seeds_from
from normviz.topics.same.identities import IDENTITIES, measure_residual

DENSE: Shape = (8, 1, 1, 12)
"""A batch behind a dense layer, (N, 1, 1, C)."""

CONV: Shape = (4, 3, 3, 6)
"""A batch behind a convolution, (N, H, W, C)."""

READINGS = {"layer": "H, W, C", "layer-channels": "C", "layer-spatial": "H, W"}
"""The three normalizations that are called layer norm, and what each is over."""


def between(key: str, other: str, shape: Shape, seed: int) -> tuple[float, ...]:
    """The largest difference of two schemes' x̂ on random tensors, over seeds."""
    return over(seed, lambda each: compare_schemes(SCHEMES[key], SCHEMES[other], shape, seed=each).worst.residual)


def of_identity(key: str, shape: Shape, seed: int) -> tuple[float, ...]:
    """The largest difference of the two sides of a row on the identities page, over seeds."""
    return over(seed, lambda each: measure_residual(IDENTITIES[key], sample_uneven(shape, each)))


def from_torch(scheme: Scheme, shape: Shape, eps: float, seed: int) -> tuple[float, ...]:
    """The largest difference between a scheme's x̂ and that of PyTorch's own layer, over seeds."""
    from normviz.train.layer_timing import (
        normalize_with_torch,  # imported here: torch takes seconds, and pages list these checks
    )

    def measure(each: int) -> float:
        x = sample_uneven(shape, each)
        return find_largest_difference(compute_xhat(x, scheme, eps), normalize_with_torch(x, scheme, eps)).residual

    return over(seed, measure)


def moved(scheme: Scheme, shape: Shape, seed: int) -> tuple[float, float]:
    """The share of x̂ that changes with a single element: of its own example, and of the other examples."""
    x = sample_uneven(shape, seed)
    changed = x.copy()
    changed[0, 0, 0, 0] += 1
    apart = compute_xhat(x, scheme, DEFAULT_EPS) != compute_xhat(changed, scheme, DEFAULT_EPS)
    return float(np.mean(apart[0])), float(np.mean(apart[1:]))


def moved_over(key: str, shape: Shape, seed: int) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Both shares, each over seeds."""
    own, others = zip(*(moved(SCHEMES[key], shape, each) for each in seeds_from(seed)), strict=True)
    return own, others
