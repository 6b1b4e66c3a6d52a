"""Seeded arrays that no symmetry makes easy; without hypothesis, which a machine with a GPU may lack."""

import numpy as np


def uneven_array(shape, seed, dtype=np.float64):
    """Seeded noise whose mean and scale differ along every axis."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal(shape)
    for axis, n in enumerate(shape):
        along = tuple(n if a == axis else 1 for a in range(len(shape)))
        z = z * rng.uniform(0.5, 2, along) + rng.uniform(-1, 1, along)
    return z.astype(dtype)
