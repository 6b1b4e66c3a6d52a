"""Charts of the Table 1 page: twins' losses and their gap, gaps over a setting, and what was changed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from normviz.figures.charts import DASHES, look
from normviz.figures.palette import THEMES

FLOOR = 1e-17
"""Where a gap of exactly 0 stands on a logarithmic axis."""

DIVERGES = 100.0
"""Losses beyond this are drawn on a logarithmic axis."""

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "triangle-down", "star")


class Twin(NamedTuple):
    """One network's curves, by step: its losses, and their gap to the original; None for the original itself."""

    name: str
    losses: np.ndarray
    gaps: np.ndarray | None


def training_curves(twins: Sequence[Twin], tolerance: float, theme: str = "light") -> go.Figure:
    """The losses above, the gaps on a logarithmic axis below, over the steps; each twin in its colour and dash.

    `tolerance`: the gap up to which twins count as together, a line.
    """
    colours = THEMES[theme]
    styles = [
        {"color": colours.muted, "width": 7},
        {"color": colours.element, "width": 3, "dash": "dash"},
        {"color": colours.field, "width": 3, "dash": "dot"},
    ]
    titles = ("Loss", "Gap to the original, relative")
    figure = make_subplots(2, 1, shared_xaxes=True, vertical_spacing=0.13, subplot_titles=titles)
    diverges = False
    for twin, line in zip(twins, styles, strict=False):
        steps = np.arange(1, len(twin.losses) + 1)
        loss = np.where(np.isfinite(twin.losses), twin.losses, np.nan)
        diverges |= bool(np.nanmax(loss, initial=0.0) > DIVERGES)
        figure.add_scatter(x=steps, y=loss, name=twin.name, line=line, mode="lines", row=1, col=1)
        if twin.gaps is not None:
            gaps = np.where(np.isfinite(twin.gaps), np.maximum(twin.gaps, FLOOR), np.nan)
            figure.add_scatter(x=steps, y=gaps, name=twin.name, showlegend=False, line=line, mode="lines", row=2, col=1)
    figure.add_hline(tolerance, line={"color": colours.ink, "width": 1.5, "dash": "dashdot"}, row=2, col=1)
    figure.add_annotation(
        text="counts as together below this line", x=1, xref="x2 domain", xanchor="right", y=np.log10(tolerance),
        yref="y2", yanchor="top", showarrow=False,
    )  # fmt: skip
    figure.update_layout(**look(colours))
    figure.update_layout(legend={"orientation": "h", "y": -0.22}, margin={"t": 30, "b": 30, "l": 60})
    figure.update_xaxes(gridcolor=colours.grid, griddash="dot", zeroline=False)
    figure.update_xaxes(title={"text": "step", "standoff": 4}, row=2, col=1)
    figure.update_yaxes(gridcolor=colours.grid, griddash="dot", zeroline=False, exponentformat="power")
    figure.update_yaxes(type="log" if diverges else "linear", row=1, col=1)
    figure.update_yaxes(type="log", dtick=4, range=[-17.5, 2.5], row=2, col=1)
    figure.update_annotations(font={"size": 16, "color": colours.ink})
    return figure


def gap_panels(
    x: Sequence[float],
    panels: Mapping[str, Mapping[str, np.ndarray]],
    axis: str,
    marked: float | None = None,
    theme: str = "light",
) -> go.Figure:
    """For each title, curves of gaps by name over x, both logarithmic, one panel beside the other.

    `axis`: what x is; `marked`: the x that the page is set to, a line.
    """
    colours, columns = THEMES[theme], min(3, len(panels))
    figure = make_subplots(
        -(-len(panels) // columns), columns, shared_xaxes=True, shared_yaxes=True, horizontal_spacing=0.03,
        vertical_spacing=0.14, subplot_titles=list(panels),
    )  # fmt: skip
    for number, curves in enumerate(panels.values()):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        for k, (name, gaps) in enumerate(curves.items()):
            shown = np.where(np.isnan(gaps), np.nan, np.clip(gaps, FLOOR, 1e4))
            style = {"color": colours.lines[k % len(colours.lines)], "dash": DASHES[k % len(DASHES)], "width": 2.5}
            marker = {"symbol": SYMBOLS[k % len(SYMBOLS)], "size": 8}
            figure.add_scatter(
                x=list(x), y=shown, name=name, legendgroup=name, showlegend=number == 0, line=style, marker=marker,
                mode="lines+markers", **place,
            )  # fmt: skip
        if marked:
            figure.add_vline(marked, line={"color": colours.ink, "width": 1.5, "dash": "dashdot"}, **place)
    figure.update_layout(**look(colours))
    figure.update_layout(legend={"orientation": "h", "y": -0.16}, margin={"t": 30, "b": 30, "l": 60})
    lines = {"gridcolor": colours.grid, "griddash": "dot", "zeroline": False, "exponentformat": "power"}
    figure.update_xaxes(type="log", dtick=4 if max(x) / min(x) > 1e8 else 1, tickangle=0, **lines)
    figure.update_yaxes(type="log", range=[-17.5, 4.2], dtick=4, **lines)
    for column in range(1, columns + 1):
        figure.update_xaxes(title=axis, row=-(-len(panels) // columns), col=column)
    figure.update_annotations(font={"size": 16, "color": colours.ink})
    return figure


def before_after(before: np.ndarray, after: np.ndarray, titles: Sequence[str], theme: str = "light") -> go.Figure:
    """Two matrices side by side in one scale of colours, which ends at four times the first one's largest number."""
    colours = THEMES[theme]
    largest = min(float(np.abs(after).max()), 4 * float(np.abs(before).max()))
    largest = max(largest, float(np.abs(before).max())) or 1.0
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.06)
    for column, matrix in enumerate((before, after), 1):
        figure.add_heatmap(z=matrix, coloraxis="coloraxis", hovertemplate="%{z:.4g}<extra></extra>", row=1, col=column)
    figure.update_layout(**look(colours))
    scale = [[0, colours.low], [0.5, colours.middle], [1, colours.high]]
    bar = {"thickness": 14, "outlinewidth": 0}
    figure.update_layout(
        coloraxis={"colorscale": scale, "cmin": -largest, "cmax": largest, "colorbar": bar},
        margin={"t": 34, "l": 10, "b": 10},
    )
    figure.update_xaxes(visible=False, constrain="domain")
    for column in (1, 2):
        anchor = "x" if column == 1 else "x2"
        figure.update_yaxes(visible=False, autorange="reversed", scaleanchor=anchor, col=column)
    figure.update_annotations(font={"size": 16, "color": colours.ink})
    return figure
