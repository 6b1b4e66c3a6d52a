"""Charts of the training and inference page: panels of curves, strips, and accuracies by case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from normviz.describe.seeds import mean_percent
from normviz.ui.chart import Figure, make_subplots
from normviz.ui.palette import THEMES, Theme
from normviz.ui.style import finish, here, line, marker, rule

ROLE_SYMBOLS = {"training": "circle", "inference": "diamond", "ink": "square"}
"""By the role of a colour the marker that says the same."""

MANY = 60
"""More markers than this are small."""
LEGEND = {"yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0}
"""At the lower edge, whatever the height."""


Values = Sequence[float] | np.ndarray


@dataclass(frozen=True)
class Curve:
    """Values over x: a line, or markers where each point was measured; `role`: the name of its colour in the theme."""

    name: str
    x: Values
    y: Values
    measured: bool = False
    role: str = ""


@dataclass(frozen=True)
class Panel:
    """Curves on one pair of axes, whose titles are `x` and `y`.

    `level`: where the curves should be, a line; `log`: the axes that are, as in "xy"; `marked`: an x, a line.
    """

    title: str
    curves: Sequence[Curve]
    x: str = ""
    y: str = ""
    level: float | None = None
    log: str = ""
    marked: float | None = None


def near(text: str) -> dict:
    """The title of an axis, close to it."""
    return {"text": text, "standoff": 4}


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
        title = near(panel.x)
        figure.update_xaxes(
            title=title, tickangle=0, **(_log(xs, *_ticks(xs)) if "x" in panel.log else _whole(xs)), **place
        )
        scale = _log(ys, (1, 2, 3, 5), 10) if "y" in panel.log else {"nticks": 6}
        figure.update_yaxes(title=near(panel.y), **scale, **place)
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
    colour = {"color": getattr(colours, curve.role)} if curve.role else {}
    if curve.measured:
        size, opacity = (9, 0.85) if len(curve.x) <= MANY else (6, 0.5)
        symbol = {"symbol": ROLE_SYMBOLS[curve.role]} if curve.role else {}
        return {"mode": "markers", "marker": marker(number, colours, size) | colour | symbol | {"opacity": opacity}}
    return {"mode": "lines", "line": line(number, colours) | colour}


def _whole(values: Sequence[Sequence[float]]) -> dict:
    """A tick for each of a few whole numbers."""
    found = {float(value) for row in values for value in row}
    return {"dtick": 1} if len(found) <= 12 and all(value.is_integer() for value in found) else {}


def _ticks(values: Sequence[Values]) -> tuple[Sequence[int], int]:
    """Powers of 2; of 10, and three times these, where values are too far apart for that."""
    return ((1, 3), 10) if max(map(np.max, values)) > 500 * min(map(np.min, values)) else ((1,), 2)


def _log(values: Sequence[Sequence[float]], leads: Sequence[int], base: int) -> dict:
    """A logarithmic axis with plain numbers at leads · base^k, as 1, 2, 4, 8 or 0.1, 0.2, 0.5, 1."""
    low, high = (float(how(np.concatenate([np.asarray(row, float) for row in values]))) for how in (np.min, np.max))
    ticks = [lead * float(base) ** k for k in range(-20, 21) for lead in leads]
    ticks = [tick for tick in ticks if low * 0.99 <= tick <= high * 1.01]
    if len(ticks) > 9:
        ticks = ticks[:: -(-len(ticks) // 9)]
    return {"type": "log", "tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


@dataclass(frozen=True)
class Row:
    """A case and its accuracy in each of several networks, as shares of 1; `role`: the name of its colour."""

    name: str
    role: str
    accuracy: np.ndarray | None


def accuracy_figure(rows: Sequence[Row], chance: float, theme: str = "light") -> Figure:
    """Accuracies from 0 to 100%, a line a case: every network, their mean, and that in numbers with its interval.

    A case without numbers yet has its name alone, so that nothing moves when they come.
    """
    colours, figure = THEMES[theme], Figure()
    for place, row in enumerate(rows):
        text = {"yref": "y", "xref": "paper", "y": place, "yshift": 17, "showarrow": False}
        figure.add_annotation(text=row.name, x=0, xanchor="left", **text)
        if row.accuracy is None:
            continue
        percent, colour = 100 * row.accuracy, getattr(colours, row.role)
        symbol = ROLE_SYMBOLS[row.role]
        figure.add_scatter(
            x=percent, y=[place] * len(percent), mode="markers", name=row.name, showlegend=False,
            marker={"color": colour, "size": 9, "opacity": 0.45, "symbol": symbol},
        )  # fmt: skip
        figure.add_scatter(
            x=[percent.mean()], y=[place], mode="markers", name=f"{row.name}, mean", showlegend=False,
            marker={"color": colour, "size": 16, "symbol": symbol, "line": {"color": colours.ink, "width": 1.5}},
        )  # fmt: skip
        figure.add_annotation(text=f"<b>{mean_percent(row.accuracy)}</b>", x=1, xanchor="left", **text | {"yshift": 0})
    figure.add_vline(100 * chance, line=here(colours))
    ticks = [25, 50, 75, 100, 100 * chance]
    texts = [*(f"{tick}" for tick in ticks[:-1]), "guessing"]
    title = near("accuracy on unseen digits, %")
    figure.update_xaxes(range=[-1, 102], title=title, tickvals=ticks, ticktext=texts, tickangle=0)
    figure.update_yaxes(range=[len(rows) - 0.6, -0.9], showticklabels=False, showgrid=False)
    return finish(figure, colours, {"t": 6, "l": 12, "r": 104, "b": 46})
