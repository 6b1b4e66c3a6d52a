"""Where cells stand, what they are coloured by, and the figures that are made of both."""

from itertools import combinations, product
from math import prod

import numpy as np
import plotly.graph_objects as go
import pytest
from checked import checked
from hypothesis import given
from hypothesis import strategies as st
from standing import cells_in, positions
from strategies import shapes, shapes_with_fields, uneven_array
from unpacked import unpacked

from normviz.charts import cube
from normviz.charts.cube_layout import LAYOUT_FUNCTIONS, MIN_BLOCK_GAP, compute_layout, count_gapless_boxes
from normviz.charts.curves import Curve, CurvePanel, draw_curve_panels
from normviz.charts.packing import pack_message
from normviz.charts.palette import HUES, THEMES
from normviz.core.fields import FULL, OWN, Field, Rule
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES

PLAIN, WEIGHTS = (0, 1, 2, 3), (2, 0, 1, 3)
SHAPES = ((1, 1, 1, 1), (4, 4, 4, 6), (3, 2, 5, 4), (7, 1, 1, 3), (1, 8, 8, 3), (2, 3, 1, 1))
EVERY_LAYOUT = pytest.mark.parametrize(
    ("view", "shape", "roles"),
    [*product(LAYOUT_FUNCTIONS, SHAPES, (PLAIN, WEIGHTS)), ("folded", (3, 3, 4, 8), (3, 1, 0, 2))],
)


# --- where cells stand ------------------------------------------------------------------------------------------


@EVERY_LAYOUT
def test_every_cell_stands_at_the_sum_of_its_offsets(view, shape, roles):
    layout = compute_layout(view, shape, roles)
    places = set(map(tuple, positions(layout, shape).values()))
    assert len(places) == prod(shape)  # no two in one place
    assert places == {tuple(origin + place) for origin in layout.origins for place in np.ndindex(layout.block)}


@EVERY_LAYOUT
def test_the_extent_reaches_to_the_last_corner(view, shape, roles):
    layout = compute_layout(view, shape, roles)
    places = np.array(list(positions(layout, shape).values()))
    np.testing.assert_array_equal(layout.extent, places.max(axis=0) + 1)
    np.testing.assert_array_equal(places.min(axis=0), 0)


@EVERY_LAYOUT
def test_the_dimensions_say_where_an_axis_goes(view, shape, roles):
    layout = compute_layout(view, shape, roles)
    assert sorted(axis for along in layout.dimensions for axis in along) == [0, 1, 2, 3]
    for dimension, along in enumerate(layout.dimensions[:3]):
        for axis in along:
            assert not np.delete(layout.offsets[axis], dimension, axis=1).any()


def test_the_folded_view_is_that_of_the_paper():
    layout = compute_layout("folded", (4, 3, 2, 6))
    assert layout.dimensions == ((3,), (0,), (1, 2), ())  # C × N × H·W
    np.testing.assert_array_equal(layout.extent, [6, 4, 6])
    np.testing.assert_array_equal(positions(layout, (4, 3, 2, 6))[1, 2, 1, 5], [5, 1, 2 * 2 + 1])


def test_weights_are_drawn_with_input_channels_as_blocks():
    layout = compute_layout("unfolded", (3, 3, 4, 8), WEIGHTS)
    assert layout.dimensions == ((1,), (3,), (0,), (2,))  # kw across, Cout in depth, kh down; a block per Cin
    assert (len(layout.origins), layout.block) == (4, (3, 8, 3))


@given(shape=shapes)
def test_the_blocks_of_the_unfolded_view_do_not_touch(shape):
    layout = compute_layout("unfolded", shape)
    for one, other in combinations(layout.origins, 2):
        assert np.any(np.abs(one - other) >= np.add(layout.block, MIN_BLOCK_GAP))


