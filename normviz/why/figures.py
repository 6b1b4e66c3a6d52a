"""Charts of the page on why: clouds with their covariance, and curves with bands."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from normviz.core.text import typeset
from normviz.ui.chart import Figure, make_subplots
from normviz.ui.palette import THEMES, Theme
from normviz.ui.style import DASHES, finish, line, marker, rule

BELOW = {"yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0}
"""The key at the lower edge, whatever the height."""

ROOM = 112
"""Pixels below a chart for its axis and its key."""

DRAWN = 500
"""Of a cloud so many points are drawn."""


@dataclass(frozen=True)
class Cloud:
    """A cloud of points.

    Attributes:
        points: (N, 2).
        outlines: closed lines (k, 2) by the name of what they are; the first one is that of all points.
        arrows: by name, from a point to a point: where the features point.
        axes: what x and y are.
        middle, half: the square that is shown.
    """

    points: np.ndarray
    outlines: dict[str, np.ndarray]
    arrows: dict[str, tuple[np.ndarray, np.ndarray]]
    axes: tuple[str, str]
    middle: np.ndarray
    half: float


def cloud_figure(cloud: Cloud, theme: str = "light") -> Figure:
    """A cloud with the ellipse of its covariance, and where the features point."""
    colours, figure = THEMES[theme], Figure()
    points = cloud.points[:DRAWN]
    figure.add_scatter(
        x=points[:, 0], y=points[:, 1], mode="markers", hoverinfo="skip", showlegend=False,
        marker={"color": colours.muted, "size": 4, "opacity": 0.55},
    )  # fmt: skip
    for k, (name, outline) in enumerate(cloud.outlines.items()):
        figure.add_scatter(
            x=outline[:, 0], y=outline[:, 1], mode="lines", name=name, hoverinfo="skip", showlegend=True,
            line={"color": colours.field if k else colours.ink, "width": 3, "dash": DASHES[k]},
        )  # fmt: skip
    for k, (name, (start, end)) in enumerate(cloud.arrows.items()):
        figure.add_annotation(
            x=end[0], y=end[1], ax=start[0], ay=start[1], text="", showarrow=True, arrowhead=2, arrowwidth=3,
            arrowcolor=colours.lines[1 + k], xref="x", yref="y", axref="x", ayref="y",
        )  # fmt: skip
        figure.add_annotation(
            x=end[0], y=end[1], text=f"<b>{name}</b>", showarrow=False, xref="x", yref="y",
            xshift=14 if end[0] >= start[0] else -14, yshift=14 if end[1] >= start[1] else -14,
        )  # fmt: skip
    (x, y), half = cloud.middle, cloud.half
    _square(figure, cloud.axes)
    figure.update_xaxes(range=[x - half, x + half])
    figure.update_yaxes(range=[y - half, y + half])
    return finish(figure, colours, {"t": 34, "b": ROOM, "l": 62}, BELOW, zero="xy")


def _square(figure: Figure, axes: tuple[str, str]) -> None:
    """Axes of one scale."""
    for update, name in ((figure.update_xaxes, axes[0]), (figure.update_yaxes, axes[1])):
        update(title={"text": name, "standoff": 4}, constrain="domain", nticks=6)
    figure.update_yaxes(scaleanchor="x")


def scattered(whole: np.ndarray, batches: Sequence[np.ndarray], axes: tuple[str, str], theme: str = "light") -> Figure:
    """The ellipse of all points over those of mini-batches (k, 2), of which the first is drawn strongly."""
    colours, figure = THEMES[theme], Figure()
    for k, each in reversed(list(enumerate(batches))):
        name = "one mini-batch" if k == 0 else "other mini-batches"
        figure.add_scatter(
            x=each[:, 0], y=each[:, 1], mode="lines", name=name, legendgroup=name, showlegend=k < 2, hoverinfo="skip",
            line={"color": colours.training, "width": 3 if k == 0 else 1.5, "dash": "dash" if k == 0 else "solid"},
            opacity=1.0 if k == 0 else 0.5,
        )  # fmt: skip
    figure.add_scatter(
        x=whole[:, 0], y=whole[:, 1], mode="lines", name="all points", hoverinfo="skip",
        line={"color": colours.ink, "width": 3},
    )  # fmt: skip
    _square(figure, axes)
    return finish(figure, colours, {"t": 10, "b": ROOM, "l": 62}, BELOW)


@dataclass(frozen=True)
class Curve:
    """Values over x, with a band from `low` to `high` where they are given.

    `look`: the number of its colour, dash and marker; `points`: markers too.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    look: int = 0
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    points: bool = False


