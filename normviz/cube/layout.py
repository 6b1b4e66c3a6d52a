"""Where the elements of a tensor stand in space: arrays of positions, no drawing.

An element's position is the sum of one offset per axis, and it fills the unit cell from there. That is all a
browser needs to draw the box of any field, too.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, prod, sqrt

import numpy as np

from normviz.core.fields import Shape

GAP = 2
"""Space between the rows of blocks in the unfolded view, in cells."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The cells of a tensor in space.

    Attributes:
        offsets: for each axis (N, H, W, C), an array (n, 3) to be summed up to a position.
        origins: where each gapless block of cells starts, an array (blocks, 3).
        blocks: the flat index of every cell in each block, an array (blocks, x, y, z).
        dimensions: which axes run along x, y and z, and which from block to block.
    """

    offsets: tuple[np.ndarray, ...]
    origins: np.ndarray
    blocks: np.ndarray
    dimensions: tuple[tuple[int, ...], ...]

    @property
    def extent(self) -> np.ndarray:
        """Size of the whole along x, y and z."""
        return self.origins.max(axis=0) + self.blocks.shape[1:]


def folded(shape: Shape) -> Layout:
    """C × N × H·W in one block, as in the figure of Wu & He 2018."""
    n, h, w, c = shape
    cells = np.arange(n * h * w * c).reshape(n, h * w, c).transpose(2, 0, 1)
    offsets = (_along(n, 1), _along(h, 2, w), _along(w, 2), _along(c, 0))
    return Layout(offsets, np.zeros((1, 3)), cells[None], ((3,), (0,), (1, 2), ()))


def unfolded(shape: Shape) -> Layout:
    """N blocks of W × C × H, in rows, examples in reading order."""
    n, h, w, c = shape
    aside = max(GAP, min(c // 2, w))  # so that a block's depth does not hide its neighbour
    wanted = min(n, ceil(sqrt(n * 2 * (h + GAP) / (w + aside))))  # about twice as wide as high
    columns = next((k for k in range(wanted, min(n, 2 * wanted) + 1) if n % k == 0), wanted)
    place = np.arange(n)
    origins = np.stack([place % columns * (w + aside), np.zeros(n), place // columns * (h + GAP)], axis=1)
    cells = np.arange(n * h * w * c).reshape(n, h, w, c).transpose(0, 2, 3, 1)
    offsets = (origins, _along(h, 2), _along(w, 0), _along(c, 1))
    return Layout(offsets, origins, cells, ((2,), (3,), (1,), (0,)))


VIEWS = {"folded": folded, "unfolded": unfolded}
"""The layouts by the name of the view."""


@dataclass(frozen=True, eq=False)
class Surface:
    """The faces that can be seen: four corners (faces, 4, 3) each, and the flat index of the cell behind each."""

    corners: np.ndarray
    cells: np.ndarray


@lru_cache(maxsize=4)  # of 65,536 elements one by one, 23 MB each
def surface(view: str, shape: Shape, roles: tuple[int, int, int, int] = (0, 1, 2, 3)) -> tuple[Layout, Surface]:
    """The layout of a view and its outer faces. Their number grows with the surface, not with the volume.

    `roles` says which axis of the tensor takes the place of N, H, W and C: (2, 0, 1, 3) for conv weights, whose
    input channels are drawn as examples are.
    """
    drawn = VIEWS[view](tuple(shape[axis] for axis in roles))
    ids = np.arange(prod(shape)).reshape(shape).transpose(roles).reshape(-1)
    layout = Layout(
        offsets=tuple(drawn.offsets[roles.index(axis)] for axis in range(4)),
        origins=drawn.origins,
        blocks=ids[drawn.blocks],
        dimensions=tuple(tuple(roles[role] for role in along) for along in drawn.dimensions),
    )
    return layout, Surface(*_outside(layout.origins, layout.blocks))


def repeated(layout: Layout, faces: Surface, copies: int) -> tuple[Layout, Surface]:
    """The same picture several times in a row along x; cells of copy k are numbered on from k · elements.

    Offsets stay those of the first copy; the others' are further on by multiples of `pitch`.
    """
    step = np.array([pitch(layout), 0, 0])
    size = layout.blocks.size
    origins = np.concatenate([layout.origins + k * step for k in range(copies)])
    blocks = np.concatenate([layout.blocks + k * size for k in range(copies)])
    corners = np.concatenate([faces.corners + k * step for k in range(copies)])
    cells = np.concatenate([faces.cells + k * size for k in range(copies)])
    return Layout(layout.offsets, origins, blocks, layout.dimensions), Surface(corners, cells)


def pitch(layout: Layout) -> float:
    """From one copy of a picture to the next: its width, and room for its depth not to hide its neighbour."""
    width, depth, _ = layout.extent
    return float(width + max(GAP, np.round(min(width, depth) * 0.6)))  # whole: corners travel as whole numbers


def grid_lines(layout: Layout, fine: bool = True) -> np.ndarray:
    """Line segments (lines, 2, 3) on the outside of every block: between all cells, or its twelve edges only."""
    return _at_each(layout.origins, _lines(layout.blocks.shape[1:], fine))


def _along(n: int, dimension: int, step: int = 1) -> np.ndarray:
    offsets = np.zeros((n, 3))
    offsets[:, dimension] = np.arange(n) * step
    return offsets


def _at_each(origins: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Faces or lines of one block (count, points, 3), again at the origin of every block."""
    return (origins[:, None, None] + points).reshape(-1, *points.shape[1:])


def _outside(origins: np.ndarray, blocks: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The six sides of every block as faces."""
    corners, cells, size = [], [], blocks.shape[1:]
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    for normal in range(3):
        first, second = (d for d in range(3) if d != normal)
        for side in (0, size[normal]):
            ids = np.take(blocks, min(side, size[normal] - 1), axis=normal + 1)
            faces = np.empty((ids[0].size, 4, 3))
            a, b = np.indices(ids.shape[1:]).reshape(2, -1, 1)
            faces[..., normal], faces[..., first], faces[..., second] = side, a + square[:, 0], b + square[:, 1]
            corners.append(_at_each(origins, faces))
            cells.append(ids.ravel())
    return np.concatenate(corners, dtype=np.float32), np.concatenate(cells).astype(np.uint32)


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
