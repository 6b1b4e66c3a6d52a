"""Where the elements of a tensor stand in space: arrays of positions, no drawing.

An element's position is the sum of one offset per axis, and it fills the unit cell from there. That is all a
browser needs to draw the box of any field, too.
"""

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, prod, sqrt

import numpy as np

from normviz.fields import Shape

GAP = 2
"""Space between the rows of blocks in the unfolded view, in cells."""


@dataclass(frozen=True, eq=False)
class Layout:
    """The cells of a tensor in space.

    Attributes:
        offsets: for each axis (N, H, W, C), an array (n, 3) to be summed up to a position.
        solids: the gapless blocks of cells, each with its origin and the flat index of every cell in it.
        dimensions: which axes run along x, y and z, and which from block to block.
    """

    offsets: tuple[np.ndarray, ...]
    solids: tuple[tuple[np.ndarray, np.ndarray], ...]
    dimensions: tuple[tuple[int, ...], ...]

    @property
    def extent(self) -> np.ndarray:
        """Size of the whole along x, y and z."""
        return np.max([origin + cells.shape for origin, cells in self.solids], axis=0)


def folded(shape: Shape) -> Layout:
    """C × N × H·W in one block, as in the figure of Wu & He 2018."""
    n, h, w, c = shape
    cells = np.arange(n * h * w * c).reshape(n, h * w, c).transpose(2, 0, 1)
    offsets = (_along(n, 1), _along(h, 2, w), _along(w, 2), _along(c, 0))
    return Layout(offsets, ((np.zeros(3), cells),), ((3,), (0,), (1, 2), ()))


def unfolded(shape: Shape) -> Layout:
    """N blocks of W × C × H, in rows, cases in reading order."""
    n, h, w, c = shape
    aside = max(GAP, min(c // 2, w))  # so that a block's depth does not hide its neighbour
    wanted = min(n, ceil(sqrt(n * 2 * (h + GAP) / (w + aside))))  # about twice as wide as high
    columns = next((k for k in range(wanted, min(n, 2 * wanted) + 1) if n % k == 0), wanted)
    place = np.arange(n)
    blocks = np.stack([place % columns * (w + aside), np.zeros(n), place // columns * (h + GAP)], axis=1)
    cells = np.arange(n * h * w * c).reshape(n, h, w, c).transpose(0, 2, 3, 1)
    offsets = (blocks, _along(h, 2), _along(w, 0), _along(c, 1))
    return Layout(offsets, tuple(zip(blocks, cells, strict=True)), ((2,), (3,), (1,), (0,)))


VIEWS = {"folded": folded, "unfolded": unfolded}
"""The layouts by the name of the view."""


@dataclass(frozen=True, eq=False)
class Surface:
    """The faces that can be seen: four corners (faces, 4, 3) each, and the flat index of the cell behind each."""

    corners: np.ndarray
    cells: np.ndarray


@lru_cache(maxsize=8)
def surface(view: str, shape: Shape, roles: tuple[int, int, int, int] = (0, 1, 2, 3)) -> tuple[Layout, Surface]:
    """The layout of a view and its outer faces. Their number grows with the surface, not with the volume.

    `roles` says which axis of the tensor takes the place of N, H, W and C: (2, 0, 1, 3) for conv weights, whose
    input channels are drawn as cases are.
    """
    drawn = VIEWS[view](tuple(shape[axis] for axis in roles))
    ids = np.arange(prod(shape)).reshape(shape).transpose(roles).reshape(-1)
    layout = Layout(
        offsets=tuple(drawn.offsets[roles.index(axis)] for axis in range(4)),
        solids=tuple((origin, ids[cells]) for origin, cells in drawn.solids),
        dimensions=tuple(tuple(roles[role] for role in along) for along in drawn.dimensions),
    )
    corners, cells = zip(*(_outside(origin, block) for origin, block in layout.solids), strict=True)
    return layout, Surface(np.concatenate(corners), np.concatenate(cells))


def grid_lines(layout: Layout, fine: bool = True) -> np.ndarray:
    """Line segments (lines, 2, 3) on the outside of every block: between all cells, or its twelve edges only."""
    return np.concatenate([_lines(origin, block.shape, fine) for origin, block in layout.solids])


def _along(n: int, dimension: int, step: int = 1) -> np.ndarray:
    offsets = np.zeros((n, 3))
    offsets[:, dimension] = np.arange(n) * step
    return offsets


def _outside(origin: np.ndarray, block: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The six sides of a block as faces."""
    corners, cells = [], []
    square = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
    for normal in range(3):
        first, second = (d for d in range(3) if d != normal)
        for side in (0, block.shape[normal]):
            ids = np.take(block, min(side, block.shape[normal] - 1), axis=normal)
            faces = np.empty((ids.size, 4, 3))
            a, b = np.indices(ids.shape).reshape(2, -1, 1)
            faces[..., normal], faces[..., first], faces[..., second] = side, a + square[:, 0], b + square[:, 1]
            corners.append(faces + origin)
            cells.append(ids.ravel())
    return np.concatenate(corners), np.concatenate(cells)


def _lines(origin: np.ndarray, size: tuple[int, ...], fine: bool) -> np.ndarray:
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
                lines.append(segment + origin)
    return np.concatenate(lines)