@dataclass(frozen=True)
class Panel:
    """Curves on one pair of axes, whose titles are `x` and `y`.

    `log`: the axes that are, as in "xy"; `levels`: heights that matter, lines; `span`: the ends of the vertical axis as
    Plotly has them; `ticks`: how its numbers are written; `marks`: the numbers that the horizontal one has.
    """

    title: str
    curves: Sequence[Curve]
    x: str = ""
    y: str = ""
    log: str = ""
    levels: Sequence[float] = ()
    span: tuple[float, float] | None = None
    ticks: str = ""
    marks: Sequence[float] = ()


def curves(panels: Sequence[Panel], theme: str = "light", columns: int = 2) -> Figure:
    """Panels of curves beside each other; a name has one look in all of them, and one entry in the key."""
    colours = THEMES[theme]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = make_subplots(
        rows, columns, [panel.title for panel in panels], horizontal_spacing=0.13, vertical_spacing=0.2
    )
    named: set[str] = set()
    for number, panel in enumerate(panels):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        for curve in panel.curves:
            _curve(figure, curve, colours, curve.name not in named, place)
            named.add(curve.name)
        for level in panel.levels:
            figure.add_hline(level, line=rule(colours), **place)
        figure.update_xaxes(
            title={"text": panel.x, "standoff": 4},
            **(_decades([curve.x for curve in panel.curves]) if "x" in panel.log else {}),
            **place,
        )
        if panel.marks:
            figure.update_xaxes(tickvals=panel.marks, ticktext=[f"{mark:g}" for mark in panel.marks], **place)
        heights = [each for curve in panel.curves for each in (curve.y, curve.low, curve.high) if each is not None]
        scale = _decades(heights) if "y" in panel.log else {"nticks": 6}
        span = {"range": list(panel.span)} if panel.span else {}
        form = {"tickformat": panel.ticks} if panel.ticks else {}
        figure.update_yaxes(title={"text": panel.y, "standoff": 4}, automargin=True, **scale, **span, **form, **place)
    return finish(figure, colours, {"t": 34, "b": ROOM, "l": 55}, BELOW)


def _decades(values: Sequence[np.ndarray]) -> dict:
    """A logarithmic axis: powers of ten, and where these are few 2 and 5 times each too."""
    low, high = (float(how([how(each) for each in values])) for how in (np.min, np.max))
    scale = {"type": "log", "exponentformat": "power"}
    if high > 200 * low:
        return scale | {"dtick": max(round(np.log10(high / low) / 6), 1)}
    ticks = [lead * 10.0**k for k in range(-12, 13) for lead in (1, 2, 5)]
    shown = [tick for tick in ticks if low / 2 < tick < 2 * high]
    return scale | {"tickvals": shown, "ticktext": [typeset(tick) for tick in shown]}


def _curve(figure: Figure, curve: Curve, colours: Theme, first: bool, place: dict) -> None:
    look = line(curve.look, colours, 3)
    group = {"name": curve.name, "legendgroup": curve.name, **place}
    if curve.low is not None and curve.high is not None:
        edge = {"mode": "lines", "line": look | {"width": 0.5}, "showlegend": False, "hoverinfo": "skip", **group}
        figure.add_scatter(x=curve.x, y=curve.low, **edge)
        figure.add_scatter(x=curve.x, y=curve.high, fill="tonexty", fillcolor=faint(look["color"]), **edge)
    drawn = {"marker": marker(curve.look, colours)} if curve.points else {}
    mode = "lines+markers" if curve.points else "lines"
    figure.add_scatter(x=curve.x, y=curve.y, mode=mode, line=look, showlegend=first, **drawn, **group)


