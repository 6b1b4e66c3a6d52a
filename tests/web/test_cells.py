"""Where the cells of a cube stand, and their meshes and lines, computed in JavaScript, against brute force."""

from collections import Counter
from itertools import combinations, product
from math import prod

import numpy as np
import pytest
from node import evaluate
from standing import positions, visible

from normviz.charts import cube
from normviz.charts.cube_layout import LAYOUT_FUNCTIONS, compute_layout
from normviz.core.fields import Field

PLAIN, WEIGHTS = (0, 1, 2, 3), (2, 0, 1, 3)
SHAPES = ((1, 1, 1, 1), (4, 4, 4, 6), (3, 2, 5, 4), (7, 1, 1, 3), (1, 8, 8, 3), (2, 3, 1, 1))


def hover_of(shape, view, roles=PLAIN, field=None):
    """What the browser has of a cube."""
    x = np.zeros(shape)
    return cube.build_hover_data(compute_layout(view, shape, roles), [(field, None)], x, [x])


def surface_of(shape, view, roles=PLAIN, expression="mesh"):
    """The surface of a cube whose cells have their number as their level."""
    function = """({pullCellsApart, buildSurface}, hover, levels) => {
      const { mesh } = buildSurface(hover, pullCellsApart(hover, []), [0, 0, 0, 0], levels);
      return %s;
    }"""
    levels = np.arange(prod(shape), dtype=np.float32)
    return evaluate("cells surface", function % expression, hover_of(shape, view, roles), levels)


@pytest.mark.parametrize(
    ("view", "shape", "roles"),
    [*product(LAYOUT_FUNCTIONS, SHAPES, (PLAIN, WEIGHTS)), ("folded", (3, 3, 4, 8), (3, 1, 0, 2))],
)
def test_the_faces_are_those_without_a_neighbour(view, shape, roles):
    mesh = surface_of(shape, view, roles)
    corners = np.stack([mesh["x"], mesh["y"], mesh["z"]], axis=1).reshape(-1, 4, 3)
    levels = np.reshape(mesh["intensity"], (-1, 4))
    assert (levels == levels[:, :1]).all()
    found = Counter(zip(levels[:, 0].tolist(), map(tuple, corners.mean(axis=1).tolist()), strict=True))
    assert found == Counter(visible(compute_layout(view, shape, roles), shape))
    sides = np.diff(corners, axis=1, append=corners[:, :1])
    np.testing.assert_array_equal(np.abs(sides).sum(axis=2), 1)  # unit squares
    first = 4 * np.arange(len(corners))[:, None]  # two triangles each, which fill the square
    np.testing.assert_array_equal(np.reshape(mesh["i"], (-1, 2)), np.add(first, [0, 0]))
    np.testing.assert_array_equal(np.reshape(mesh["j"], (-1, 2)), np.add(first, [1, 2]))
    np.testing.assert_array_equal(np.reshape(mesh["k"], (-1, 2)), np.add(first, [2, 3]))


SIZES = "{x: mesh.x.length, i: mesh.i.length, intensity: mesh.intensity.length}"
LARGE = [(16, 16, 16, 16), (65_536, 1, 1, 1), (1, 1, 1, 65_536), (1, 256, 256, 1), (4, 128, 128, 1)]


@pytest.mark.parametrize(("view", "shape"), product(LAYOUT_FUNCTIONS, LARGE))
def test_the_faces_of_a_large_cube_grow_with_its_surface(view, shape):
    layout = compute_layout(view, shape)
    x, y, z = layout.block
    count = len(layout.origins) * 2 * (x * y + y * z + x * z)
    assert surface_of(shape, view, expression=SIZES) == {"x": 4 * count, "i": 2 * count, "intensity": 4 * count}


# --- pulled apart, cut, and gathered ------------------------------------------------------------------------------

CUT = ((0, 0, 0, 0), (1, 0, 0, 2), (0, 1, 1, 0))
FIELDS = [Field.parse(text) for text in ("full,full,full,own", "own,full,full,groups(2)", "own,own,full,full")]
EVERY_WAY = pytest.mark.parametrize(("view", "roles"), [("folded", PLAIN), ("unfolded", PLAIN), ("folded", WEIGHTS)])
SHAPE = (2, 3, 2, 4)


def computed(view, roles, expression, field=None, gaps=(), cut=CUT[0], fine=True):
    """The value of an expression in JavaScript for a cube that is pulled apart and cut, its cells standing `at`."""
    function = (
        "({gatherCells, buildGrid, pullCellsApart, buildSurface}, hover, gaps, cut) =>"
        f"{{ const at = pullCellsApart(hover, gaps); return {expression}; }}"
    )
    hover = hover_of(SHAPE, view, roles, field) | {"fine": fine}
    return evaluate("cells boxes surface", function, hover, gaps, cut)


def standing(offsets):
    """Where every cell is, by its index."""
    return {index: sum(np.array(offsets[axis][i]) for axis, i in enumerate(index)) for index in np.ndindex(SHAPE)}


