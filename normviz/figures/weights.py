"""Charts of the weights page: lengths, means and singular values of weights, power iteration, and Lipschitz ratios."""

from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from normviz.figures.charts import look
from normviz.figures.curves import DASHES, FLOOR, SYMBOLS
from normviz.figures.palette import THEMES, Theme

BINS = 45
TICKS = tuple(m * 10.0**k for k in range(-17, 4) for m in ((1, 2, 5) if k >= -2 else (1,)))


def compared_weights(
    panels: Mapping[str, Mapping[str, np.ndarray]],
    axes: Sequence[str],
    logarithmic: Sequence[bool],
    theme: str = "light",
) -> go.Figure:
    """For each title, numbers by name over their position, one panel beside the other; the first name is the plain one.

    `axes`: what the positions are; `logarithmic`: whether the numbers are drawn so.
    """
    colours = THEMES[theme]
    figure = make_subplots(1, len(panels), subplot_titles=list(panels), horizontal_spacing=0.07)
    for column, (curves, log) in enumerate(zip(panels.values(), logarithmic, strict=True), 1):
        for k, (name, values) in enumerate(curves.items()):
            shown = np.maximum(values, FLOOR) if log else values
            figure.add_scatter(
                x=np.arange(1, len(values) + 1), y=shown, name=name, legendgroup=name, showlegend=column == 1,
                mode="lines+markers" if log else "markers", row=1, col=column, **_style(k, colours),
            )  # fmt: skip
    _finish(figure, colours)
    for column, (axis, log) in enumerate(zip(axes, logarithmic, strict=True), 1):
        figure.update_xaxes(title={"text": axis, "standoff": 4}, row=1, col=column)
        if log:
            figure.update_yaxes(type="log", tickvals=TICKS, ticktext=[f"{tick:g}" for tick in TICKS], row=1, col=column)
    figure.update_layout(legend={"orientation": "h", "y": -0.2})
    return figure


def power_steps(
    values: np.ndarray,
    estimate: float,
    errors: Mapping[str, tuple[np.ndarray, np.ndarray]],
    step: int,
    theme: str = "light",
) -> go.Figure:
    """Singular values as they are and over the estimate of a step; beside it, errors by step and what they tend to.

    Args:
        values: singular values, descending.
        estimate: of the largest one, at `step`.
        errors: by name, (steps + 1,) errors, shown up to the step, and their law, shown for all steps.
        step: the one that is shown.
        theme: "light" or "dark".
    """
    colours = THEMES[theme]
    titles = ("Singular values", "Error of the estimate, relative")
    figure = make_subplots(1, 2, subplot_titles=titles, horizontal_spacing=0.1)
    place = np.arange(1, len(values) + 1)
    before = {"color": colours.muted, "symbol": "circle-open", "size": 9, "line": {"width": 2}}
    figure.add_scatter(x=place, y=values, name="before", mode="markers", marker=before, row=1, col=1)
    after = {"color": colours.field, "symbol": "diamond", "size": 9}
    figure.add_scatter(
        x=place, y=values / estimate, name="after: over the estimate", mode="markers", marker=after, row=1, col=1
    )
    _line(figure, colours, 1, y=1)
    for k, (name, (error, law)) in enumerate(errors.items()):
        style, steps = _style(k + 2, colours), np.arange(len(error))
        figure.add_scatter(
            x=steps, y=law, name="law: what they tend to", mode="lines", row=1, col=2,
            line={"color": colours.muted, "width": 2, "dash": "dash"}, legendgroup="law", showlegend=k == 0,
        )  # fmt: skip
        seen = np.maximum(error[: step + 1], FLOOR)
        figure.add_scatter(x=steps[: step + 1], y=seen, name=name, mode="lines+markers", row=1, col=2, **style)
    _finish(figure, colours)
    top = max(float(values[0]), 1.0) * 1.08
    figure.update_yaxes(range=[-0.04 * top, top], row=1, col=1)
    last = len(next(iter(errors.values()))[0]) - 1
    figure.update_yaxes(type="log", range=[-17.2, 1.4], dtick=4, exponentformat="power", row=1, col=2)
    figure.update_xaxes(title={"text": "place", "standoff": 4}, row=1, col=1)
    figure.update_xaxes(title={"text": "step", "standoff": 4}, range=[-0.8, last + 0.8], row=1, col=2)
    figure.update_layout(legend={"orientation": "h", "y": -0.2})
    return figure


