"""Charts of the training and inference page: a stream with its running averages, panels of curves, and strips."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from normviz.ui.chart import Figure, make_subplots
from normviz.ui.palette import THEMES, Theme
from normviz.ui.style import finish, here, line, marker, rule

MANY = 60
"""More markers than this are small."""
LEGEND = {"yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0}
"""At the lower edge, whatever the height."""


@dataclass(frozen=True)
class Followed:
    """A statistic over a stream: of each batch and of the population, (steps,); its running average, (steps + 1,)."""

    title: str
    batch: np.ndarray
    running: np.ndarray
    population: np.ndarray


Values = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Curve:
    """Values over x: a line, or markers where each point was measured."""

    name: str
    x: Values
    y: Values
    measured: bool = False


@dataclass(frozen=True)
class Panel:
    """Curves on one pair of axes; `level`: where they should be, a line; `log`: the axes that are, as in "xy"."""

    title: str
    curves: Sequence[Curve]
    x: str = ""
    level: float | None = None
    log: str = ""
    marked: float | None = None


def stream_figure(followed: Sequence[Followed], position: int, theme: str = "light") -> Figure:
    """Statistics over the batches seen, one above the other, up to a position: dots, the running average, dashes.

    The axes are those of the whole stream, so that nothing moves but what is drawn.
    """
    colours = THEMES[theme]
    figure = make_subplots(
        len(followed), 1, shared_xaxes=True, vertical_spacing=0.09, subplot_titles=[each.title for each in followed]
    )
    for row, each in enumerate(followed, 1):
        place = {"row": row, "col": 1, "showlegend": row == 1}
        seen = np.arange(1, position + 1)
        every = np.arange(1, len(each.batch) + 1)
        dashes = {"color": colours.ink, "width": 2.5, "dash": "dash"}
        dots = {"color": colours.field, "size": 7, "opacity": 0.7}
        figure.add_scatter(x=seen, y=each.batch[:position], name="batch", mode="markers", marker=dots, **place)
        figure.add_scatter(x=every, y=each.population, name="population", mode="lines", line=dashes, **place)
        figure.add_scatter(
            x=np.arange(position + 1),
            y=each.running[: position + 1],
            name="running average",
            mode="lines",
            line={"color": colours.element, "width": 4},
            **place,
        )
        now = {"color": colours.element, "size": 15, "symbol": "diamond", "line": {"color": colours.ink, "width": 1.5}}
        figure.add_scatter(
            x=[position], y=[each.running[position]], mode="markers", marker=now, row=row, col=1, showlegend=False,
            name="now",
        )  # fmt: skip
        values = np.concatenate([each.batch, each.running, each.population])
        low, high = float(values.min()), float(values.max())
        pad = 0.06 * (high - low or 1.0)
        figure.update_yaxes(range=[low - pad, high + pad], nticks=5, row=row, col=1)
    steps = len(followed[0].batch)
    figure.add_vline(position, line=here(colours))
    figure.update_xaxes(range=[-0.01 * steps, 1.015 * steps])
    return finish(figure, colours, {"t": 30, "b": 95, "l": 55}, LEGEND)


def panels_figure(panels: Sequence[Panel], columns: int = 2, theme: str = "light", one_scale: bool = False) -> Figure:
    """Panels of curves beside each other; a name has one colour, dash and marker in all of them, and one entry.

    `one_scale`: the panels of a row have the same vertical axis.
    """
    colours = THEMES[theme]
    names = list(dict.fromkeys(curve.name for panel in panels for curve in panel.curves))
    rows = -(-len(panels) // columns)
    figure = make_subplots(
        rows, columns, subplot_titles=[panel.title for panel in panels], shared_yaxes=one_scale,
        horizontal_spacing=0.05 if one_scale else 0.11, vertical_spacing=0.22,
    )  # fmt: skip
    shown = set()
    for number, panel in enumerate(panels):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        for curve in panel.curves:
            style = _style(names.index(curve.name), curve, colours)
            figure.add_scatter(
                x=list(curve.x), y=list(curve.y), name=curve.name, legendgroup=curve.name,
                showlegend=curve.name not in shown, **style, **place,
            )  # fmt: skip
            shown.add(curve.name)
        if panel.level is not None:
            figure.add_hline(panel.level, line=rule(colours), **place)
        if panel.marked is not None:
            figure.add_vline(panel.marked, line=here(colours), **place)
        xs, ys = ([getattr(curve, axis) for curve in panel.curves] for axis in "xy")
        title = {"text": panel.x, "standoff": 4}
        figure.update_xaxes(
            title=title, tickangle=0, **(_log(xs, (1,), 2) if "x" in panel.log else _whole(xs)), **place
        )
        figure.update_yaxes(**(_log(ys, (1, 2, 3, 5), 10) if "y" in panel.log else {"nticks": 6}), **place)
    return finish(figure, colours, {"t": 34, "b": 118, "l": 55}, LEGEND)


def strips(rows: Mapping[str, np.ndarray], axis: str, theme: str = "light") -> Figure:
    """For each name the values of one number, as ticks on a line of its own; the first name on top."""
    colours = THEMES[theme]
    figure = Figure()
    for number, (name, values) in enumerate(rows.items()):
        colour = colours.lines[number % len(colours.lines)]
        tick = {"symbol": "line-ns", "size": 22, "line": {"color": colour, "width": 3}, "color": colour}
        figure.add_scatter(x=values, y=[name] * len(values), mode="markers", marker=tick, showlegend=False, name=name)
    figure.update_yaxes(autorange="reversed", automargin=True, tickfont={"size": 16}, ticklabelstandoff=8)
    figure.update_xaxes(title=axis)
    return finish(figure, colours, {"l": 10, "r": 20})


def _style(number: int, curve: Curve, colours: Theme) -> dict:
    if curve.measured:
        size, opacity = (9, 0.85) if len(curve.x) <= MANY else (6, 0.5)
        return {"mode": "markers", "marker": {**marker(number, colours, size), "opacity": opacity}}
    return {"mode": "lines", "line": line(number, colours)}


def _whole(values: Sequence[Sequence[float]]) -> dict:
    """A tick for each of a few whole numbers."""
    found = {float(value) for row in values for value in row}
    return {"dtick": 1} if len(found) <= 12 and all(value.is_integer() for value in found) else {}


def _log(values: Sequence[Sequence[float]], leads: Sequence[int], base: int) -> dict:
    """A logarithmic axis with plain numbers at leads · base^k, as 1, 2, 4, 8 or 0.1, 0.2, 0.5, 1."""
    low, high = (float(how(np.concatenate([np.asarray(row, float) for row in values]))) for how in (np.min, np.max))
    ticks = [lead * float(base) ** k for k in range(-20, 21) for lead in leads]
    ticks = [tick for tick in ticks if low * 0.99 <= tick <= high * 1.01]
    if len(ticks) > 9:
        ticks = ticks[:: -(-len(ticks) // 9)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
