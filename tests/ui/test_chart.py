"""Figures as plain data: what Plotly's own objects would be, and what is sent of them."""

import json
from itertools import product

import pytest
from checked import checked
from plotly.graph_objects import Figure as PlotlyFigure
from plotly.subplots import make_subplots as plotly_subplots

from normviz.charts.chart import Figure, make_subplots

LINE = {"width": 2, "color": "#123456"}


def drawn(figure, places):
    """The same calls on a figure of either kind."""
    for kind, place in zip(("scatter", "bar", "heatmap", "contour") * 2, places, strict=False):
        values = {"z": [[1, 2]]} if kind in ("heatmap", "contour") else {"x": [1, 2], "y": [3, None]}
        getattr(figure, f"add_{kind}")(**values, name=kind, hoverinfo=None, **place)
    figure.add_vline(1, line=LINE)
    figure.add_vline(2, line=LINE, **places[-1])
    figure.add_hline(3, line=LINE, **places[0])
    figure.add_annotation(text="here", x=1, y=2, showarrow=False, font={"size": 9})
    figure.update_xaxes(title="all", type="log", dtick=2)
    figure.update_xaxes(title={"standoff": 4}, dtick=None)
    figure.update_yaxes(range=[0, 1], **places[0])
    figure.update_layout(legend={"orientation": "h"}, margin={"l": 1})
    figure.update_layout(legend={"y": -0.2})
    figure.update_annotations(font={"color": "#000"})
    return figure


def same(ours, theirs):
    """Whether two figures are the same, but for the template and the last digits of numbers."""
    found, expected = ours.to_dict(), json.loads(theirs.to_json())
    expected["layout"].pop("template")
    assert found["data"] == expected["data"]
    assert rounded(found["layout"]) == rounded(expected["layout"])


def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    if isinstance(value, list):
        return [rounded(each) for each in value]
    return round(value, 9) if isinstance(value, float) else value


@pytest.mark.parametrize(("rows", "across", "down"), list(product((1, 2, 3), (False, True), (False, True))))
def test_panels_are_those_that_plotly_would_build(rows, across, down):
    asked = {"shared_xaxes": down, "shared_yaxes": across, "horizontal_spacing": 0.1, "vertical_spacing": 0.2}
    titles, places = ["a", "b"] * rows, [{"row": r + 1, "col": c + 1} for r in range(rows) for c in (0, 1)]
    ours, theirs = (make(rows, 2, subplot_titles=titles, **asked) for make in (make_subplots, plotly_subplots))
    for figure in (drawn(ours, places), drawn(theirs, places)):
        figure.update_xaxes(showgrid=False, row=rows)
        figure.update_yaxes(nticks=3, col=2)
    same(ours, theirs)


def test_a_figure_of_one_panel_is_what_plotly_would_build():
    same(drawn(Figure(), [{}]), drawn(PlotlyFigure(), [{}]))


def test_constants_are_not_changed_by_a_figure():
    line = {"width": 1}
    figure = Figure()
    figure.add_hline(1, line=line)
    figure.update_layout(shapes=figure.layout["shapes"], margin=line)
    figure.update_layout(margin={"width": 5})
    assert (line, figure.layout["margin"]) == ({"width": 1}, {"width": 5})


def test_what_plotly_does_not_know_is_seen():
    figure = Figure()
    figure.add_scatter(x=[1], y=[1], colour="red")
    with pytest.raises(ValueError, match="colour"):
        checked(figure)
