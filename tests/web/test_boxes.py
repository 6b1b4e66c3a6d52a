"""The boxes of fields and of elements that have come together, computed in JavaScript, against Python."""

import numpy as np
import pytest
from node import evaluate
from standing import cells_in

from normviz.charts import cube
from normviz.charts.cube_layout import LAYOUT_FUNCTIONS, compute_layout
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES

SHAPE = (2, 3, 2, 4)
FIELDS = {key: scheme.field for key, scheme in SCHEMES.items() if scheme.field is not None}
PARTS = [Field.parse(text) for text in ("full,full,full,own", "own,full,full,groups(2)", "own,own,full,full")]


def hover_of(view, field):
    x = np.zeros(SHAPE)
    return cube.build_hover_data(compute_layout(view, SHAPE), [(field, None)], x, [x])


def cells_of(boxes):
    """The places of all cells in boxes, each as often as it is in one."""
    return sorted(
        tuple(np.add(box["origin"], step).tolist()) for box in boxes for step in np.ndindex(*map(round, box["size"]))
    )


@pytest.mark.parametrize("view", LAYOUT_FUNCTIONS)
@pytest.mark.parametrize("key", FIELDS)
def test_the_boxes_of_a_field_are_its_cells(key, view):
    field, layout = FIELDS[key], compute_layout(view, SHAPE)
    indices = list(np.ndindex(SHAPE))
    function = """({findBoxes, pullCellsApart}, hover, indices) => indices.map((index) =>
      findBoxes(pullCellsApart(hover, []), hover.order,
        Array.from(index, (v, axis) => hover.copies[0].bounds[axis][v])))"""
    for index, found in zip(indices, evaluate("cells boxes", function, hover_of(view, field), indices), strict=True):
        assert cells_of(found) == sorted(cells_in(layout, field.find_box(index, SHAPE))), index


@pytest.mark.parametrize("view", LAYOUT_FUNCTIONS)
@pytest.mark.parametrize("field", PARTS)
@pytest.mark.parametrize("cut", [(0, 0, 0, 0), (1, 0, 0, 2)])
def test_elements_that_have_come_together_fill_one_box_each_field(view, field, cut):
    function = """({gatherCells, pullCellsApart, findGatheredBoxes}, hover, cut) => {
      const { bounds } = hover.copies[0];
      const at = gatherCells(pullCellsApart(hover, []), hover, bounds);
      return [findGatheredBoxes(at, bounds, hover.order, cut), at.size];
    }"""
    found, size = evaluate("cells boxes", function, hover_of(view, field), cut)
    left = {}
    for index in np.ndindex(SHAPE):
        if all(v >= c for v, c in zip(index, cut, strict=True)):
            key = field.find_statistic_index(index, SHAPE)
            left[key] = left.get(key, 0) + 1
    volumes = [np.prod(box["size"]) / np.prod(size) for box in found]
    assert sorted(np.round(volumes, 6)) == sorted(left.values())


def test_lines_divide_a_box_of_cells_on_its_outside():
    function = "({buildDivisions}, box) => buildDivisions([box], [1, 1, 1], 0)"
    found = evaluate("boxes", function, {"origin": [5, 0, 0], "size": [2, 1, 3]})
    lines = [[x, z] for x, z in zip(found["x"], found["z"], strict=True) if x is not None and (x, z) != (0, 0)]
    assert {x for x, _ in lines} == {5, 6, 7}
    assert {z for _, z in lines} == {0, 1, 2, 3}
