"""Weight norm under SGD as a picture: v and w in the plane, and lengths, angles and losses by step."""

from collections.abc import Mapping, Sequence

import numpy as np

from normviz.ui.chart import Figure, make_subplots
from normviz.ui.palette import THEMES
from normviz.ui.style import finish, line, rule

MARGIN = 0.12
GRID = 61

TRACKS = ((0, "diamond"), (3, "circle"), (2, "square"))
"""Number of the colour and dash, and marker, of each track: what is also a curve by step has the same colour there."""


def extent(tracks: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """A square grid's x and y that hold the origin and all points (k, 2), with a margin."""
    points = np.concatenate([np.zeros((1, 2)), *tracks])
    low, high = points.min(axis=0), points.max(axis=0)
    half = (0.5 + MARGIN) * float((high - low).max())
    x, y = (np.linspace(middle - half, middle + half, GRID) for middle in (low + high) / 2)
    return x, y


def plane(
    x: np.ndarray,
    y: np.ndarray,
    loss: np.ndarray,
    tracks: Mapping[str, np.ndarray],
    arrows: Mapping[str, tuple[np.ndarray, np.ndarray]],
    radius: float,
    theme: str = "light",
) -> Figure:
    """Tracks of points in the plane over the contours of a loss: direction and length of the weights so far.

    Args:
        x, y, loss: a grid, and the loss (y, x) of the weights there.
        tracks: by name, (k, 2) points; the last one is now. A line through the origin leads through the first track's.
        arrows: by name, from a point to a point.
        radius: of the circle around the origin, |g|.
        theme: "light" or "dark".
    """
    colours = THEMES[theme]
    figure = Figure()
    figure.add_contour(
        x=x, y=y, z=loss, contours={"coloring": "lines"}, line={"width": 1}, ncontours=16, showscale=False, opacity=0.5,
        colorscale=[[0, colours.muted], [1, colours.muted]], hovertemplate="loss %{z:.3g}<extra></extra>",
    )  # fmt: skip
    turn = np.linspace(0, 2 * np.pi, 121)
    figure.add_scatter(
        x=radius * np.cos(turn), y=radius * np.sin(turn), mode="lines", name="length g", hoverinfo="skip",
        line={"color": colours.ink, "width": 1.5, "dash": "dot"},
    )  # fmt: skip
    tip = next(iter(tracks.values()))[-1]
    reach = tip / np.linalg.norm(tip) * 4 * max(np.ptp(x), np.ptp(y))
    figure.add_scatter(
        x=[-reach[0], reach[0]], y=[-reach[1], reach[1]], mode="lines", showlegend=False, hoverinfo="skip",
        line={"color": colours.muted, "width": 1.5},
    )  # fmt: skip
    for (name, points), (k, symbol) in zip(tracks.items(), TRACKS, strict=False):
        sizes = np.full(len(points), 4)
        sizes[-1] = 16
        figure.add_scatter(
            x=points[:, 0], y=points[:, 1], name=name, mode="lines+markers",
            line=line(k, colours, 1.5),
            marker={"color": colours.lines[k], "symbol": symbol, "size": sizes, "opacity": 1},
        )  # fmt: skip
    figure.add_scatter(
        x=[0], y=[0], mode="markers", showlegend=False, hoverinfo="skip",
        marker={"symbol": "cross-thin", "size": 14, "line": {"width": 2, "color": colours.ink}},
    )  # fmt: skip
    for name, (start, end) in arrows.items():
        figure.add_annotation(
            x=end[0], y=end[1], ax=start[0], ay=start[1], xref="x", yref="y", axref="x", ayref="y", text="",
            showarrow=True, arrowhead=2, arrowsize=1.1, arrowwidth=3, arrowcolor=colours.ink,
        )  # fmt: skip
        right = end[0] > (x[0] + x[-1]) / 2  # the text stands on the side that has room
        figure.add_annotation(
            x=end[0], y=end[1], text=name, showarrow=False, xanchor="right" if right else "left",
            xshift=-12 if right else 12, yshift=14 if end[1] > start[1] else -14,
        )  # fmt: skip
    figure.update_xaxes(range=[x[0], x[-1]], constrain="domain", showgrid=False)
    figure.update_yaxes(range=[y[0], y[-1]], scaleanchor="x", constrain="domain", showgrid=False)
    return finish(figure, colours, {"l": 36, "b": 30, "t": 30}, {"y": -0.06})


def by_step(
    panels: Mapping[str, Mapping[str, np.ndarray]],
    logarithmic: Sequence[str],
    step: int,
    theme: str = "light",
) -> Figure:
    """For each title, curves by name over the steps, two panels a row; a line marks the step that is shown.

    A name has one colour and dash in all panels. `logarithmic`: the titles whose numbers are drawn so.
    """
    colours = THEMES[theme]
    names = list(dict.fromkeys(name for curves in panels.values() for name in curves))
    rows = -(-len(panels) // 2)
    figure = make_subplots(
        rows, 2, shared_xaxes=True, subplot_titles=list(panels), horizontal_spacing=0.12, vertical_spacing=0.13
    )
    for number, (title, curves) in enumerate(panels.items()):
        place = {"row": number // 2 + 1, "col": number % 2 + 1}
        for name in sorted(curves, key=names.index):
            k = names.index(name)
            values = curves[name]
            figure.add_scatter(
                x=np.arange(len(values)), y=values, name=name, legendgroup=name, mode="lines", **place,
                line=line(k, colours, 2.5),
                showlegend=not any(name in earlier for earlier in list(panels.values())[:number]),
            )  # fmt: skip
        figure.add_vline(step, line=rule(colours), **place)
        if title in logarithmic:
            figure.update_yaxes(type="log", exponentformat="power", dtick=1, **place)
    figure.update_xaxes(title={"text": "step", "standoff": 4}, row=rows)
    figure.update_xaxes(dtick=100)
    return finish(figure, colours, {"t": 30, "b": 30, "r": 20}, {"y": -0.13})


def line_moved_to(figure: Figure, step: int) -> Figure:
    """The figure of `by_step`, now with its line at another step."""
    return figure.update_shapes(x0=step, x1=step)
