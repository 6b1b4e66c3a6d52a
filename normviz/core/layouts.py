"""Layouts of arrays, and conversion to and from tensors (N, H, W, C)."""

import numpy as np

from normviz.core.errors import InvalidInput

LAYOUTS = {"NC": (0, 3), "NHWC": (0, 1, 2, 3), "NCHW": (0, 3, 1, 2), "BTC": (0, 1, 3)}
"""The axis of a tensor (N, H, W, C) for each axis of an array; T lies along H."""

ALL_LAYOUTS = LAYOUTS | {"BCT": (0, 3, 1)}
"""`LAYOUTS`, the layouts of homework, and the layout of PyTorch's BatchNorm1d and InstanceNorm1d."""


def to_tensor(array: np.ndarray, layout: str) -> np.ndarray:
    """Convert an array in a layout to (N, H, W, C), with axes of length 1 where the layout has none."""
    axes = ALL_LAYOUTS[layout]
    ordered = np.transpose(array, np.argsort(axes))
    return np.expand_dims(ordered, tuple(sorted({0, 1, 2, 3} - set(axes))))


def from_tensor(tensor: np.ndarray, layout: str) -> np.ndarray:
    """Convert a tensor (N, H, W, C) to a layout, the inverse of `to_tensor`."""
    axes = ALL_LAYOUTS[layout]
    return np.transpose(tensor.squeeze(tuple(sorted({0, 1, 2, 3} - set(axes)))), np.argsort(np.argsort(axes)))


def check_layout(layout: str) -> None:
    """Raise InvalidInput for a layout that is not among `LAYOUTS`."""
    if layout not in LAYOUTS:
        raise InvalidInput(f"{layout!r} is not a layout; {', '.join(LAYOUTS)} are.")
