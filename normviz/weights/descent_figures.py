"""Weight norm under SGD as a picture: v and w in the plane, and lengths, angles and losses by step.

All grow with the step. Their axes are those of the whole run, so that nothing jumps; what is to come is faint.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from normviz.ui.chart import Figure
from normviz.ui.palette import THEMES
from normviz.ui.style import FLOOR, HEADING, finish
from normviz.weights.things import LENGTH, Thing

MARGIN = 0.12
GRID = 61
FAINT = 0.25

KEYED = {"showlegend": False, "meta": {"legend": "saved"}}
"""On the page one key stands over all charts (things.py); a chart that is saved has its own."""

DECADES = 2
"""Numbers of more orders of magnitude are drawn on a logarithmic axis."""


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
    tracks: Mapping[Thing, np.ndarray],
    step: int,
    arrows: Mapping[str, tuple[np.ndarray, np.ndarray]],
    radius: float,
    theme: str = "light",
) -> Figure:
    """Tracks of points in the plane over the contours of a loss: direction and length of the weights up to a step.

    Args:
        x, y, loss: a grid, and the loss (y, x) of the weights there.
        tracks: by the thing, the points (steps + 1, 2) of the whole run. A line through the origin leads through where
            the first one is at the step.
        step: up to which they are drawn; what is to come is faint.
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
        x=radius * np.cos(turn), y=radius * np.sin(turn), mode="lines", name=LENGTH.name, hoverinfo="skip",
        line=LENGTH.line(colours, 1.5),
    )  # fmt: skip
    tip = next(iter(tracks.values()))[step]
    reach = tip / np.linalg.norm(tip) * 4 * max(np.ptp(x), np.ptp(y))
    figure.add_scatter(
        x=[-reach[0], reach[0]], y=[-reach[1], reach[1]], mode="lines", hoverinfo="skip", showlegend=False,
        line={"color": colours.muted, "width": 1.5},
    )  # fmt: skip
    for thing, points in tracks.items():
        _grown(figure, thing, points[:, 0], points[:, 1], step, theme, 1.5, small=4)
    figure.add_scatter(
        x=[0], y=[0], mode="markers", hoverinfo="skip", showlegend=False,
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
    figure.update_layout(**KEYED)
    figure.update_xaxes(range=[x[0], x[-1]], constrain="domain", showgrid=False)
    figure.update_yaxes(range=[y[0], y[-1]], scaleanchor="x", constrain="domain", showgrid=False, automargin=True)
    return finish(figure, colours, {"l": 36, "b": 30})


def by_step(title: str, curves: Mapping[Thing, np.ndarray], step: int, last: int, theme: str = "light") -> Figure:
    """Curves by the thing over the steps 0 to `last`, drawn up to a step; shorter ones begin later, and all end there.

    The axis is logarithmic where no number is below 0, and they are of more than two orders of magnitude.
    """
    colours = THEMES[theme]
    figure = Figure()
    everything = np.concatenate(list(curves.values()))
    least, most = float(everything.min()), float(everything.max())
    logarithmic = 0 <= least < most / 10**DECADES
    for thing, values in curves.items():
        late = last + 1 - len(values)
        shown = np.maximum(values, FLOOR) if logarithmic else values
        _grown(figure, thing, np.arange(late, last + 1), shown, step - late, theme, 2.5, small=0)
    heading = {"text": title, "font": {"size": HEADING}, "x": 0.5, "y": 0.97, "yanchor": "top"}
    figure.update_layout(title=heading, **KEYED)
    figure.update_xaxes(
        range=[-0.03 * last, 1.05 * last], dtick=last / 2, title={"text": "step", "standoff": 2, "font": {"size": 14}}
    )
    if logarithmic:
        low, high = np.log10(max(least, FLOOR)), np.log10(most)
        margin = 0.06 * (high - low)
        scale = {"type": "log", "exponentformat": "power", "dtick": int(np.ceil((high - low) / 5))}
        figure.update_yaxes(range=[low - margin, high + margin], **scale)
    else:
        margin = 0.06 * (most - least) or 0.06 * abs(most) or 1.0
        figure.update_yaxes(range=[least - margin, most + margin], nticks=6)
    figure.update_yaxes(automargin=True)
    return finish(figure, colours, {"t": 32, "b": 42, "l": 40, "r": 14})


def _grown(
    figure: Figure, thing: Thing, x: np.ndarray, y: np.ndarray, step: int, theme: str, width: float, small: int
) -> None:
    """A line up to its point of this number, which is marked, and faintly what is to come; `small`: the other marks."""
    colours = THEMES[theme]
    look = thing.line(colours, width)
    figure.add_scatter(x=x, y=y, mode="lines", line=look, opacity=FAINT, hoverinfo="skip", showlegend=False)
    sizes = np.full(max(step + 1, 0), small)
    sizes[-1:] = 14 if small else 9
    figure.add_scatter(
        x=x[: step + 1], y=y[: step + 1], name=thing.name, mode="lines+markers", line=look, cliponaxis=False,
        marker={"color": thing.colour(colours), "symbol": thing.symbol, "size": sizes, "opacity": 1},
    )  # fmt: skip
