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
