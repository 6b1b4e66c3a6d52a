"""Charts of the weights page: lengths, means and singular values of weights, power iteration, and Lipschitz ratios.

Each is one panel, so that those beside each other come one below the other on a narrow screen.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from normviz.ui.chart import Figure
from normviz.ui.palette import THEMES, Theme
from normviz.ui.style import FLOOR, HEADING, finish, line, marker, rule

BINS = 45

LEAST = 0.01
"""Where a logarithmic axis of weights ends: what is smaller leaves the picture."""

TICKS = tuple(m * 10.0**k for k in range(-2, 4) for m in (1, 2, 5))


def by_place(
    curves: Mapping[str, np.ndarray], title: str, axis: str, logarithmic: bool, theme: str = "light"
) -> Figure:
    """Numbers by name over their position; the first name is the plain one. `axis`: what the positions are."""
    colours = THEMES[theme]
    figure = Figure()
    for k, (name, values) in enumerate(curves.items()):
        figure.add_scatter(
            x=np.arange(1, len(values) + 1),
            y=np.maximum(values, FLOOR) if logarithmic else values,
            name=name,
            mode="lines+markers" if logarithmic else "markers",
            **_style(k, colours),
        )
    _finish(figure, colours, title, axis)
    if logarithmic:
        everything = np.concatenate(list(curves.values()))
        least, most = (float(np.clip(end, LEAST, 1e3)) for end in (everything.min(), everything.max()))
        margin = 0.05 * np.log10(most / least) + 0.02
        ends = [np.log10(least) - margin, np.log10(most) + margin]
        figure.update_yaxes(type="log", range=ends, tickvals=TICKS, ticktext=[f"{tick:g}" for tick in TICKS])
    return figure


def divided_values(values: np.ndarray, estimate: float, least: float, title: str, theme: str = "light") -> Figure:
    """Singular values (descending) as they are, and over an estimate of the largest; a line at 1.

    `least`: the smallest of all estimates, over which they are still in the picture.
    """
    colours = THEMES[theme]
    place = np.arange(1, len(values) + 1)
    figure = Figure()
    before = {"color": colours.muted, "symbol": "circle-open", "size": 9, "line": {"width": 2}}
    after = {"color": colours.lines[0], "symbol": "diamond", "size": 9}
    for name, shown, style in (("before", values, before), ("over the estimate", values / estimate, after)):
        figure.add_scatter(x=place, y=shown, name=name, mode="markers", marker=style)
    figure.add_hline(1, line=rule(colours))
    _finish(figure, colours, title, "place")
    top = 1.08 * float(values[0]) * max(1.0, 1.0 / least)
    figure.update_xaxes(range=[0, len(values) + 1])
    figure.update_yaxes(range=[-0.04 * top, top])
    return figure


def falling_errors(
    errors: Mapping[str, tuple[np.ndarray, np.ndarray]], step: int, title: str, theme: str = "light"
) -> Figure:
    """Errors (steps + 1,) by name, up to a step, and beside each its law, for all steps; the axis is that of all."""
    colours = THEMES[theme]
    figure = Figure()
    last, most = 0, 1.0
    for k, (name, (error, law)) in enumerate(errors.items()):
        most = max(most, *(float(np.nan_to_num(each).max()) for each in (error, law)))
        steps, last = np.arange(len(error)), len(error) - 1
        figure.add_scatter(
            x=steps, y=law, name="tends to", legendgroup="law", showlegend=k == 0, mode="lines",
            line={"color": colours.muted, "width": 2, "dash": "dash"},
        )  # fmt: skip
        seen = np.maximum(error[: step + 1], FLOOR)
        figure.add_scatter(x=steps[: step + 1], y=seen, name=name, mode="lines+markers", **_style(1 + 2 * k, colours))
    _finish(figure, colours, title, "step")
    figure.update_xaxes(range=[-0.8, last + 0.8])
    figure.update_yaxes(type="log", range=[-17.2, np.log10(most) + 1], dtick=4, exponentformat="power")
    return figure


def ratio_histograms(
    kinds: Mapping[str, np.ndarray],
    values: np.ndarray,
    bounds: Mapping[str, float],
    title: str,
    theme: str = "light",
) -> Figure:
    """Histograms of ratios by name; below them a tick for every singular value; bounds as lines with their names.

    The axis goes from 0 to beyond the largest bound.
    """
    colours = THEMES[theme]
    end = 1.08 * max(*bounds.values(), 1.0)
    edges = np.linspace(0, end, BINS + 1)
    figure = Figure()
    top = 0.0
    for k, (name, ratios) in enumerate(kinds.items()):
        share = np.histogram(ratios, edges)[0] / len(ratios)
        top = max(top, float(share.max()))
        style = {"color": colours.lines[3 - 2 * k], "pattern": {"shape": "/" if k else "", "fillmode": "overlay"}}
        figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=share, name=name, marker=style, opacity=0.7)
    figure.add_scatter(
        x=values, y=np.full(len(values), -0.07 * top), mode="markers", name="singular values",
        marker={"symbol": "line-ns", "size": 16, "line": {"width": 2, "color": colours.ink}, "color": colours.ink},
    )  # fmt: skip
    for text, bound in bounds.items():
        figure.add_vline(bound, line=rule(colours))
        inwards = bound > 0.5 * end
        figure.add_annotation(
            text=text, x=bound, y=1.16 * top, xanchor="right" if inwards else "left", xshift=-5 if inwards else 5,
            showarrow=False,
        )  # fmt: skip
    _finish(figure, colours, title, "")
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_xaxes(range=[-0.02 * end, end])
    figure.update_yaxes(range=[-0.14 * top, 1.24 * top], tickformat=".0%")
    return figure


def _style(k: int, colours: Theme) -> dict:
    """Colour, dash and marker of the k-th curve; the first one is the plain one."""
    hues = replace(colours, lines=(colours.muted, *colours.lines))
    return {"line": line(k, hues, 2), "marker": marker(k, hues)}


def _finish(figure: Figure, colours: Theme, title: str, axis: str) -> None:
    """As all charts, with one title over the panel."""
    figure.update_layout(title={"text": title, "font": {"size": HEADING}, "x": 0.5, "y": 0.985, "yanchor": "top"})
    figure.update_xaxes(title={"text": axis, "standoff": 4})
    finish(figure, colours, {"t": 36, "b": 30}, {"y": -0.17})
