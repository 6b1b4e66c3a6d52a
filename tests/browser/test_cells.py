"""The mesh that the browser makes of a cube's levels: the faces that can be seen, and the cell behind each."""

from collections import Counter
from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from mounted import called
from standing import visible

from normviz.core.fields import Shape
from normviz.cube import figure as cube
from normviz.cube.layout import VIEWS, layout_of, pitch

PLAIN, WEIGHTS = (0, 1, 2, 3), (2, 0, 1, 3)
SHAPES = ((1, 1, 1, 1), (4, 4, 4, 6), (3, 2, 5, 4), (7, 1, 1, 3), (1, 8, 8, 3), (2, 3, 1, 1))
PLOTLY = """window.Plotly = {react(graph, traces) {
  Object.assign(graph, {on() {}, _fullData: [], _fullLayout: {scene: {_scene: {traces: {}}}}});
  window.drawn = traces.find(({name}) => name === "cells");
}}"""
"""Instead of plotly.js: it keeps what it is to draw."""

MESH = """Object.fromEntries("x,y,z,i,j,k,intensity".split(",").map((name) => [name, Array.from(drawn[name])]))"""
SIZES = """Object.fromEntries("x,i,intensity".split(",").map((name) => [name, drawn[name].length]))"""


def drawn(page, shape: Shape, view: str, roles=PLAIN, copies=1, expression=MESH) -> Any:
    """The mesh of a cube whose cells have their number as their level."""
    names = [f"copy {k}" for k in range(copies)] if copies > 1 else []
    levels = np.arange(copies * prod(shape)).reshape(-1, *shape)
    figure = cube.cube_figure(shape, view, levels, {"kind": "plain"}, ("x", "y", "z"), "light", roles, copies=names)
    x = np.zeros(shape)
    data = {
        "alt": "a cube", "figure": figure.packed(), "library": f"data:text/javascript,{PLOTLY}", "focus": [0, 0, 0, 0],
        "hover": cube.hover_data(shape, view, [(None, None)] * copies, x, [x] * copies, roles), "names": list("nhwc"),
        "symbol": "x", "labels": names,
    }  # fmt: skip
    return called(page, "plot", [(1, data)], expression)[0]


def faces(mesh: dict[str, list[float]]) -> tuple[np.ndarray, np.ndarray]:
    """The corners of each face, (faces, 4, 3), and the level of each corner, (faces, 4)."""
    corners = np.stack([mesh["x"], mesh["y"], mesh["z"]], axis=1).reshape(-1, 4, 3)
    return corners, np.reshape(mesh["intensity"], (-1, 4))


@pytest.mark.parametrize(
    ("view", "shape", "roles"), [*product(VIEWS, SHAPES, (PLAIN, WEIGHTS)), ("folded", (3, 3, 4, 8), (3, 1, 0, 2))]
)
def test_the_faces_are_those_without_a_neighbour(page, view, shape, roles):
    mesh = drawn(page, shape, view, roles)
    corners, levels = faces(mesh)
    assert (levels == levels[:, :1]).all()
    found = Counter(zip(levels[:, 0].tolist(), map(tuple, corners.mean(axis=1).tolist()), strict=True))
    assert found == Counter(visible(layout_of(view, shape, roles), shape))
    sides = np.diff(corners, axis=1, append=corners[:, :1])
    np.testing.assert_array_equal(np.abs(sides).sum(axis=2), 1)  # unit squares
    first = 4 * np.arange(len(corners))[:, None]  # two triangles each, which fill the square
    np.testing.assert_array_equal(np.reshape(mesh["i"], (-1, 2)), np.add(first, [0, 0]))
    np.testing.assert_array_equal(np.reshape(mesh["j"], (-1, 2)), np.add(first, [1, 2]))
    np.testing.assert_array_equal(np.reshape(mesh["k"], (-1, 2)), np.add(first, [2, 3]))


def test_copies_are_the_same_further_on_with_levels_of_their_own(page):
    shape = (2, 3, 2, 4)
    step = pitch(layout_of("folded", shape))
    one, _ = faces(drawn(page, shape, "folded"))
    three, levels = faces(drawn(page, shape, "folded", copies=3))
    for k, part in enumerate(np.split(three, 3)):
        np.testing.assert_array_equal(part, np.add(one, [k * step, 0, 0]))
        assert set(np.split(levels, 3)[k].ravel()) == set(range(k * prod(shape), (k + 1) * prod(shape)))


LARGE = [(16, 16, 16, 16), (65_536, 1, 1, 1), (1, 1, 1, 65_536), (1, 256, 256, 1), (4, 128, 128, 1)]


@pytest.mark.parametrize(("view", "shape"), product(VIEWS, LARGE))
def test_the_faces_of_a_large_cube_grow_with_its_surface(page, view, shape):
    layout = layout_of(view, shape)
    x, y, z = layout.block
    count = len(layout.origins) * 2 * (x * y + y * z + x * z)
    assert drawn(page, shape, view, expression=SIZES) == {"x": 4 * count, "i": 2 * count, "intensity": 4 * count}
