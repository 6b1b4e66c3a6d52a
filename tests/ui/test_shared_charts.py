"""Charts that several topics show."""

import numpy as np
import pytest
from checked import checked

from normviz.charts.common_charts import draw_gap_panels
from normviz.charts.curves import Curve, CurvePanel, draw_curve_panels


@pytest.mark.parametrize("count", range(1, 8))
def test_every_column_of_panels_ends_with_a_title_and_with_ticks(count):
    panels = {f"panel {k}": {"curve": np.full(3, 1e-3)} for k in range(count)}
    layout = checked(draw_gap_panels((0.1, 1.0, 10.0), panels, "δ")).to_dict()["layout"]
    axes = {f"x{'' if k == 0 else k + 1}": layout[f"xaxis{'' if k == 0 else k + 1}"] for k in range(count)}
    lowest = {}
    for name, axis in axes.items():
        bottom = layout[f"yaxis{name[1:]}"]["domain"][0]
        column = axis["domain"][0]
        lowest[column] = min(lowest.get(column, (2.0, "")), (bottom, name))
    ends = {name for _, name in lowest.values()}
    assert {name for name, axis in axes.items() if axis.get("title", {}).get("text") == "δ"} == ends
    assert all(axes[name].get("showticklabels", True) for name in ends)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 6])
def test_no_place_for_a_panel_is_left_empty(count):
    figure = draw_gap_panels((0.1, 1.0), {f"panel {k}": {"curve": np.ones(2)} for k in range(count)}, "δ").to_dict()
    assert sum(key.startswith("xaxis") for key in figure["layout"]) == count


def test_points_that_stand_apart_have_bars_and_names_and_no_line():
    low, middle, high = (np.array(each) for each in ([1.0, 2.0], [2.0, 2.5], [4.0, 3.0]))
    panel = CurvePanel(
        "", [Curve("a", np.arange(2), middle, 1, low, high, is_scatter=True)], marks=(0, 1), names=("x", "y")
    )
    figure = draw_curve_panels([panel])
    checked(figure)
    (drawn,) = figure.data
    assert drawn["mode"] == "markers"
    assert list(drawn["error_y"]["array"]) == [2.0, 0.5]
    assert list(drawn["error_y"]["arrayminus"]) == [1.0, 0.5]
    assert list(figure.layout["xaxis"]["ticktext"]) == ["x", "y"]


def test_marked_points_on_a_line_have_bars_and_a_line_without_them_has_a_band():
    heights = np.array([2.0, 2.5])
    for points, traces in ((True, 1), (False, 3)):
        curve = Curve("a", np.arange(2), heights, 1, heights - 1, heights + 2, has_markers=points)
        figure = checked(draw_curve_panels([CurvePanel("", [curve])]))
        assert len(figure.data) == traces
        assert ("error_y" in figure.data[-1].to_plotly_json()) == points
        assert figure.data[-1].mode == ("lines+markers" if points else "lines")


@pytest.mark.parametrize("values", [[], [np.nan, np.inf], [0.0, 0.0], [0.0, 1e-3, np.inf, 2.0], [0.1, np.nan, 0.3]])
def test_a_logarithmic_axis_is_of_the_numbers_that_it_can_show(values):
    heights = np.array(values)
    figure = draw_curve_panels([CurvePanel("", [Curve("a", np.arange(len(heights)) + 1.0, heights)], log="xy")])
    assert figure.layout["yaxis"]["type"] == "log"
    assert np.isfinite(figure.layout["yaxis"].get("dtick", 1))


def test_a_plane_has_equal_units_and_clouds_small_points():
    cloud = Curve("a", np.zeros(3), np.ones(3), is_scatter=True, size=4)
    figure = draw_curve_panels([CurvePanel("", [cloud]), CurvePanel("", [cloud], square=3.0)])
    checked(figure)
    assert figure.layout["xaxis2"]["range"] == figure.layout["yaxis2"]["range"] == [-3.0, 3.0]
    assert figure.layout["yaxis2"]["scaleanchor"] == "x2"
    assert "scaleanchor" not in figure.layout["yaxis"]
    assert figure.data[0]["marker"]["size"] == 4


@pytest.mark.parametrize("count", [2, 8, 40])
def test_panels_have_a_height_however_many_they_are(count):
    layout = draw_curve_panels([CurvePanel("", [Curve("a", np.zeros(3), np.ones(3))])] * count, columns=3).layout
    heights = [np.ptp(layout[axis]["domain"]) for axis in layout if axis.startswith("yaxis")]
    assert min(heights) * -(-count // 3) > 0.5
