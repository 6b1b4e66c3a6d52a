"""Figures of the Jacobian: the matrix with its fields, the two projections in space, and the diagonal's error."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from normviz.gradients.projections import Three
from normviz.ui.chart import Figure
from normviz.ui.palette import THEMES, Theme
from normviz.ui.style import COLOUR_BAR, finish, line, marker

NAMED_UP_TO = 24
"""Elements that still have room for their indices beside the matrix."""

AXIS_LENGTH = 0.7
"""Of an element's axis, of the longest vector that is drawn."""

FRAMED_UP_TO = 36
"""Fields that are still framed."""


def jacobian_map(matrix: np.ndarray, names: Sequence[str], edges: np.ndarray, theme: str = "light") -> Figure:
    """∂x̂ (down) by ∂x (across), in a scale of colours whose middle is 0; fields are framed.

    `names`: the indices of the elements, in the order of the matrix; `edges`: where fields begin, and the end.
    """
    colours = THEMES[theme]
    largest = float(np.abs(matrix).max()) or 1.0
    figure = Figure()
    figure.add_heatmap(
        x=list(names), y=list(names), z=matrix, zmin=-largest, zmax=largest, colorscale=colours.diverging,
        colorbar=COLOUR_BAR | {"len": 0.8}, hovertemplate="∂x̂[%{y}] / ∂x[%{x}] = %{z:.4g}<extra></extra>",
    )  # fmt: skip
    if len(edges) - 1 <= FRAMED_UP_TO:
        for start, end in pairwise(edges.tolist()):
            ends = {"x0": start - 0.5, "x1": end - 0.5, "y0": start - 0.5, "y1": end - 0.5}
            figure.add_shape(type="rect", line={"color": colours.ink, "width": 2}, **ends)
    shown = len(names) <= NAMED_UP_TO
    axis = {"type": "category", "showticklabels": shown, "showgrid": False, "tickfont": {"size": 11}, "ticks": ""}
    figure.update_xaxes(title="x of element n, h, w, c", constrain="domain", tickangle=-90, **axis)
    figure.update_yaxes(title="x̂ of element", autorange="reversed", scaleanchor="x", constrain="domain", **axis)
    return finish(figure, colours, {"l": 70, "b": 80 if shown else 40, "t": 8})


def projections_figure(one: Three, centres: bool, divides: bool, theme: str = "light") -> Figure:
    """d, d without its mean, and what is left without its part along x̂, as vectors of three numbers.

    `centres`, `divides`: whether the scheme does; a direction that it leaves alone is not drawn.
    """
    colours = THEMES[theme]
    reach = 1.15 * float(max(np.linalg.norm(each) for each in (one.d, one.centred, one.left))) or 1.0
    figure = Figure()
    if centres:
        _axis(figure, np.ones(3), reach, "(1, 1, 1): a shift", colours.mean, "dash")
    if divides:
        _axis(figure, one.xhat, reach, "x̂: a factor", colours.divides, "dot")
    _vector(figure, one.d, "d comes in", colours.lines[0], "circle")
    if centres:
        _step(figure, one.d, one.centred, colours.mean)
        _vector(figure, one.centred, "d without its mean", colours.mean, "square")
    if divides:
        _step(figure, one.centred, one.left, colours.divides)
        _vector(figure, one.left, "σ ∂l/∂x goes out", colours.lines[1], "diamond", 9)
    finish(figure, colours, {"l": 0, "r": 0, "t": 0, "b": 0}, {"y": -0.02})
    for k, unit in enumerate(np.eye(3)):
        _element(figure, k, AXIS_LENGTH * reach * unit, colours)
    axes = {f"{axis}axis": {"range": [-reach, reach], "visible": False} for axis in "xyz"}
    ratio = {"aspectmode": "manual", "aspectratio": dict.fromkeys("xyz", 2.1)}
    figure.update_layout(scene={**axes, **ratio, "camera": _camera(one.xhat)})
    return figure


def _camera(xhat: np.ndarray) -> dict:
    """From where the two directions and the one across them are seen alike, with (1, 1, 1) upwards."""
    up = np.ones(3) / np.sqrt(3)
    flat = xhat - up * (xhat @ up)
    along = flat / (np.linalg.norm(flat) or 1.0)
    eye = 2 * (0.45 * up + 0.6 * along + 0.66 * np.cross(up, along))
    return {
        "eye": dict(zip("xyz", eye.tolist(), strict=True)),
        "up": dict(zip("xyz", up.tolist(), strict=True)),
        "projection": {"type": "orthographic"},
    }


def _element(figure: Figure, k: int, end: np.ndarray, colours: Theme) -> None:
    """The axis of an element, from the origin, named at its end."""
    style = {"line": {"color": colours.muted, "width": 2}, "textfont": {"color": colours.muted, "size": 14}}
    _line(
        figure, np.zeros(3), end, mode="lines+text", text=["", f"element {k}"], textposition="top center",
        showlegend=False, hoverinfo="skip", **style,
    )  # fmt: skip


def _axis(figure: Figure, direction: np.ndarray, reach: float, name: str, colour: str, dash: str) -> None:
    """A line through the origin."""
    length = float(np.linalg.norm(direction))
    along = direction / length * reach if length else direction
    _line(figure, -along, along, name=name, line={"color": colour, "width": 4, "dash": dash}, mode="lines")


def _vector(figure: Figure, end: np.ndarray, name: str, colour: str, symbol: str, size: int = 7) -> None:
    """A vector from the origin, its end marked."""
    style = {"line": {"color": colour, "width": 8}, "marker": {"color": colour, "symbol": symbol, "size": [0, size]}}
    _line(figure, np.zeros(3), end, name=name, mode="lines+markers", **style)


def _step(figure: Figure, start: np.ndarray, end: np.ndarray, colour: str) -> None:
    """What a projection takes away."""
    style = {"line": {"color": colour, "width": 3, "dash": "dash"}}
    _line(figure, start, end, mode="lines", showlegend=False, hoverinfo="skip", **style)


def _line(figure: Figure, start: np.ndarray, end: np.ndarray, **style: Any) -> None:
    x, y, z = np.stack([start, end]).T
    figure.add("scatter3d", x=x, y=y, z=z, **style)


def error_curves(sizes: Sequence[int], errors: Mapping[str, np.ndarray], theme: str = "light") -> Figure:
    """The error of the diagonal alone, relative to ∂l/∂x, over the number of units H; both logarithmic; and 1/H."""
    colours: Theme = THEMES[theme]
    figure = Figure()
    for k, (name, values) in enumerate(errors.items()):
        figure.add_scatter(
            x=list(sizes), y=values, name=name, mode="lines+markers", line=line(k, colours), marker=marker(k, colours)
        )
    style = {"color": colours.muted, "width": 2, "dash": "dot"}
    figure.add_scatter(x=list(sizes), y=1 / np.array(sizes), name="1/H", mode="lines", line=style)
    figure.update_xaxes(type="log", title="units H of a layer", tickvals=[3, 10, 30, 100, 256])
    figure.update_yaxes(type="log", title="relative error", tickformat=".0%", tickvals=[0.01, 0.03, 0.1, 0.3, 1, 3])
    return finish(figure, colours, {"l": 70, "b": 50, "t": 8}, {"y": -0.32})
