"""Pictures in bad light: a light that falls off to one side, and what contrast it leaves there."""

import numpy as np

from normviz.core.normalize import ignore_float_warnings


def apply_fading_light(x: np.ndarray, edge_light: float) -> np.ndarray:
    """Pictures (N, H, W, C) in a light that falls from 1 at the left edge to `light` at the right, by equal factors."""
    return x * (edge_light ** np.linspace(0, 1, x.shape[2]))[:, None]


@ignore_float_warnings
def compute_contrast_ratio(x: np.ndarray) -> float:
    """The standard deviation of the right half of pictures (N, H, W, C) over that of the left.

    NaN where that is 0, or where one column has no halves.
    """
    middle = x.shape[2] // 2
    if not middle:
        return float("nan")
    left, right = float(x[:, :, :middle].std()), float(x[:, :, -middle:].std())
    return right / left if left else float("nan")
