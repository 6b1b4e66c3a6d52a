"""Figures of the page on gradients: tensors of numbers, and the Jacobian with its fields."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import COLOUR_BAR_STYLE, PANEL_TITLE_SIZE, apply_chart_style
from normviz.core.text import format_number

MAX_LABELLED_CELLS = 6, 6
"""Rows and columns of cells with room for their number."""


def draw_tensor_map(values: np.ndarray, title: str, theme: str = "light", zero_threshold: float = 0.0) -> Figure:
    """Return a heat map of a tensor (NH × WC); magnitudes up to `zero_threshold` are 0."""
    colours = THEMES[theme]
    n, h, w, c = values.shape
    flat = np.where(np.abs(values) <= zero_threshold, 0.0, values).reshape(n * h, w * c)
    largest, cells = float(np.abs(flat).max()) or 1.0, np.arange(flat.size).reshape(flat.shape)
    labelled = flat.shape[0] <= MAX_LABELLED_CELLS[0] and flat.shape[1] <= MAX_LABELLED_CELLS[1]
    figure = Figure()
    figure.add_heatmap(
        z=flat, zmin=-largest, zmax=largest, colorscale=colours.diverging_scale, showscale=False, xgap=1, ygap=1,
        text=[[format_number(value, 2) for value in row] for row in flat] if labelled else None,
        texttemplate="%{text}" if labelled else None,
        textfont={"size": 14},
        customdata=[[", ".join(map(str, np.unravel_index(k, values.shape))) for k in row] for row in cells],
        hovertemplate="n, h, w, c = %{customdata}: %{z:.4g}<extra></extra>",
    )  # fmt: skip
    figure.update_layout(
        title={"text": title, "font": {"size": PANEL_TITLE_SIZE}, "x": 0.5, "y": 0.98, "yanchor": "top"}
    )
    figure.update_xaxes(visible=False)
    figure.update_yaxes(visible=False, autorange="reversed")
    return apply_chart_style(figure, colours, {"t": 32, "l": 6, "r": 6, "b": 6})


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
    if len(edges) - 1 <= 36:
        for start, end in pairwise(edges.tolist()):
            ends = {"x0": start - 0.5, "x1": end - 0.5, "y0": start - 0.5, "y1": end - 0.5}
            figure.add_shape(type="rect", line={"color": colours.ink, "width": 2}, **ends)
    shown = len(names) <= 24  # else there is no room
    axis = {"type": "category", "showticklabels": shown, "showgrid": False, "tickfont": {"size": 11}, "ticks": ""}
    figure.update_xaxes(title="x of element n, h, w, c", constrain="domain", tickangle=-90, **axis)
    figure.update_yaxes(title="x̂ of element", autorange="reversed", scaleanchor="x", constrain="domain", **axis)
    return apply_chart_style(figure, colours, {"l": 70, "b": 80 if shown else 40, "t": 8})
