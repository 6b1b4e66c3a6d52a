"""The cell under a pointer, and the cell that a key leads to, found in JavaScript, against brute force."""

from itertools import product

import numpy as np
import pytest
from node import evaluate
from standing import positions

from normviz.charts import cube
from normviz.charts.cube_layout import compute_layout

PLAIN, WEIGHTS = (0, 1, 2, 3), (2, 0, 1, 3)
WAYS = [("folded", PLAIN), ("unfolded", PLAIN), ("unfolded", WEIGHTS)]
SHAPE = (2, 3, 2, 4)
CUTS = ((0, 0, 0, 0), (1, 0, 0, 2), (0, 1, 1, 0))
LEFT, TOP, WIDTH, HEIGHT = 10, 20, 400, 300
"""Where the container of a scene is in the window, in pixels."""

STEPS = {
    "ArrowLeft": (0, -1), "ArrowRight": (0, 1), "ArrowUp": (2, -1), "ArrowDown": (2, 1),
    "PageUp": (1, -1), "PageDown": (1, 1),
}  # fmt: skip


def hover_of(view, roles):
    x = np.zeros(SHAPE)
    return cube.build_hover_data(compute_layout(view, SHAPE, roles), [(None, None)], x, [x])


def reached(view, roles, key, cut):
    """For the index of every element, the index that a key leads to."""
    function = """({KEYS, stepIndex}, hover, key, cut, indices) =>
      indices.map((index) => stepIndex(Array.from(index), KEYS[key], hover, cut))"""
    indices = list(np.ndindex(SHAPE))
    found = evaluate("pointing", function, hover_of(view, roles), key, cut, indices)
    return {index: None if there is None else tuple(there) for index, there in zip(indices, found, strict=True)}


def is_left(index, cut):
    return all(v >= c for v, c in zip(index, cut, strict=True))


@pytest.mark.parametrize(("view", "roles"), WAYS)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("key", STEPS)
def test_a_key_leads_to_the_next_cell_that_is_left_in_its_block(view, roles, cut, key):
    layout, (dimension, step) = compute_layout(view, SHAPE, roles), STEPS[key]
    at = {index: place for index, place in positions(layout, SHAPE).items() if is_left(index, cut)}
    blocks = layout.dimensions[3]
    for index, there in reached(view, roles, key, cut).items():
        if index not in at:  # from what is cut away to the nearest that is left
            assert there == tuple(np.maximum(index, cut))
            continue
        along = {
            other: step * (place - at[index])[dimension]
            for other, place in at.items()
            if np.delete(place - at[index], dimension).any() == 0 and all(other[axis] == index[axis] for axis in blocks)
        }
        after = {other: far for other, far in along.items() if far > 0}
        assert there == min(after, key=after.get, default=None), index


@pytest.mark.parametrize(("view", "roles"), WAYS)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(("key", "step"), [("Home", -1), ("End", 1)])
def test_home_and_end_go_from_block_to_block_or_to_the_ends_of_a_row(view, roles, cut, key, step):
    *_, blocks = compute_layout(view, SHAPE, roles).dimensions
    for index, there in reached(view, roles, key, cut).items():
        expected = list(index)
        if not is_left(index, cut):
            expected = np.maximum(index, cut).tolist()
        elif blocks:
            expected[blocks[0]] += step
            if not cut[blocks[0]] <= expected[blocks[0]] < SHAPE[blocks[0]]:
                expected = None
        else:
            expected[3] = SHAPE[3] - 1 if step > 0 else cut[3]
        assert there == (None if expected is None else tuple(expected)), index


def camera_of(eye):
    """The matrices of an orthographic camera at `eye` that looks at the origin, z upwards, and -z at last the depth."""
    eye = np.array(eye, float)
    back = eye / np.linalg.norm(eye)
    right = np.cross([0, 0, 1], back)
    right /= np.linalg.norm(right)
    view = np.eye(4)
    view[:3, :3] = [right, np.cross(back, right), back]
    view[:3, 3] = -view[:3, :3] @ eye
    return np.diag([0.5, 0.6, -0.2, 1.0]), view


def first_cell(origin, direction, places, size):
    """The number of the first cell that a ray meets, -1 for none; cells are boxes at these places."""
    with np.errstate(divide="ignore"):
        ends = np.sort([(places - origin) / direction, (places + size - origin) / direction], axis=0)
    enters, leaves = ends[0].max(axis=1), ends[1].min(axis=1)
    enters[enters >= leaves] = np.inf
    return -1 if np.isinf(enters).all() else int(enters.argmin())


@pytest.mark.parametrize(("view", "roles"), WAYS)
@pytest.mark.parametrize(("cut", "gaps"), [(CUTS[0], []), (CUTS[1], ["h", "c"])])
@pytest.mark.parametrize("eye", [cube.INITIAL_CAMERA_EYE, (-1.3, -1.2, 0.9), (0.6, 1.6, -0.3)])
def test_the_cell_under_a_pointer_is_the_first_that_a_ray_meets(view, roles, cut, gaps, eye):
    extent = compute_layout(view, SHAPE, roles).extent
    scale = 1.5 / extent
    projection, seen = camera_of(eye)
    model = np.eye(4)
    model[:3, 3] = -0.75  # the middle of the cube at the origin
    across, down = np.linspace(LEFT, LEFT + WIDTH, 23), np.linspace(TOP, TOP + HEIGHT, 17)
    places = np.array(list(product(across, down)))
    function = """(web, hover, gaps, cut, matrices, scale, box, places) => {
      const {findFace, placeElements, pullCellsApart, buildSurface} = web;
      const now = pullCellsApart(hover, gaps);
      const { cells, mesh } = buildSurface(hover, now, cut, new Float32Array(48));
      const [projection, view, model] = matrices;
      const scene = { box, scale, matrices: { projection, view, model } };
      return [places.map(([x, y]) => cells[findFace(scene, mesh, x, y)] ?? -1), placeElements(now.offsets), now.size];
    }"""
    matrices = np.stack([each.T.ravel() for each in (projection, seen, model)])  # by columns
    found, corners, size = evaluate(
        "cells surface pointing", function, hover_of(view, roles), gaps, cut, matrices, scale,
        {"left": LEFT, "top": TOP, "width": WIDTH, "height": HEIGHT}, places,
    )  # fmt: skip
    left = [n for n, index in enumerate(np.ndindex(SHAPE)) if is_left(index, cut)]
    back = np.linalg.inv(projection @ seen @ model)
    expected = []
    for x, y in places:
        a, b = (x - LEFT) / WIDTH * 2 - 1, 1 - (y - TOP) / HEIGHT * 2
        near, far = (((back @ [a, b, depth, 1])[:3]) / scale for depth in (-1, 1))
        number = first_cell(near, far - near, np.transpose(corners)[left], size)
        expected.append(-1 if number < 0 else left[number])
    assert found == expected
    assert 10 < sum(cell >= 0 for cell in found) < len(found)