def bars(groups: dict[str, np.ndarray], names: Sequence[str], title: str, axis: str, theme: str = "light") -> Figure:
    """Shares from 0 to 1, a bar for every name and group beside each other, with their numbers."""
    colours, figure = THEMES[theme], Figure()
    for k, (name, shares) in enumerate(groups.items()):
        style = {"color": colours.lines[k], "pattern": {"shape": "/" if k else "", "fillmode": "overlay"}}
        text = [f"{share:.0%}" for share in shares]
        figure.add_bar(x=list(names), y=shares, name=name, marker=style, text=text, textposition="outside")
    figure.update_layout(barmode="group")
    figure.update_xaxes(title={"text": axis, "standoff": 4})
    figure.update_yaxes(title={"text": title, "standoff": 4}, range=[0, 1.12], tickformat=".0%", dtick=0.25)
    return finish(figure, colours, {"t": 10, "b": ROOM, "l": 60}, BELOW)


def faint(colour: str) -> str:
    """A colour "#rrggbb" as what is behind a curve."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, 0.22)"


def lines_to_identity(
    x: Sequence[np.ndarray], y: Sequence[np.ndarray], ends: tuple[float, float], theme: str = "light"
) -> Figure:
    """y over x, a line a channel, over the line y = x; `ends`: of the vertical axis."""
    colours, figure = THEMES[theme], Figure()
    figure.add_scatter(
        x=list(ends), y=list(ends), mode="lines", name="y = x", hoverinfo="skip",
        line={"color": colours.ink, "width": 6},
        opacity=0.35,
    )  # fmt: skip
    for k, (across, up) in enumerate(zip(x, y, strict=True)):
        figure.add_scatter(x=across, y=up, mode="lines", name=f"c = {k}", line=line(k, colours, 3))
    figure.update_layout(showlegend=True)
    low, high = (float(how([how(each) for each in x])) for how in (np.min, np.max))
    figure.update_xaxes(title={"text": "x", "standoff": 4}, range=[low - 0.2, high + 0.2])
    figure.update_yaxes(title={"text": "y", "standoff": 4}, range=[ends[0] - 0.2, ends[1] + 0.2])
    return finish(figure, colours, {"t": 10, "b": ROOM, "l": 55}, BELOW, zero="xy")


def timeline(years: Sequence[float], labels: Sequence[str], known: Sequence[bool], theme: str = "light") -> Figure:
    """Papers over time, a line each, the earliest on top; `known`: whether the app has it, which is a filled marker."""
    colours, figure = THEMES[theme], Figure()
    for here, name, symbol in ((False, "before", "circle-open"), (True, "a scheme of this app", "diamond")):
        places = [k for k, each in enumerate(known) if each == here]
        figure.add_scatter(
            x=[years[k] for k in places], y=places, mode="markers", name=name, text=[labels[k] for k in places],
            hovertemplate="%{text}<extra></extra>", showlegend=True,
            marker={"color": colours.field if here else colours.muted, "symbol": symbol, "size": 12},
        )  # fmt: skip
    first, last = min(years), max(years)
    for k, (year, label) in enumerate(zip(years, labels, strict=True)):
        right = year < (first + last) / 2
        figure.add_annotation(
            x=year, y=k, text=label, showarrow=False, xanchor="left" if right else "right", xshift=12 if right else -12
        )
    figure.update_xaxes(range=[first - 1, last + 1.5], dtick=5, tickformat="d")
    figure.update_yaxes(range=[len(years) - 0.4, -0.6], visible=False)
    return finish(figure, colours, {"t": 10, "b": 78, "l": 12}, BELOW)
