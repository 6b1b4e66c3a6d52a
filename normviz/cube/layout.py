"""Where the elements of a tensor stand in space: arrays of positions, no drawing.

An element's position is the sum of one offset per axis, and it fills the unit cell from there. That is all a
browser needs to draw the box of any field, too.
"""

from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from normviz.core.fields import Box, Field, Shape

GAP = 2
"""Space between the rows of blocks in the unfolded view, in cells."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The cells of a tensor in space.

    Attributes:
        offsets: for each axis (N, H, W, C), an array (n, 3) to be summed up to a position.
        origins: where each gapless block of cells starts, an array (blocks, 3).
        block: how many cells a block has along x, y and z.
        dimensions: which axes run along x, y and z, and which from block to block.
    """

    offsets: tuple[np.ndarray, ...]
    origins: np.ndarray
    block: tuple[int, int, int]
    dimensions: tuple[tuple[int, ...], ...]

    @property
    def extent(self) -> np.ndarray:
        """Size of the whole along x, y and z."""
        return self.origins.max(axis=0) + self.block


def folded(shape: Shape) -> Layout:
    """C × N × H·W in one block, as in the figure of Wu & He 2018."""
    n, h, w, c = shape
    offsets = (_along(n, 1), _along(h, 2, w), _along(w, 2), _along(c, 0))
    return Layout(offsets, np.zeros((1, 3), int), (c, n, h * w), ((3,), (0,), (1, 2), ()))


def unfolded(shape: Shape) -> Layout:
    """N blocks of W × C × H, in rows, examples in reading order."""
    n, h, w, c = shape
    aside = max(GAP, min(c // 2, w))  # so that a block's depth does not hide its neighbour
    wanted = min(n, ceil(sqrt(n * 2 * (h + GAP) / (w + aside))))  # about twice as wide as high
    columns = next((k for k in range(wanted, min(n, 2 * wanted) + 1) if n % k == 0), wanted)
    place = np.arange(n)
    origins = np.stack([place % columns * (w + aside), 0 * place, place // columns * (h + GAP)], axis=1)
    offsets = (origins, _along(h, 2), _along(w, 0), _along(c, 1))
    return Layout(offsets, origins, (w, c, h), ((2,), (3,), (1,), (0,)))


VIEWS = {"folded": folded, "unfolded": unfolded}
"""The layouts by the name of the view."""


def layout_of(view: str, shape: Shape, roles: tuple[int, int, int, int] = (0, 1, 2, 3)) -> Layout:
    """The layout of a view.

    `roles` says which axis of the tensor takes the place of N, H, W and C: (2, 0, 1, 3) for conv weights, whose
    input channels are drawn as examples are.
    """
    drawn = VIEWS[view](tuple(shape[axis] for axis in roles))
    offsets = tuple(drawn.offsets[roles.index(axis)] for axis in range(4))
    dimensions = tuple(tuple(roles[role] for role in along) for along in drawn.dimensions)
    return replace(drawn, offsets=offsets, dimensions=dimensions)


def repeated(layout: Layout, copies: int) -> Layout:
    """The same picture several times in a row along x.

    Offsets stay those of the first copy; the others' are further on by multiples of `pitch`.
    """
    step = np.array([pitch(layout), 0, 0])
    return replace(layout, origins=np.concatenate([layout.origins + k * step for k in range(copies)]))


def gathered(layout: Layout, field: Field, shape: Shape) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """Offsets and size of the cells when every field has collapsed into one cell, of which each element is a slice.

    The cell stands in the middle of its field. Elements of windows, which overlap, stay where they are.
    """
    offsets, size = [offset.astype(float) for offset in layout.offsets], np.ones(3)
    for dimension, along in enumerate(layout.dimensions):
        d = dimension if dimension < 3 else 1  # blocks are laid behind each other
        for axis in along:
            lo, hi = field.blocks.bounds(shape)[axis].T
            count = int(hi[0] - lo[0])
            size[d] /= count
            offsets[axis] = offsets[axis].reshape(-1, count, 3).mean(axis=1).repeat(count, axis=0)
            offsets[axis][:, d] += (np.arange(len(lo)) - lo) * size[d]
    return tuple(offsets), size


def parts(layout: Layout, box: Box) -> int:
    """Of how many gapless boxes of cells a field's box consists."""
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


def pitch(layout: Layout) -> float:
    """From one copy of a picture to the next: its width, and room for its depth not to hide its neighbour."""
    width, depth, _ = layout.extent
    return float(width + max(GAP, np.round(min(width, depth) * 0.6)))  # whole, as all places are


def grid_lines(layout: Layout, fine: bool = True) -> np.ndarray:
    """Line segments (lines, 2, 3) on the outside of every block: between all cells, or its twelve edges only."""
    return _at_each(layout.origins, _lines(layout.block, fine))


def _along(n: int, dimension: int, step: int = 1) -> np.ndarray:
    offsets = np.zeros((n, 3), int)
    offsets[:, dimension] = np.arange(n) * step
    return offsets


def _at_each(origins: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Faces or lines of one block (count, points, 3), again at the origin of every block."""
    return (origins[:, None, None] + points).reshape(-1, *points.shape[1:])


def _lines(size: tuple[int, ...], fine: bool) -> np.ndarray:
    """On every side of a block, lines along one dimension at each step of the other."""
    lines = []
    for along in range(3):
        for step in (d for d in range(3) if d != along):
            normal = 3 - along - step
            ticks = np.arange(size[step] + 1) if fine else np.array([0, size[step]])
            for side in (0, size[normal]):
                segment = np.zeros((len(ticks), 2, 3))
                segment[:, 1, along] = size[along]
                segment[..., step], segment[..., normal] = ticks[:, None], side
                lines.append(segment)
    return np.concatenate(lines)