@given(shape_fields=shapes_with_fields(1), view=st.sampled_from(list(LAYOUT_FUNCTIONS)), data=st.data())
def test_the_cells_in_a_box_are_those_of_its_elements(shape_fields, view, data):
    shape, field = shape_fields
    index = data.draw(st.tuples(*[st.integers(0, n - 1) for n in shape]))
    layout, box = compute_layout(view, shape), field.find_box(index, shape)
    at = positions(layout, shape)
    inside = {tuple(at[i]) for i in at if all(lo <= k < hi for k, (lo, hi) in zip(i, box, strict=True))}
    assert cells_in(layout, box) == inside


@given(shape_fields=shapes_with_fields(1), view=st.sampled_from(list(LAYOUT_FUNCTIONS)), data=st.data())
def test_the_parts_of_a_field_are_as_many_as_the_browser_would_frame(shape_fields, view, data):
    shape, field = shape_fields
    index = data.draw(st.tuples(*[st.integers(0, n - 1) for n in shape]))
    layout, box = compute_layout(view, shape), field.find_box(index, shape)
    found, left = 0, cells_in(layout, box)
    while left:  # from the cell that is first along every axis, a box as long as it goes
        start, found = min(left), found + 1
        ends = list(start)
        for d in range(3):
            while tuple(at + (ends[d] + 1 - at) * (e == d) for e, at in enumerate(start)) in left:
                ends[d] += 1
        left -= set(product(*(range(int(lo), int(hi) + 1) for lo, hi in zip(start, ends, strict=True))))
    assert count_gapless_boxes(layout, box) == found


# --- what cells are coloured by -----------------------------------------------------------------------------------


@given(shape_fields=shapes_with_fields(1))
def test_a_statistic_has_one_level_and_its_neighbours_have_others(shape_fields):
    shape, field = shape_fields
    levels, legend = cube.compute_hue_levels(shape, field)
    assert (levels.shape, levels.dtype, legend) == (shape, np.uint8, {"kind": "hues"})
    assert set(np.unique(levels)) <= {cube.LEVELS_PER_HUE * hue for hue in range(1, len(HUES) + 1)}
    level_of = {}
    for index in np.ndindex(shape):
        assert level_of.setdefault(field.find_statistic_index(index, shape), levels[index]) == levels[index]
    for statistic, level in level_of.items():
        for axis in range(4):
            neighbour = tuple(i + (a == axis) for a, i in enumerate(statistic))
            assert level_of.get(neighbour) != level


