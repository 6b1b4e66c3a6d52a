"""Charts of the page "Step size": titled curves, and the plane of two weights. Each is one panel."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import PANEL_TITLE_SIZE, apply_chart_style, style_curve, style_marker

MAX_MARKED_POINTS = 40
"""Curves of more points have no markers."""


class StyledCurve(NamedTuple):
    """Curve of the values `y` over `x`; `look` numbers its colour, dash and marker."""

    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    look: int


def draw_titled_curves(
    title: str, curves_by_name: Mapping[str, StyledCurve], x_title: str, theme: str = "light"
) -> Figure:
    """Return a figure of curves by name under a title; `x_title`: of the axis below, `theme`: "light" or "dark"."""
    colours = THEMES[theme]
    figure = Figure()
    for name, (at, values, look) in curves_by_name.items():
        few = len(values) <= MAX_MARKED_POINTS
        figure.add_scatter(
            x=list(at), y=np.asarray(values, float), name=name, mode="lines+markers" if few else "lines",
            line=style_curve(look, colours, 2.5), marker=style_marker(look, colours, 8) if few else None,
        )  # fmt: skip
    heading = {"text": title, "font": {"size": PANEL_TITLE_SIZE}, "x": 0.5, "y": 0.985, "yanchor": "top"}
    figure.update_layout(title=heading, showlegend=True)
    figure.update_xaxes(title={"text": x_title, "standoff": 4}, tickangle=0, automargin=True)
    figure.update_yaxes(automargin=True)
    return apply_chart_style(figure, colours, {"t": 36, "b": 30}, {"y": -0.2})


class DistanceRegion(NamedTuple):
    """Points (k, 2) around w at one KL distance: exactly, and by the quadratic form of F."""

    w: np.ndarray
    exact: np.ndarray
    quadratic: np.ndarray


EXACT, QUADRATIC = "KL, exact", "½ δᵀFδ"


def draw_distance_region(title: str, region: DistanceRegion, half: float, look: int, theme: str = "light") -> Figure:
    """Return a figure of the region around the weights w within one KL distance, in the plane of two weights.

    The origin is a cross, w an arrow from it. The exact region is filled, the border of the quadratic one dashed.
    """
    colours = THEMES[theme]
    colour = colours.lines[look % len(colours.lines)]
    figure = Figure()
    for name, points, style in (
        (EXACT, region.exact, {"fill": "toself", "fillcolor": f"{colour}40", "line": {"color": colour, "width": 2.5}}),
        (QUADRATIC, region.quadratic, {"line": {"color": colours.ink, "width": 2, "dash": "dash"}}),
    ):
        round_ = np.concatenate([points, points[:1]])
        figure.add_scatter(x=round_[:, 0], y=round_[:, 1], name=name, mode="lines", hoverinfo="skip", **style)
    figure.add_scatter(
        x=[0], y=[0], mode="markers", hoverinfo="skip", showlegend=False,
        marker={"symbol": "cross-thin", "size": 14, "line": {"width": 2, "color": colours.ink}},
    )  # fmt: skip
    figure.add_scatter(
        x=[region.w[0]], y=[region.w[1]], mode="markers", name="w", showlegend=False,
        marker={"symbol": "circle", "size": 9, "color": colours.ink},
    )  # fmt: skip
    figure.add_annotation(
        x=region.w[0], y=region.w[1], ax=0, ay=0, xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True,
        arrowhead=2, arrowsize=1.1, arrowwidth=2.5, arrowcolor=colours.ink,
    )  # fmt: skip
    figure.add_annotation(x=region.w[0], y=region.w[1], text="<b>w</b>", showarrow=False, yshift=14, xshift=10)
    heading = {"text": title, "font": {"size": PANEL_TITLE_SIZE}, "x": 0.5, "y": 0.985, "yanchor": "top"}
    figure.update_layout(title=heading, showlegend=True)
    figure.update_xaxes(range=[-half, half], constrain="domain", title={"text": "w₀", "standoff": 2}, dtick=2)
    figure.update_yaxes(
        range=[-half, half], scaleanchor="x", constrain="domain", title={"text": "w₁", "standoff": 2}, dtick=2
    )
    return apply_chart_style(figure, colours, {"t": 36, "b": 34, "l": 44}, {"y": -0.16}, zero_lines="xy")