@EVERY_WAY
@pytest.mark.parametrize(("gaps", "field"), [(("n",), None), (("h", "c"), None), *((("fields",), f) for f in FIELDS)])
def test_cells_touch_as_they_did_unless_they_are_pulled_apart(view, roles, gaps, field):
    layout = compute_layout(view, SHAPE, roles)
    before = positions(layout, SHAPE)
    at = computed(view, roles, "at", field, gaps)
    now, size = standing(at["offsets"]), np.array(at["size"])
    for one, other in combinations(before, 2):
        step = before[other] - before[one]
        if np.abs(step).sum() != 1:
            continue
        apart = field.find_box(one, SHAPE) != field.find_box(other, SHAPE) if field else any(
            one["nhwc".index(axis)] != other["nhwc".index(axis)] for axis in gaps
        )  # fmt: skip
        touch = np.allclose(now[other] - now[one], step * size)
        assert touch != apart, (one, other)
        assert ((now[other] - now[one]) * step).sum() >= (np.abs(step) * size).sum() - 1e-9  # none in another
    ends = np.array(list(now.values()))
    np.testing.assert_allclose(ends.min(axis=0), 0)
    np.testing.assert_allclose((ends + size).max(axis=0), layout.extent)  # in the same room


@EVERY_WAY
@pytest.mark.parametrize("cut", CUT)
@pytest.mark.parametrize("gaps", [(), ("h",), ("n", "h", "w", "c")])
def test_the_faces_of_what_is_left(view, roles, cut, gaps):
    cells, at = computed(
        view, roles, "[buildSurface(hover, at, cut, new Float32Array(48)).cells, at]", FIELDS[0], gaps, cut
    )
    now, size = standing(at["offsets"]), at["size"]
    left = {i: p for i, p in now.items() if all(a >= b for a, b in zip(i, cut, strict=True))}
    places = {tuple(np.round(place, 4)) for place in left.values()}
    expected = Counter(
        int(np.ravel_multi_index(index, SHAPE))
        for index, place in left.items()
        for step in np.concatenate([np.eye(3), -np.eye(3)])
        if tuple(np.round(place + step * size, 4)) not in places
    )
    assert Counter(cells) == expected


def lines_of(block, steps):
    """By brute force, the lines along one dimension on a block's outside, at these steps of the other two."""
    ends = set()
    for along in range(3):
        first, second = (d for d in range(3) if d != along)
        for a, b in product(steps(block[first]), steps(block[second])):
            if a in (0, block[first]) or b in (0, block[second]):
                start = [0, 0, 0]
                start[first], start[second] = a, b
                ends.add((tuple(start), tuple(start[d] + block[d] * (d == along) for d in range(3))))
    return ends


def segments(found):
    ends = np.stack([found[d] for d in "xyz"], axis=1).reshape(-1, 3, 3)[:, :2].astype(float)
    return {tuple(map(tuple, np.round(line, 4).tolist())) for line in ends}


def raised(end, block):
    """How far an end of a line on a block lies above its faces, which would cover it."""
    return 0.01 * (np.equal(end, block) * 1.0 - np.equal(end, 0))


@EVERY_WAY
@pytest.mark.parametrize("fine", [True, False])
def test_the_grid_lies_on_the_outside_of_the_blocks(view, roles, fine):
    layout = compute_layout(view, SHAPE, roles)
    expected = set()
    for origin in layout.origins:
        for ends in lines_of(layout.block, lambda n: range(n + 1) if fine else (0, n)):
            places = [origin + np.array(end) + raised(end, layout.block) for end in ends]
            expected.add(tuple(tuple(np.round(place, 4).tolist()) for place in places))
    assert segments(computed(view, roles, "buildGrid(hover, at, cut)", fine=fine)) == expected


@EVERY_WAY
def test_the_grid_follows_the_gaps_and_the_cut(view, roles):
    cut = CUT[1]
    found, at = computed(view, roles, "[buildGrid(hover, at, cut), at]", None, ("n", "h", "w", "c"), cut)
    expected, size = set(), np.array(at["size"])
    blocks = "nhwc"[roles[0]] if view == "unfolded" else ""
    assert blocks == "" or len(compute_layout(view, SHAPE, roles).origins) == SHAPE[roles[0]]
    for index, place in standing(at["offsets"]).items():  # every cell a block of its own
        if all(a >= b for a, b in zip(index, cut, strict=True)):
            for ends in lines_of((1, 1, 1), lambda n: (0, n)):
                places = [place + np.array(end) * size + raised(end, (1, 1, 1)) for end in ends]
                expected.add(tuple(tuple(np.round(each, 4).tolist()) for each in places))
    assert segments(found) == expected


@EVERY_WAY
@pytest.mark.parametrize("gaps", [(), ("fields",), ("n", "c")])
@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_has_collapsed_fills_one_cell_in_its_middle(view, roles, field, gaps):
    bounds = "hover.copies[0].bounds"
    at, found = computed(view, roles, f"[at, gatherCells(at, hover, {bounds})]", field, gaps)
    size = np.array(found["size"])
    assert prod(size) * field.compute_sizes(SHAPE).flat[0] == pytest.approx(prod(at["size"]))
    before, now, fields = standing(at["offsets"]), standing(found["offsets"]), {}
    for index in now:
        fields.setdefault(field.find_statistic_index(index, SHAPE), []).append(index)
    corners = []
    for members in fields.values():
        there = np.array([now[index] for index in members])
        corner = there.min(axis=0)
        assert len({tuple(place) for place in there.round(6).tolist()}) == len(members)  # slices, none on another
        assert (there + size - corner <= np.array(at["size"]) + 1e-9).all()
        np.testing.assert_allclose(corner, np.mean([before[index] for index in members], axis=0), atol=1e-9)
        corners.append(corner)
    apart = (np.abs(np.array(corners)[:, None] - np.array(corners)) / at["size"]).max(axis=2) + 2 * np.eye(len(corners))
    assert (apart >= 1 - 1e-9).all()  # no cell is in another
