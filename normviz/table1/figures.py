"""Charts of the Table 1 page: twins' losses and their gap, gaps over a setting, and what was changed."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from normviz.ui.palette import THEMES
from normviz.ui.style import COLOUR_BAR, FLOOR, finish, line, marker, rule

DIVERGES = 100.0
"""Losses beyond this are drawn on a logarithmic axis."""


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
    for twin, style in zip(twins, styles, strict=False):
        steps = np.arange(1, len(twin.losses) + 1)
        loss = np.where(np.isfinite(twin.losses), twin.losses, np.nan)
        diverges |= bool(np.nanmax(loss, initial=0.0) > DIVERGES)
        figure.add_scatter(x=steps, y=loss, name=twin.name, line=style, mode="lines", row=1, col=1)
        if twin.gaps is not None:
            gaps = np.where(np.isfinite(twin.gaps), np.maximum(twin.gaps, FLOOR), np.nan)
            shown = {"line": style, "mode": "lines", "showlegend": False}
            figure.add_scatter(x=steps, y=gaps, name=twin.name, **shown, row=2, col=1)
    figure.add_hline(tolerance, line=rule(colours), row=2, col=1)
    figure.add_annotation(
        text="counts as together below this line", x=1, xref="x2 domain", xanchor="right", y=np.log10(tolerance),
        yref="y2", yanchor="top", showarrow=False,
    )  # fmt: skip
    figure.update_xaxes(title={"text": "step", "standoff": 4}, row=2, col=1)
    figure.update_yaxes(exponentformat="power")
    figure.update_yaxes(type="log" if diverges else "linear", row=1, col=1)
    figure.update_yaxes(type="log", dtick=4, range=[-17.5, 2.5], row=2, col=1)
    return finish(figure, colours, {"t": 30, "b": 30, "l": 60}, {"y": -0.22})


def gap_panels(
    x: Sequence[float],
    panels: Mapping[str, Mapping[str, np.ndarray]],
    axis: str,
    marked: float | None = None,
    theme: str = "light",
    whole: bool = False,
) -> go.Figure:
    """For each title, curves of gaps by name over x, both logarithmic, one panel beside the other.

    `axis`: what x is; `marked`: the x that the page is set to, a line; `whole`: x are whole numbers, on a linear axis.
    """
    colours, columns = THEMES[theme], min(3, len(panels))
    rows = -(-len(panels) // columns)
    figure = make_subplots(
        rows, columns, shared_xaxes=True, shared_yaxes=True, horizontal_spacing=0.03,
        vertical_spacing=0.14, subplot_titles=list(panels),
    )  # fmt: skip
    for number, curves in enumerate(panels.values()):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        for k, (name, gaps) in enumerate(curves.items()):
            shown = np.where(np.isnan(gaps), np.nan, np.clip(gaps, FLOOR, 1e4))
            figure.add_scatter(
                x=list(x), y=shown, name=name, legendgroup=name, showlegend=number == 0, line=line(k, colours, 2.5),
                marker=marker(k, colours), mode="lines+markers", **place,
            )  # fmt: skip
        if marked:
            figure.add_vline(marked, line=rule(colours), **place)
    scale = {"type": "linear", "dtick": 1} if whole else {"type": "log", "dtick": 4 if max(x) / min(x) > 1e8 else 1}
    figure.update_xaxes(tickangle=0, exponentformat="power", **scale)
    figure.update_yaxes(type="log", range=[-17.5, 4.2], dtick=4, exponentformat="power")
    for column in range(1, columns + 1):
        figure.update_xaxes(title=axis, row=rows, col=column)
    return finish(figure, colours, {"t": 30, "b": 30, "l": 60}, {"y": -0.32 / rows})


def before_after(before: np.ndarray, after: np.ndarray, titles: Sequence[str], theme: str = "light") -> go.Figure:
    """Two matrices side by side in one scale of colours, which ends at four times the first one's largest number."""
    colours = THEMES[theme]
    largest = min(float(np.abs(after).max()), 4 * float(np.abs(before).max()))
    largest = max(largest, float(np.abs(before).max())) or 1.0
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.06)
    for column, matrix in enumerate((before, after), 1):
        figure.add_heatmap(z=matrix, coloraxis="coloraxis", hovertemplate="%{z:.4g}<extra></extra>", row=1, col=column)
    scale = {"colorscale": colours.diverging, "cmin": -largest, "cmax": largest, "colorbar": COLOUR_BAR}
    figure.update_layout(coloraxis=scale)
    figure.update_xaxes(visible=False, constrain="domain")
    for column in (1, 2):
        anchor = "x" if column == 1 else "x2"
        figure.update_yaxes(visible=False, autorange="reversed", scaleanchor=anchor, col=column)
    return finish(figure, colours, {"t": 34, "l": 10, "b": 10})
