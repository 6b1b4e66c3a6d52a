"""Positions of a tensor's elements in space, as arrays.

The position of an element is the sum of one offset for each axis. The element fills the unit cell from there. The
browser draws the box of any field from these offsets.
"""

from dataclasses import dataclass, replace
from math import ceil, log, sqrt

import numpy as np

from normviz.core.fields import Box, Shape

MIN_BLOCK_GAP = 2
"""Least space between the rows of blocks in the unfolded view, in cells."""

AxisRoles = tuple[int, int, int, int]
"""The axes of a tensor in the places of N, H, W and C: (2, 0, 1, 3) draws the input channels of weights as examples."""

PLAIN_ROLES: AxisRoles = (0, 1, 2, 3)


@dataclass(frozen=True, eq=False)
class Layout:
    """Positions of a tensor's cells in space.

    Attributes:
        shape: of the tensor, (N, H, W, C).
        offsets: for each axis (N, H, W, C), an array (n, 3) of the offsets of its indices.
        origins: the first corner of each gapless block of cells, an array (blocks, 3).
        block: number of cells of a block along x, y and z.
        dimensions: the axes along x, y and z, and the axes between blocks.
        roles: the axes of the tensor in the places of N, H, W and C.
    """

    shape: Shape
    offsets: tuple[np.ndarray, ...]
    origins: np.ndarray
    block: tuple[int, int, int]
    dimensions: tuple[tuple[int, ...], ...]
    roles: AxisRoles = PLAIN_ROLES

    @property
    def extent(self) -> np.ndarray:
        """Return the lengths of the layout along x, y and z, in cells, (3,)."""
        return self.origins.max(axis=0) + self.block


def lay_out_single_block(shape: Shape) -> Layout:
    """Return the `Layout` of a tensor as one block C × N × H·W, as in the figure of Wu & He 2018."""
    n, h, w, c = shape
    offsets = (
        _make_axis_offsets(n, 1),
        _make_axis_offsets(h, 2, w),
        _make_axis_offsets(w, 2),
        _make_axis_offsets(c, 0),
    )
    return Layout(shape, offsets, np.zeros((1, 3), int), (c, n, h * w), ((3,), (0,), (1, 2), ()))


def lay_out_example_blocks(shape: Shape) -> Layout:
    """Return the `Layout` of a tensor as N blocks of W × C × H, in rows, examples in reading order."""
    n, h, w, c = shape
    column_gap = max(MIN_BLOCK_GAP, min(ceil(0.75 * c), 2 * w))  # so that a block's depth does not hide its neighbour
    wanted = sqrt(n * 1.25 * (h + column_gap) / (w + column_gap))  # as wide and high as its frame
    columns = min((k for k in range(1, n + 1) if n % k == 0), key=lambda k: abs(log(k / wanted)))
    if not 0.5 <= columns / wanted <= 2:
        columns = max(1, min(n, round(wanted)))
    above = _compute_row_space(shape, columns, column_gap) if columns < n else MIN_BLOCK_GAP
    place = np.arange(n)
    origins = np.stack([place % columns * (w + column_gap), 0 * place, place // columns * (h + above)], axis=1)
    offsets = (origins, _make_axis_offsets(h, 2), _make_axis_offsets(w, 0), _make_axis_offsets(c, 1))
    return Layout(shape, offsets, origins, (w, c, h), ((2,), (3,), (1,), (0,)))


def _compute_row_space(shape: Shape, columns: int, column_gap: int) -> int:
    """Return the space between rows of blocks, in cells, that shows the top of a block and its name."""
    n, h, w, c = shape
    rows, gap = ceil(n / columns), MIN_BLOCK_GAP
    for _ in range(3):
        extent = np.array([columns * (w + column_gap) - column_gap, c, rows * (h + gap) - gap])
        # How long a cell looks; at first the eye sees 0.23, 0.32 and 0.92 of it upwards.
        x, y, z = compute_side_lengths(extent) / extent
        name = 0.07 * extent[2] if rows <= 4 else 0
        gap = min(max(MIN_BLOCK_GAP, ceil((0.23 * w * x + 0.32 * c * y) / (0.92 * z) + name)), 2 * h + MIN_BLOCK_GAP)
    return gap


LAYOUT_FUNCTIONS = {"folded": lay_out_single_block, "unfolded": lay_out_example_blocks}
"""The functions that lay out a tensor, by the name of the view."""


def compute_layout(view: str, shape: Shape, roles: AxisRoles = PLAIN_ROLES) -> Layout:
    """Return the `Layout` of a tensor in a view, "folded" or "unfolded"; axis `roles[k]` is drawn as axis k."""
    drawn = LAYOUT_FUNCTIONS[view](tuple(shape[axis] for axis in roles))
    offsets = tuple(drawn.offsets[roles.index(axis)] for axis in range(4))
    dimensions = tuple(tuple(roles[role] for role in along) for along in drawn.dimensions)
    return replace(drawn, shape=shape, offsets=offsets, dimensions=dimensions, roles=roles)


def count_gapless_boxes(layout: Layout, box: Box) -> int:
    """Count the separate boxes of adjacent cells that a layout draws for the index ranges `box`."""
    count, size = 1, [1, 1, 1]
    for along in layout.dimensions:
        for axis in reversed(along):  # the last one runs fastest
            lo, hi = box[axis]
            if hi - lo < 2:
                continue
            step = np.abs(layout.offsets[axis][lo + 1] - layout.offsets[axis][lo])
            d = int(step.argmax())
            if step[d] == size[d]:
                size[d] *= hi - lo
            else:
                count *= hi - lo
    return count


def compute_side_lengths(extent: np.ndarray) -> np.ndarray:
    """Compute the drawn side lengths, (3,), from lengths in cells; the longest is 1, and long sides are shortened.

    A side of one cell is as long as the longest cell along the others, but at least 0.12.
    """
    sides = np.maximum((extent / extent.max()) ** 0.6, 0.15)
    longest_cell = (sides / extent).max(where=extent > 1, initial=0.12)
    return np.where(extent > 1, sides, longest_cell) if extent.max() > 1 else sides


def _make_axis_offsets(n: int, dimension: int, step: int = 1) -> np.ndarray:
    offsets = np.zeros((n, 3), int)
    offsets[:, dimension] = np.arange(n) * step
    return offsets
