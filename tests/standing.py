"""Where the cells of a cube stand, by brute force."""

import numpy as np

STEPS = [step for axis in np.eye(3, dtype=int) for step in (axis, -axis)]


def positions(layout, shape):
    """The corner of every cell, by its index: one offset per axis, summed."""
    return {index: sum(layout.offsets[axis][i] for axis, i in enumerate(index)) for index in np.ndindex(shape)}


def visible(layout, shape):
    """(flat index of the cell, middle of the face) of every face with no cell on its other side."""
    at = {tuple(place): np.ravel_multi_index(index, shape) for index, place in positions(layout, shape).items()}
    return {
        (int(cell), tuple(np.add(place, 0.5) + step / 2))
        for place, cell in at.items()
        for step in STEPS
        if tuple(place + step) not in at
    }


def cells_in(layout, box):
    """Positions of all elements in a field's box: what must be lit when one of them is under the pointer."""
    n, h, w, c = (layout.offsets[axis][lo:hi] for axis, (lo, hi) in enumerate(box))
    positions = n[:, None, None, None] + h[:, None, None] + w[:, None] + c
    return set(map(tuple, positions.reshape(-1, 3).tolist()))
