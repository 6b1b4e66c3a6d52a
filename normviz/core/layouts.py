"""The layouts of arrays: which of their axes is which of the four that a scheme's fields are about."""

import numpy as np

from normviz.core.errors import InvalidInput

LAYOUTS = {"NC": (0, 3), "NHWC": (0, 1, 2, 3), "NCHW": (0, 3, 1, 2), "BTC": (0, 1, 3)}
"""For each axis of an array, which axis of a tensor (N, H, W, C) it is; T lies along H."""

ALL_LAYOUTS = LAYOUTS | {"BCT": (0, 3, 1)}
"""`LAYOUTS`, which homework comes in, and the layout of PyTorch's BatchNorm1d and InstanceNorm1d."""


def to_tensor(array: np.ndarray, layout: str) -> np.ndarray:
    """An array in a layout as (N, H, W, C), with axes of length 1 where the layout has none."""
    axes = ALL_LAYOUTS[layout]
    ordered = np.transpose(array, np.argsort(axes))
    return np.expand_dims(ordered, tuple(sorted({0, 1, 2, 3} - set(axes))))


def from_tensor(tensor: np.ndarray, layout: str) -> np.ndarray:
    """A tensor (N, H, W, C) in a layout; what `to_tensor` undoes."""
    axes = ALL_LAYOUTS[layout]
    return np.transpose(tensor.squeeze(tuple(sorted({0, 1, 2, 3} - set(axes)))), np.argsort(np.argsort(axes)))


def check_layout(layout: str) -> None:
    """Raise InvalidInput for a layout that homework does not come in."""
    if layout not in LAYOUTS:
        raise InvalidInput(f"{layout!r} is not a layout; {', '.join(LAYOUTS)} are.")
