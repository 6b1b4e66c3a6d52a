"""Pictures in uneven light, and the contrast that is left."""

import numpy as np

from normviz.core.normalize import ignore_float_warnings


def apply_fading_light(x: np.ndarray, edge_light: float) -> np.ndarray:
    """Return pictures (N, H, W, C) times a light that falls geometrically from 1 at the left edge to `edge_light`."""
    return x * (edge_light ** np.linspace(0, 1, x.shape[2]))[:, None]


@ignore_float_warnings
def compute_contrast_ratio(x: np.ndarray) -> float:
    """Return the standard deviation of the right half of pictures (N, H, W, C) divided by the left half's.

    NaN if the left is constant or the pictures have one column.
    """
    middle = x.shape[2] // 2
    if not middle:
        return float("nan")
    left, right = float(x[:, :, :middle].std()), float(x[:, :, -middle:].std())
    return right / left if left else float("nan")
