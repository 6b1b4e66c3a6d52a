"""The cube as `st.plotly_chart` needs it: with all corners, which the app's own component has made in the browser."""

import numpy as np

from normviz.charts.cube_layout import Layout
from normviz.core.fields import Shape

CORNERS = np.array([[0, 0], [1, 0], [1, 1], [0, 1]])
"""Of a unit square."""


def face_count(layout: Layout) -> int:
    """Return the number of visible faces of one copy."""
    x, y, z = layout.block
    return len(layout.origins) * 2 * (x * y + y * z + x * z)


def mesh(layout: Layout, shape: Shape, levels: np.ndarray) -> dict[str, np.ndarray]:
    """Corners, triangles and the level of each corner, of all faces without a neighbour."""
    indices = np.indices(shape).reshape(4, -1)
    at = sum(offset[index] for offset, index in zip(layout.offsets, indices, strict=True))
    taken = np.zeros(at.max(axis=0) + 3, bool)
    taken[tuple(at.T + 1)] = True
    corners, of = [], []
    for normal in range(3):
        across = [d for d in range(3) if d != normal]
        for side in (0, 1):
            beyond = at + 1
            beyond[:, normal] += 2 * side - 1
            cells = np.flatnonzero(~taken[tuple(beyond.T)])
            faces = np.repeat(at[cells, None], 4, axis=1)
            faces[..., normal] += side
            faces[..., across] += CORNERS
            corners.append(faces)
            of.append(cells)
    x, y, z = np.concatenate(corners).reshape(-1, 3).T
    first = 4 * np.arange(len(x) // 4)
    i, j, k = (np.stack([first + a, first + b], axis=1).ravel() for a, b in ((0, 0), (1, 2), (2, 3)))
    return {"x": x, "y": y, "z": z, "i": i, "j": j, "k": k, "intensity": levels.ravel()[np.concatenate(of)].repeat(4)}


def grid(layout: Layout) -> dict[str, np.ndarray]:
    """Return the lines between all cells on the outside of every block, with a gap after each."""
    lines = []
    for along in range(3):
        for step in (d for d in range(3) if d != along):
            normal = 3 - along - step
            ticks = np.arange(layout.block[step] + 1)
            for side in (0, layout.block[normal]):
                line = np.zeros((len(ticks), 2, 3))
                line[:, 1, along] = layout.block[along]
                line[..., step], line[..., normal] = ticks[:, None], side
                lines.append(line)
    every = (layout.origins[:, None, None] + np.concatenate(lines)).reshape(-1, 2, 3)
    points = np.concatenate([every, np.full((len(every), 1, 3), np.nan)], axis=1).reshape(-1, 3).T
    return dict(zip("xyz", points.astype(np.float32), strict=True))