def test_values_are_symmetric_about_zero():
    x = np.array([-2.0, -1.0, 0.0, 1.0, 2.0]).reshape(1, 1, 1, 5)
    levels, legend = cube.compute_value_levels(x, "x̂")
    middle = (cube.LEVELS_PER_HUE + 255) / 2
    assert legend == {"kind": "scale", "largest": 2.0, "gaps": False, "name": "x̂"}
    assert levels.ravel()[[0, 4]].tolist() == [cube.LEVELS_PER_HUE, 255]
    np.testing.assert_allclose(levels.ravel() - middle, np.array([-1, -0.5, 0, 0.5, 1]) * (255 - middle), atol=0.5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_what_is_not_finite_has_the_level_zero_and_no_other_has(dtype):
    x = uneven_array((2, 3, 2, 4), 0, dtype)
    before, _ = cube.compute_value_levels(x)
    assert before.min() >= cube.LEVELS_PER_HUE
    wrong = np.zeros(x.shape, bool)
    for index, value in (((0, 0, 0, 0), np.nan), ((1, 2, 1, 3), np.inf), ((1, 0, 0, 2), -np.inf)):
        x[index], wrong[index] = value, True
    levels, legend = cube.compute_value_levels(x)
    np.testing.assert_array_equal(levels == 0, wrong)
    assert legend["gaps"]
    assert legend["largest"] == np.abs(x[~wrong]).max()


@pytest.mark.parametrize(
    ("value", "level"), [(0.0, (cube.LEVELS_PER_HUE + 256) // 2), (3.0, 255), (-1e308, cube.LEVELS_PER_HUE)]
)
def test_a_constant_tensor_has_one_level(value, level):
    levels, legend = cube.compute_value_levels(np.full((2, 2, 1, 3), value))
    assert set(levels.ravel()) == {level}
    assert legend["largest"] == (abs(value) or 1.0)


@pytest.mark.parametrize(
    ("low", "high", "ends"), [(0.25, 0.75, (0.0, 1.0)), (-1.0, 3.0, (-1.0, 3.0)), (2, 2, (2.0, 2.0))]
)
def test_a_picture_is_grey_from_black_to_white(low, high, ends):
    x = np.linspace(low, high, 12).reshape(1, 3, 4, 1)
    levels, legend = cube.compute_grey_levels(x)
    assert (legend["kind"], legend["low"], legend["high"], legend["gaps"]) == ("grey", *ends, False)
    shares = (x - ends[0]) / (ends[1] - ends[0] or 1)
    np.testing.assert_allclose(levels, cube.LEVELS_PER_HUE + shares * (255 - cube.LEVELS_PER_HUE), atol=0.5)
    (cells, *_) = checked(cube.draw_cube(compute_layout("unfolded", x.shape), levels, legend)).data
    assert [hue for _, hue in cells.colorscale] == ["#000000", "#ffffff"]
    assert cells.showscale


def test_a_cell_of_a_picture_in_colour_has_the_colour_of_its_pixel():
    x = np.random.default_rng(0).random((2, 3, 4, 3))
    levels, legend = cube.compute_grey_levels(x)
    pixels = legend["rgb"].reshape(*x.shape, 3)
    for channel in range(3):
        np.testing.assert_array_equal(pixels[..., channel, :], np.rint(255 * x))
    assert not checked(cube.draw_cube(compute_layout("unfolded", x.shape), levels, legend)).data[0].showscale
    x[0, 0, 0, 0] = np.nan
    levels, legend = cube.compute_grey_levels(x)
    assert "rgb" not in legend
    assert (levels == 0).sum() == 1


def test_nothing_finite_is_a_tensor_of_gaps():
    levels, legend = cube.compute_value_levels(np.full((2, 1, 1, 2), np.nan))
    assert not levels.any()
    assert legend == {"kind": "scale", "largest": 1.0, "gaps": True, "name": ""}


# --- the cube ---------------------------------------------------------------------------------------------------


def levels_of(kind, shape):
    x = uneven_array(shape, 0)
    if kind == "gaps":
        x[0, 0, 0, 0] = np.nan
    return {
        "plain": lambda: cube.make_uniform_levels(shape),
        "hues": lambda: cube.compute_hue_levels(shape, Field((OWN, FULL, FULL, OWN))),
    }.get(kind, lambda: cube.compute_value_levels(x))()


def figure_of(shape, view, kind="plain", theme="light", roles=PLAIN):
    return checked(cube.draw_cube(compute_layout(view, shape, roles), *levels_of(kind, shape), theme))


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("kind", ["plain", "hues", "scale", "gaps"])
@pytest.mark.parametrize(("view", "shape"), product(LAYOUT_FUNCTIONS, [(1, 1, 1, 1), (4, 4, 4, 6)]))
def test_the_cells_have_a_level_each_and_corners_later(view, shape, kind, theme):
    meshes = [trace for trace in figure_of(shape, view, kind, theme).data if isinstance(trace, go.Mesh3d)]
    assert [(trace.name, len(trace.x)) for trace in meshes] == [("cells", 0), ("field", 0), ("element", 0)]
    np.testing.assert_array_equal(meshes[0].intensity, levels_of(kind, shape)[0].ravel())


@pytest.mark.parametrize("is_opaque", [True, False])
def test_plain_cells_are_solid_if_nothing_is_to_show_through(is_opaque):
    shape = (4, 4, 4, 6)
    figure = cube.draw_cube(compute_layout("folded", shape), *cube.make_uniform_levels(shape, is_opaque))
    assert (figure.data[0]["opacity"] == 1) == is_opaque


@pytest.mark.parametrize("theme", THEMES)
def test_the_hues_of_the_scale_are_where_the_levels_are(theme):
    scale = figure_of((4, 4, 4, 6), "folded", "hues", theme).data[0].colorscale
    for number, hue in enumerate(HUES, 1):
        share = number * cube.LEVELS_PER_HUE / 255
        below = [colour for edge, colour in scale if edge <= share]
        above = [colour for edge, colour in scale if edge > share]
        assert below[-1] == above[0] == hue


@pytest.mark.parametrize(
    ("kind", "ticks"), [("plain", None), ("hues", None), ("scale", ["0"]), ("gaps", ["NaN, Inf", "0"])]
)
def test_only_values_have_a_colour_bar(kind, ticks):
    cells = figure_of((4, 4, 4, 6), "folded", kind).data[0]
    assert cells.showscale == (ticks is not None)
    assert cells.cmin == (cube.LEVELS_PER_HUE if kind == "scale" else 0)
    if ticks:
        _, legend = levels_of(kind, (4, 4, 4, 6))
        largest = f"{legend['largest']:.3g}"
        assert list(cells.colorbar.ticktext) == [*ticks[:-1], f"−{largest}", "0", largest]


def labels_of(shape, view, roles=PLAIN, **more):
    layout = compute_layout(view, shape, roles)
    return unpacked(pack_message(cube.build_labels_data(layout, [("x title", "y title", "z title")], **more)))


def test_titles_numbers_and_names_of_blocks_are_those_of_the_layout():
    labels = labels_of((3, 3, 4, 8), "unfolded", roles=WEIGHTS, block_name=("input channel", "i"))
    (each,) = labels["each"]
    assert each["titles"] == each["brief"] == ["x title", "y title", "z title"]
    assert each["ticks"] == [[], [8], []]  # along x and z an index has a place in every block
    layout = compute_layout("unfolded", (3, 3, 4, 8), WEIGHTS)
    assert (each["blocks"]["name"], each["blocks"]["letter"]) == ("input channel", "i")
    np.testing.assert_array_equal(each["blocks"]["origins"], layout.origins)
    np.testing.assert_array_equal(labels["extent"], layout.extent)
    assert labels_of((3, 3, 4, 8), "folded")["each"][0]["blocks"] is None


@pytest.mark.parametrize(
    ("shape", "ticks"),
    [
        ((4, 5, 3, 6), [[6], [4], [5, 3]]),
        ((4, 8, 1, 6), [[6], [4], [8]]),
        ((8, 1, 1, 12), [[12], [8], []]),
        ((1, 1, 1, 1), [[1], [1], []]),
        ((1, 1, 1, 5_000), [[], [1], []]),
    ],
)
def test_numbers_stand_along_a_dimension_of_one_axis_or_two(shape, ticks):
    assert labels_of(shape, "folded")["each"][0]["ticks"] == ticks


@pytest.mark.parametrize("roles", [PLAIN, WEIGHTS])
@pytest.mark.parametrize("view", LAYOUT_FUNCTIONS)
def test_the_hover_data_decode_back(view, roles):
    shape, scheme = (4, 3, 2, 6), SCHEMES["group"]
    x = uneven_array(shape, 1)
    result = normalize(x, scheme)
    fields = [(scheme.field, scheme.summation), (None, None)]
    layout = compute_layout(view, shape, roles)
    data = unpacked(pack_message(cube.build_hover_data(layout, fields, x, [result.xhat, x])))
    first, second = data["copies"]
    for sent, values in ((data["x"], x), (first["xhat"], result.xhat), (second["xhat"], x)):
        np.testing.assert_array_equal(sent, values.ravel().astype(np.float32))
    assert second["bounds"] is None
    for sent, offset in zip(data["offsets"], layout.offsets, strict=True):
        np.testing.assert_array_equal(sent, offset)
    for axis, (sent, rule) in enumerate(zip(first["bounds"], scheme.field.rules, strict=True)):
        np.testing.assert_array_equal(sent, rule.compute_bounds(shape[axis]))
    assert data["dimensions"] == [list(along) for along in layout.dimensions]
    assert (data["shape"], sorted(data["order"]), first["dashed"]) == ([4, 3, 2, 6], [0, 1, 2, 3], None)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_hover_data_of_what_float32_does_not_hold(value):
    x = np.full((1, 1, 1, 2), value)
    data = cube.build_hover_data(compute_layout("folded", x.shape), [(None, None)], x, [x])
    assert data["copies"][0]["bounds"] is None
    np.testing.assert_array_equal(data["x"], value if value != 1e300 else np.inf)


def test_only_a_summation_field_that_differs_is_dashed():
    shape, x = (2, 2, 2, 4), np.zeros((2, 2, 2, 4))
    field, wider = Field((OWN, FULL, FULL, OWN)), Field((OWN, FULL, FULL, Rule("groups", 2)))
    same = Field((OWN, Rule("window", 1), FULL, Rule("groups", 4)))  # in other words, on this shape
    sent = cube.build_hover_data(
        compute_layout("folded", shape), [(field, a) for a in (None, field, same, wider)], x, [x] * 4
    )
    dashed = [copy["dashed"] for copy in sent["copies"]]
    assert dashed[:3] == [None] * 3
    for axis, bounds in zip(dashed[3], wider.compute_bounds(shape), strict=True):
        np.testing.assert_array_equal(axis, bounds)


@pytest.mark.parametrize("view", LAYOUT_FUNCTIONS)
def test_copies_have_levels_titles_and_headings_of_their_own(view):
    shape, names = (2, 3, 2, 4), ("Batch", "Layer", "None")
    levels = np.stack([np.full(shape, k + 1, np.uint8) for k in range(3)])
    row = checked(cube.draw_cube(compute_layout(view, shape), levels, {"kind": "plain"}))
    np.testing.assert_array_equal(row.data[0].intensity, levels.ravel())
    titles = [[f"{d} of {name}" for d in "xyz"] for name in names]
    each = cube.build_labels_data(compute_layout(view, shape), titles, names, short_titles=("C", "N", "H·W"))["each"]
    assert [(one["heading"], one["titles"]) for one in each] == list(zip(names, titles, strict=True))
    assert all(one["brief"] == ["C", "N", "H·W"] for one in each)


@pytest.mark.parametrize("view", LAYOUT_FUNCTIONS)
@pytest.mark.parametrize("shape", [(4, 4, 4, 6), (1, 1, 1, 1), (2, 1, 1, 64), (1, 96, 128, 1)])
def test_an_element_at_the_border_keeps_its_face(view, shape):
    figure = figure_of(shape, view)
    layout = compute_layout(view, shape)
    overhang = cube.build_hover_data(layout, [(None, None)], np.zeros(shape), [np.zeros(shape)])["overhang"]
    for axis, extent in zip("xyz", layout.extent, strict=True):
        low, high = sorted(figure.layout.scene[f"{axis}axis"].range)
        assert low < -overhang, axis
        assert high > extent + overhang, axis


def test_the_field_is_opaque_so_that_no_inner_face_shows():
    [field] = [trace for trace in figure_of((4, 4, 4, 6), "folded").data if trace.name == "field"]
    assert field.opacity in (None, 1)


def test_error_bars_of_several_curves_stand_beside_each_other():
    x, y = np.array([1.0, 10.0, 100.0]), np.array([1.0, 2.0, 3.0])
    curves = [Curve(name, x, y, k, y - 0.5, y + 0.5, has_markers=True) for k, name in enumerate("abc")]
    panel = CurvePanel("", [*curves, Curve("d", x, y)], log="x")
    found = [np.array(trace["x"]) for trace in draw_curve_panels([panel]).data]
    factors = [each / x for each in found]
    np.testing.assert_allclose(factors[0] * factors[2], 1.0)
    assert (factors[0] < 0.97).all()
    np.testing.assert_array_equal([found[1], found[3]], [x, x])
