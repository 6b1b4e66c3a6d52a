"""The figures of the page on geometry: valid for Plotly."""

import numpy as np
import plotly.graph_objects as go
import pytest

from normviz.charts.palette import THEMES
from normviz.topics.geometry.figures import DistanceRegion, StyledCurve, draw_distance_region, draw_titled_curves

every_theme = pytest.mark.parametrize("theme", THEMES)


def valid(figure):
    go.Figure(figure.to_dict())
    return figure


@every_theme
def test_curves_differ_in_more_than_colour(theme):
    figure = valid(
        draw_titled_curves("t", {str(k): StyledCurve([1, 2], [k, 2], k) for k in range(5)}, "x", theme=theme)
    )
    assert len({each["line"]["dash"] for each in figure.data}) == 5
    assert len({each["marker"]["symbol"] for each in figure.data}) == 5


@every_theme
def test_the_plane_shows_w_and_both_borders(theme):
    turn = np.linspace(0, 6, 30)
    ring = np.stack([np.cos(turn), np.sin(turn)], axis=1)
    figure = valid(draw_distance_region("t", DistanceRegion(np.array([1.0, -1.0]), ring, 2 * ring), 5.0, 1, theme))
    exact, quadratic, *_ = figure.data
    assert (exact["fill"], quadratic["line"]["dash"]) == ("toself", "dash")
    assert figure.layout["yaxis"]["scaleanchor"] == "x"
