"""Charts of the page on geometry: curves by name, and the plane of two weights.

Each is one panel, so that those beside each other come one below the other on a narrow screen.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from normviz.ui.chart import Figure
from normviz.ui.palette import THEMES
from normviz.ui.style import HEADING, finish, here, line, marker, rule

MANY = 40
"""Curves of more points have no markers."""


class Curve(NamedTuple):
    """Values over x; `look`: which colour, dash and marker it has, in every chart of the page."""

    x: Sequence[float] | np.ndarray
    y: Sequence[float] | np.ndarray
    look: int


def curves(
    title: str,
    named: Mapping[str, Curve],
    x: str,
    log: str = "",
    level: float | None = None,
    marked: float | None = None,
    ticks: Sequence[float] = (),
    theme: str = "light",
) -> Figure:
    """Curves by name on one pair of axes.

    Args:
        title: what they are, over the chart.
        named: the curves; values that are not finite, or not above 0 on a logarithmic axis, are left out.
        x: the title of the axis below.
        log: the axes that are logarithmic, as in "xy".
        level: a y that matters, a line; `marked`: the x that the page is set to, a line.
        ticks: of the axis below, where they are not Plotly's.
        theme: "light" or "dark".
    """
    colours = THEMES[theme]
    figure = Figure()
    for name, (at, values, look) in named.items():
        shown = np.asarray(values, float)
        shown = np.where(np.isfinite(shown) & ((shown > 0) | ("y" not in log)), shown, np.nan)
        few = len(shown) <= MANY
        figure.add_scatter(
            x=list(at), y=shown, name=name, mode="lines+markers" if few else "lines", line=line(look, colours, 2.5),
            marker=marker(look, colours, 8) if few else None,
        )  # fmt: skip
    if level is not None:
        figure.add_hline(level, line=rule(colours))
    if marked is not None:
        figure.add_vline(marked, line=here(colours))
    heading = {"text": title, "font": {"size": HEADING}, "x": 0.5, "y": 0.985, "yanchor": "top"}
    figure.update_layout(title=heading, showlegend=True)
    figure.update_xaxes(title={"text": x, "standoff": 4}, tickangle=0, automargin=True)
    figure.update_yaxes(automargin=True)
    if "x" in log:
        figure.update_xaxes(type="log")
    if ticks:
        figure.update_xaxes(tickvals=list(ticks), ticktext=[f"{tick:g}" for tick in ticks])
    if "y" in log:
        figure.update_yaxes(**_decades(named))
    return finish(figure, colours, {"t": 36, "b": 30}, {"y": -0.2})


def _decades(named: Mapping[str, Curve]) -> dict:
    """A logarithmic axis that holds all that is finite, with few ticks, at powers of ten where it is long."""
    values = np.concatenate([np.asarray(curve.y, float) for curve in named.values()])
    values = values[np.isfinite(values) & (values > 0)]
    low, high = (float(end) for end in (np.log10(values.min()), np.log10(values.max()))) if values.size else (0.0, 1.0)
    margin = 0.06 * (high - low) + 0.02
    axis = {"type": "log", "range": [low - margin, high + margin], "exponentformat": "power"}
    if high - low > 1.5:
        return axis | {"dtick": int(np.ceil((high - low) / 6))}
    lead = (1, 2, 5) if high - low > 0.8 else (1, 1.5, 2, 3, 4, 5, 7)
    ticks = [m * 10.0**k for k in range(int(np.floor(low)) - 1, int(np.ceil(high)) + 1) for m in lead]
    return axis | {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


class Region(NamedTuple):
    """Around w, the points (k, 2) where the distance is a given one, exactly and by the quadratic form."""

    w: np.ndarray
    exact: np.ndarray
    quadratic: np.ndarray


EXACT, QUADRATIC = "KL, exact", "½ δᵀFδ"


def plane(title: str, region: Region, half: float, look: int, theme: str = "light") -> Figure:
    """The plane of two weights, from -half to half: w, and all weights whose predictions are nearer than a distance.

    The origin is a cross, w an arrow from it. What lies within the exact distance is filled, the quadratic one dashed.
    """
    colours = THEMES[theme]
    colour = colours.lines[look % len(colours.lines)]
    figure = Figure()
    for name, points, style in (
        (EXACT, region.exact, {"fill": "toself", "fillcolor": f"{colour}40", "line": {"color": colour, "width": 2.5}}),
        (QUADRATIC, region.quadratic, {"line": {"color": colours.ink, "width": 2, "dash": "dash"}}),
    ):
        round_ = np.concatenate([points, points[:1]])
        figure.add_scatter(x=round_[:, 0], y=round_[:, 1], name=name, mode="lines", hoverinfo="skip", **style)
    figure.add_scatter(
        x=[0], y=[0], mode="markers", hoverinfo="skip", showlegend=False,
        marker={"symbol": "cross-thin", "size": 14, "line": {"width": 2, "color": colours.ink}},
    )  # fmt: skip
    figure.add_scatter(
        x=[region.w[0]], y=[region.w[1]], mode="markers", name="w", showlegend=False,
        marker={"symbol": "circle", "size": 9, "color": colours.ink},
    )  # fmt: skip
    figure.add_annotation(
        x=region.w[0], y=region.w[1], ax=0, ay=0, xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True,
        arrowhead=2, arrowsize=1.1, arrowwidth=2.5, arrowcolor=colours.ink,
    )  # fmt: skip
    figure.add_annotation(x=region.w[0], y=region.w[1], text="<b>w</b>", showarrow=False, yshift=14, xshift=10)
    heading = {"text": title, "font": {"size": HEADING}, "x": 0.5, "y": 0.985, "yanchor": "top"}
    figure.update_layout(title=heading, showlegend=True)
    figure.update_xaxes(range=[-half, half], constrain="domain", title={"text": "w₀", "standoff": 2}, dtick=2)
    figure.update_yaxes(
        range=[-half, half], scaleanchor="x", constrain="domain", title={"text": "w₁", "standoff": 2}, dtick=2
    )
    return finish(figure, colours, {"t": 36, "b": 34, "l": 44}, {"y": -0.16}, zero="xy")
