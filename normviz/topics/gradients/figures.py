"""Figures of the page on gradients: tensors and matrices of numbers."""

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import PANEL_TITLE_SIZE, apply_chart_style
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