def ratio_panels(
    panels: Mapping[str, Mapping[str, np.ndarray]],
    values: np.ndarray,
    bounds: Mapping[str, float],
    theme: str = "light",
) -> go.Figure:
    """For each title, histograms by name of ratios; below them a tick for every singular value; bounds as lines.

    Every panel has the same axis, from 0 to beyond the largest bound.
    """
    colours = THEMES[theme]
    end = 1.08 * max(*bounds.values(), *(float(r.max()) for rows in panels.values() for r in rows.values()))
    edges = np.linspace(0, end, BINS + 1)
    figure = make_subplots(1, len(panels), subplot_titles=list(panels), horizontal_spacing=0.06)
    names = list(dict.fromkeys(name for rows in panels.values() for name in rows))
    top = 0.0
    for column, rows in enumerate(panels.values(), 1):
        for name, ratios in rows.items():
            k = names.index(name)
            share = np.histogram(ratios, edges)[0] / len(ratios)
            top = max(top, float(share.max()))
            style = {"color": colours.lines[k], "pattern": {"shape": "/" if k else "", "fillmode": "overlay"}}
            figure.add_bar(
                x=(edges[1:] + edges[:-1]) / 2, y=share, name=name, legendgroup=name, marker=style, opacity=0.7,
                showlegend=column == 1, row=1, col=column,
            )  # fmt: skip
    ticks = {"symbol": "line-ns", "size": 16, "line": {"width": 2, "color": colours.ink}}
    for column in range(1, len(panels) + 1):
        figure.add_scatter(
            x=values, y=np.full(len(values), -0.07 * top), mode="markers", marker=ticks, name="singular values",
            legendgroup="values", showlegend=column == 1, row=1, col=column,
        )  # fmt: skip
        for text, bound in bounds.items():
            _line(figure, colours, column, x=bound)
            figure.add_annotation(
                text=text, x=bound, y=1.16 * top, xanchor="right" if bound > 0.5 * end else "left", xshift=-5 if bound > 0.5 * end else 5,
                showarrow=False, row=1, col=column,
            )  # fmt: skip
    _finish(figure, colours)
    figure.update_layout(barmode="overlay", bargap=0, legend={"orientation": "h", "y": -0.14})
    figure.update_xaxes(range=[-0.02 * end, end])
    figure.update_yaxes(range=[-0.14 * top, 1.24 * top], tickformat=".0%", rangemode="tozero")
    return figure


def _style(k: int, colours: Theme) -> dict:
    """Colour, dash and marker of the k-th curve; the first one is the plain one."""
    colour = (colours.muted, *colours.lines)[k]
    return {
        "line": {"color": colour, "width": 2, "dash": DASHES[k]},
        "marker": {"color": colour, "symbol": SYMBOLS[k], "size": 8},
    }


def _line(figure: go.Figure, colours: Theme, column: int, x: float | None = None, y: float | None = None) -> None:
    """A line across a panel at an x or a y."""
    line = {"color": colours.ink, "width": 2, "dash": "dashdot"}
    if x is None:
        figure.add_hline(y, line=line, row=1, col=column)
    else:
        figure.add_vline(x, line=line, row=1, col=column)


def _finish(figure: go.Figure, colours: Theme) -> None:
    """Grid, fonts and margins."""
    figure.update_layout(**look(colours))
    figure.update_layout(margin={"t": 34, "b": 30, "l": 60})
    figure.update_xaxes(gridcolor=colours.grid, griddash="dot", zeroline=False)
    figure.update_yaxes(gridcolor=colours.grid, griddash="dot", zeroline=False)
    figure.update_annotations(font={"size": 16, "color": colours.ink})
