"""The mesh that the script of a cube hands to Plotly. tests/web/test_cells.py has the rest without a browser."""

from itertools import combinations
from math import prod

import numpy as np
from mounted import called
from standing import visible

from normviz.charts import cube
from normviz.charts.cube_layout import compute_layout

SHAPE = (2, 3, 2, 4)
PLOTLY = """window.Plotly = {react(graph, traces, layout) {
  const scene = {render() {}, glplot: {objects: []}};
  Object.assign(graph, {on() {}, layout, _fullData: [{name: "element"}], _fullLayout: {scene: {_scene: scene}}});
  window.drawn = traces.find(({name}) => name === "cells");
}}"""
"""Instead of plotly.js: it keeps what it is to draw."""

MESH = """Object.fromEntries("x,y,z,intensity".split(",").map((name) => [name, Array.from(drawn[name])]))"""


def drawn(page, copies: int) -> tuple[np.ndarray, np.ndarray]:
    """The corners of each face, (faces, 4, 3), and their levels, (faces, 4), which are the numbers of the cells."""
    levels = np.arange(copies * prod(SHAPE)).reshape(-1, *SHAPE)
    figure = cube.draw_cube(compute_layout("folded", SHAPE), levels, {"kind": "plain"}, "light")
    x = np.zeros(SHAPE)
    data = {
        "alt": "a cube", "figure": figure.to_message(), "library": f"data:text/javascript,{PLOTLY}",
        "focus": [0, 0, 0, 0],
        "hover": cube.build_hover_data(compute_layout("folded", SHAPE), [(None, None)] * copies, x, [x] * copies),
        "names": list("nhwc"),
        "symbol": "x", "labels": [], "view": {}, "axes": list("NHWC"),
    }  # fmt: skip
    [mesh] = called(page, "plot", [(1, data)], MESH)
    corners = np.stack([mesh["x"], mesh["y"], mesh["z"]], axis=1).reshape(-1, 4, 3)
    return corners, np.reshape(mesh["intensity"], (-1, 4))


def test_copies_are_the_same_further_on_with_levels_of_their_own(page):
    one, own = drawn(page, 1)
    middles = zip(own[:, 0].tolist(), map(tuple, one.mean(axis=1).tolist()), strict=True)
    assert set(middles) == visible(compute_layout("folded", SHAPE), SHAPE)
    three, levels = drawn(page, 3)
    shifts: list[np.ndarray] = []
    for k, part in enumerate(np.split(three, 3)):
        shift = (np.subtract(part, one)).reshape(-1, 3)
        np.testing.assert_allclose(shift, shift[:1].repeat(len(shift), axis=0), atol=1e-4)
        shifts.append(shift[0])
        assert set(np.split(levels, 3)[k].ravel()) == set(range(k * prod(SHAPE), (k + 1) * prod(SHAPE)))
    assert all(np.linalg.norm(a - b) > 1 for a, b in combinations(shifts, 2))
