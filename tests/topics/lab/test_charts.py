"""The flat charts: histograms, and the statistics as a heat map."""

import numpy as np
import plotly.graph_objects as go
import pytest
from checked import checked
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from normviz.charts.common_charts import MAX_HEATMAP_LABELS, draw_statistics_map
from normviz.charts.palette import THEMES
from normviz.topics.lab.figures import BIN_COUNT, draw_histograms

NORMAL = np.random.default_rng(0).standard_normal(200)
AXES = ("N", "H", "W", "C")
floats = st.floats(allow_subnormal=False) | st.just(0.0)


def bars(values, field):
    """Centres and shares of both sets of bars."""
    everything, part = checked(draw_histograms([("before", values, field)])).data
    return np.array(everything.x), np.array(everything.y), np.array(part.y)


# --- histograms ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
def test_two_panels_with_two_sets_of_bars_each(theme):
    figure = checked(draw_histograms([("before", NORMAL, NORMAL[:9]), ("after", 2 * NORMAL, NORMAL[:9])], theme))
    assert [type(trace) for trace in figure.data] == [go.Bar] * 4
    assert [trace.name for trace in figure.data] == ["all elements", "the field"] * 2
    assert [trace.showlegend for trace in figure.data] == [True, True, False, False]
    assert [trace.xaxis for trace in figure.data] == ["x", "x", "x2", "x2"]
    assert [title.text for title in figure.layout.annotations] == ["before", "after"]
    assert figure.data[1].marker.color == THEMES[theme].field
    assert figure.layout.font.color == THEMES[theme].ink


def test_the_bars_are_shares_of_the_elements():
    centres, everything, part = bars(NORMAL, NORMAL[:50])
    assert len(centres) == BIN_COUNT
    counts, edges = np.histogram(NORMAL, BIN_COUNT)
    np.testing.assert_allclose(centres, (edges[1:] + edges[:-1]) / 2)
    np.testing.assert_allclose(everything, counts / 200)
    assert part.sum() == pytest.approx(1)


CONSTANTS = [np.float64(value) for value in (0, 3, -1e-300, 1e20, -1e308, np.finfo(np.float64).max)]
CONSTANTS += [np.float32(3), np.float32(-1e20), np.finfo(np.float32).max]


@pytest.mark.parametrize("value", CONSTANTS, ids=repr)
def test_a_constant_tensor_is_one_bar(value):
    centres, everything, part = bars(np.full((2, 3), value), np.full(2, value))
    assert np.all(np.isfinite(centres))
    assert np.all(np.diff(centres) > 0)
    assert sorted(everything)[-2:] == sorted(part)[-2:] == [0, 1]


def test_what_is_not_finite_is_missing_from_the_bars():
    values = np.array([0.0, 1.0, np.nan, np.inf, -np.inf])
    centres, everything, part = bars(values, np.array([np.nan]))
    assert (centres[0] > 0, centres[-1] < 1) == (True, True)
    assert everything.sum() == pytest.approx(2 / 5)
    assert not part.any()


@given(values=arrays(np.float64, st.integers(1, 8), elements=floats))
def test_no_tensor_raises(values):
    centres, everything, part = bars(values, values[:1])
    assert np.all(np.isfinite(centres))
    assert everything.sum() == pytest.approx(np.isfinite(values).mean())
    assert part.sum() == pytest.approx(np.isfinite(values[:1]).mean())


# --- the map of statistics ----------------------------------------------------------------------------------------


def map_of(values, focus=(0, 0, 0, 0), theme="light"):
    figure = checked(draw_statistics_map(values, AXES, focus, "mean", theme))
    (heatmap,) = figure.data
    return figure, heatmap


@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (4, 1, 1, 6), (2, 3, 4, 5), (4, 1, 1, 1), (1, 1, 1, 6)])
def test_a_map_shows_every_statistic_at_its_place(shape):
    values = np.random.default_rng(0).random(shape)
    focus = tuple(n - 1 for n in shape)
    figure, heatmap = map_of(values, focus)
    n, h, w, c = shape
    for index in np.ndindex(shape):
        assert heatmap.z[index[0] * h + index[1]][index[2] * c + index[3]] == values[index]
    (frame,) = figure.layout.shapes
    assert (frame.x0, frame.x1, frame.y0, frame.y1) == (w * c - 1.5, w * c - 0.5, n * h - 1.5, n * h - 0.5)
    assert figure.layout.yaxis.autorange == "reversed"


@pytest.mark.parametrize("theme", THEMES)
def test_negative_statistics_have_a_scale_that_is_symmetric_about_zero(theme):
    colours = THEMES[theme]
    _, heatmap = map_of(np.array([-3.0, 1.0]).reshape(2, 1, 1, 1), theme=theme)
    assert (heatmap.zmin, heatmap.zmax) == (-3, 3)
    assert [colour for _, colour in heatmap.colorscale] == [colours.low, colours.middle, colours.high]
    _, heatmap = map_of(np.array([3.0, 1.0]).reshape(2, 1, 1, 1), theme=theme)
    assert (heatmap.zmin, heatmap.zmax) == (0, 3)
    assert [colour for _, colour in heatmap.colorscale] == [colours.middle, colours.high]


@pytest.mark.parametrize(
    ("values", "zmax"),
    [([np.nan, np.nan], 1), ([np.inf, np.nan], 1), ([0.0, 0.0], 1), ([np.nan, 2.0], 2), ([1e308], 1e308)],
)
def test_statistics_that_are_not_finite_or_zero(values, zmax):
    _, heatmap = map_of(np.array(values).reshape(-1, 1, 1, 1))
    assert (heatmap.zmin, heatmap.zmax) == (0, zmax)


def test_only_a_few_statistics_have_their_number_written():
    for count, written in ((MAX_HEATMAP_LABELS, True), (MAX_HEATMAP_LABELS + 1, False)):
        assert (map_of(np.ones((count, 1, 1, 1)))[1].texttemplate is not None) == written


@pytest.mark.parametrize(
    ("shape", "x", "y", "ticks"),
    [
        ((4, 1, 1, 3), "C", "N", (["0", "1", "2"], ["0", "1", "2", "3"])),
        ((2, 2, 1, 1), "", "N, H", (["0"], ["0,0", "0,1", "1,0", "1,1"])),
        ((1, 3, 2, 1), "W", "H", (["0", "1"], ["0", "1", "2"])),
        ((17, 1, 1, 1), "", "N", (["0"], [])),
    ],
)
def test_the_axes_of_a_map_are_named_and_counted(shape, x, y, ticks):
    figure, _ = map_of(np.ones(shape))
    layout = figure.layout
    assert (layout.xaxis.title.text or "", layout.yaxis.title.text) == (x, y)
    assert (list(layout.xaxis.ticktext), list(layout.yaxis.ticktext)) == ticks
