"""The figure of the Jacobian: the matrix with its fields."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import COLOUR_BAR_STYLE, apply_chart_style

MAX_NAMED_ELEMENTS = 24
"""Largest number of elements with room for their indices beside the matrix."""

MAX_FRAMED_FIELDS = 36
"""Largest number of fields that get a frame."""


def draw_jacobian_map(matrix: np.ndarray, names: Sequence[str], edges: np.ndarray, theme: str = "light") -> Figure:
    """Return a heat map of the Jacobian, x̂ down and x across, with a frame around each block of shared statistics.

    `names`: the indices of the elements, in the order of the matrix; `edges`: the starts of the fields, and the end.
    """
    colours = THEMES[theme]
    largest = float(np.abs(matrix).max()) or 1.0
    figure = Figure()
    figure.add_heatmap(
        x=list(names), y=list(names), z=matrix, zmin=-largest, zmax=largest, colorscale=colours.diverging_scale,
        colorbar=COLOUR_BAR_STYLE | {"len": 0.8}, hovertemplate="∂x̂[%{y}] / ∂x[%{x}] = %{z:.4g}<extra></extra>",
    )  # fmt: skip
    if len(edges) - 1 <= MAX_FRAMED_FIELDS:
        for start, end in pairwise(edges.tolist()):
            ends = {"x0": start - 0.5, "x1": end - 0.5, "y0": start - 0.5, "y1": end - 0.5}
            figure.add_shape(type="rect", line={"color": colours.ink, "width": 2}, **ends)
    shown = len(names) <= MAX_NAMED_ELEMENTS
    axis = {"type": "category", "showticklabels": shown, "showgrid": False, "tickfont": {"size": 11}, "ticks": ""}
    figure.update_xaxes(title="x of element n, h, w, c", constrain="domain", tickangle=-90, **axis)
    figure.update_yaxes(title="x̂ of element", autorange="reversed", scaleanchor="x", constrain="domain", **axis)
    return apply_chart_style(figure, colours, {"l": 70, "b": 80 if shown else 40, "t": 8})
