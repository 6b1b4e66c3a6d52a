"""Flat charts: histograms before and after, and the statistics as a picture of their shape."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from normviz.ui.palette import THEMES
from normviz.ui.style import COLOUR_BAR, finish, here, line

BINS = 40
LABELS_UP_TO = 96  # cells of a heat map that still have room for their number


def histograms(panels: Sequence[tuple[str, np.ndarray, np.ndarray]], theme: str = "light") -> go.Figure:
    """For each (title, all values, values of the field): the share of both in each bin, one panel beside the other."""
    colours = THEMES[theme]
    figure = make_subplots(1, len(panels), subplot_titles=[title for title, _, _ in panels], horizontal_spacing=0.08)
    for column, (_, everything, field) in enumerate(panels, 1):
        edges = _edges(everything)
        centres, first = edges[1:] / 2 + edges[:-1] / 2, column == 1
        for name, values, style in (
            ("all elements", everything, {"marker": {"color": colours.muted, "opacity": 0.55}}),
            (
                "the field",
                field,
                {"marker": {"color": colours.field, "opacity": 0.75, "pattern": {"shape": "/", "fillmode": "overlay"}}},
            ),
        ):
            share = np.histogram(values[np.isfinite(values)], edges)[0] / max(values.size, 1)
            figure.add_bar(x=centres, y=share, name=name, showlegend=first, row=1, col=column, **style)
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_yaxes(tickformat=".0%")
    return finish(figure, colours, {"t": 40}, {"y": -0.14}, zero="x")


def responses(contrasts: np.ndarray, curves: Mapping[str, np.ndarray], axis: str, theme: str = "light") -> go.Figure:
    """x̂ over the contrast, which is logarithmic: a line per name, each in its colour and dash; the first is thick."""
    colours = THEMES[theme]
    figure = go.Figure()
    for k, (name, values) in enumerate(curves.items()):
        figure.add_scatter(x=contrasts, y=values, name=name, mode="lines", line=line(k, colours, 3 if k else 6))
    figure.add_vline(1, line=here(colours))
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="log", title={"text": axis, "standoff": 4}, exponentformat="power", dtick=1)
    figure.update_yaxes(title="x̂")
    return finish(figure, colours, {"l": 60}, {"y": -0.24}, zero="xy")


def pictures(
    images: Mapping[str, np.ndarray], theme: str = "light", marked: tuple[int, int] | None = None
) -> go.Figure:
    """Grey pictures (height, width) by title, side by side, each from its own least number, black, to its largest.

    `marked`: row and column of a pixel with a ring around it.
    """
    colours = THEMES[theme]
    figure = make_subplots(1, len(images), subplot_titles=list(images), horizontal_spacing=0.04)
    for column, image in enumerate(images.values(), 1):
        shown = {"colorscale": [[0, "#000000"], [1, "#ffffff"]], "showscale": False}
        figure.add_heatmap(z=image, hovertemplate="%{z:.4g}<extra></extra>", **shown, row=1, col=column)
        if marked:
            ring = {"symbol": "circle-open", "size": 18, "color": colours.element, "line": {"width": 3}}
            point = {"x": [marked[1]], "y": [marked[0]], "mode": "markers", "hoverinfo": "skip", "showlegend": False}
            figure.add_scatter(**point, marker=ring, cliponaxis=False, row=1, col=column)
        height, width = image.shape  # told, or a ring at the edge would widen the axes
        figure.update_xaxes(range=[-0.5, width - 0.5], row=1, col=column)
        anchor = f"x{column if column > 1 else ''}"
        figure.update_yaxes(range=[height - 0.5, -0.5], scaleanchor=anchor, row=1, col=column)
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, constrain="domain")
    return finish(figure, colours, {"t": 34, "l": 10, "b": 10})


def statistics_map(
    values: np.ndarray, axes: Sequence[str], focus: Sequence[int], name: str, theme: str = "light"
) -> go.Figure:
    """Statistics of shape (n, h, w, c) as a heat map: n and h down, w and c across; the focused one is framed."""
    colours = THEMES[theme]
    n, h, w, c = values.shape
    flat = values.reshape(n * h, w * c)
    row, column = focus[0] * h + focus[1], focus[2] * c + focus[3]
    finite = np.abs(flat[np.isfinite(flat)])
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    scale = [[0, colours.middle], [1, colours.high]]
    if (flat < 0).any():
        scale = colours.diverging
    figure = go.Figure(
        go.Heatmap(
            z=flat,
            zmin=-largest if len(scale) == 3 else 0,
            zmax=largest,
            colorscale=scale,
            xgap=1,
            ygap=1,
            texttemplate="%{z:.3g}" if flat.size <= LABELS_UP_TO else None,
            textfont={"size": 14},
            hovertemplate=f"{name} %{{z:.5g}}<extra></extra>",
            colorbar=COLOUR_BAR,
        )
    )
    frame = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    figure.add_shape(type="rect", line={"color": colours.ink, "width": 4}, **frame)
    for update, (first, second), (outer, inner) in (
        (figure.update_xaxes, axes[2:], (w, c)),
        (figure.update_yaxes, axes[:2], (n, h)),
    ):
        names = [label for label, size in ((first, outer), (second, inner)) if size > 1]
        ticks = list(range(outer * inner)) if outer * inner <= 16 else []
        text = [
            str(t % inner) if outer == 1 else str(t // inner) if inner == 1 else f"{t // inner},{t % inner}"
            for t in ticks
        ]
        update(title=", ".join(names), tickvals=ticks, ticktext=text, showgrid=False)
    figure.update_yaxes(autorange="reversed")
    return finish(figure, colours)


def _edges(values: np.ndarray) -> np.ndarray:
    """Ascending edges of the bins, also for numbers that are alike, or as large as a float can be."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
    if low == high:
        reach, most = max(abs(low) / 1000, 0.5), np.finfo(float).max
        low, high = max(low - reach, -most), min(high + reach, most)
    share = np.linspace(0, 1, BINS + 1)
    return np.sort(low * (1 - share) + high * share)
