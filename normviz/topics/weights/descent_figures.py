"""Charts of weight norm under SGD: the paths of w over the loss, and losses and lengths by step.

Both grow with the step. Their axes are those of the whole run, so that they stay.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import LOG_AXIS_FLOOR, apply_chart_style, style_curve, style_marker


def make_square_grid(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of a square grid that contains the origin and all points (k, 2), with a margin."""
    points = np.concatenate([np.zeros((1, 2)), points])
    low, high = points.min(axis=0), points.max(axis=0)
    half = 0.62 * float((high - low).max())
    x, y = (np.linspace(middle - half, middle + half, 61) for middle in (low + high) / 2)
    return x, y


def draw_descent_paths(
    grid: tuple[np.ndarray, np.ndarray],
    losses: np.ndarray,
    lowest: np.ndarray,
    paths: Mapping[str, np.ndarray],
    v: np.ndarray,
    step: int,
    theme: str = "light",
) -> Figure:
    """Return a figure of paths of two weights over the losses (y, x) on a `grid`, up to a step; a third is thinner.

    `lowest`: the weights of the lowest loss, (2,); `paths`: by name, the weights of the whole run, (steps + 1, 2).
    `v`: the vector v of weight norm at the start, (2,).
    """
    colours, (x, y) = THEMES[theme], grid
    figure = Figure()
    figure.add_contour(
        x=x, y=y, z=np.log(losses), ncontours=8, line={"width": 0.5, "color": colours.muted}, opacity=0.5,
        colorscale=[[0, colours.middle], [1, colours.muted]], hoverinfo="skip", showscale=False,
    )  # fmt: skip
    for k, (name, points) in enumerate(paths.items()):
        curve = points[:, 0], points[:, 1]
        _draw_curve_up_to_step(
            figure, name, curve, step, style_curve(k, colours, 4 if k < 2 else 2), style_marker(k, colours)
        )
        if step:
            figure.add_annotation(**_make_arrow((0.0, 0.0), points[step], colours.lines[k]) | {"standoff": 5})
    start = points[0]
    figure.add_annotation(**_make_arrow((0.0, 0.0), start, colours.ink))
    band = {"color": colours.lines[1], "width": 10}
    figure.add_shape(type="line", x0=0.0, y0=0.0, x1=v[0], y1=v[1], line=band, opacity=0.75)
    figure.add_annotation(x=v[0], y=v[1], text="<b>v</b>", showarrow=False, xshift=-14)
    middle = float(x.mean())
    beside_v = 0.0 if np.linalg.norm(v) > np.linalg.norm(start) else middle  # a longer v goes on from w
    for point, other, symbol, text, towards in (
        (start, lowest, "circle", "w at start", beside_v), (lowest, start, "star", "lowest loss", middle),
    ):  # fmt: skip
        figure.add_scatter(
            x=point[:1], y=point[1:], mode="markers+text", name=text, text=[text], hoverinfo="skip",
            textposition=_find_free_side(point, other, towards),
            marker={"color": colours.ink, "symbol": symbol, "size": 16 if symbol == "star" else 6},
        )  # fmt: skip
    figure.update_layout(showlegend=False)
    axis = {"constrain": "domain", "showgrid": False}
    figure.update_xaxes(range=[x[0], x[-1]], title={"text": "first weight", "standoff": 4}, **axis)
    figure.update_yaxes(range=[y[0], y[-1]], title={"text": "second weight", "standoff": 4}, scaleanchor="x", **axis)
    return apply_chart_style(figure, colours, {"t": 8, "b": 52})


def _make_arrow(tail: Sequence[float] | np.ndarray, tip: Sequence[float] | np.ndarray, colour: str) -> dict:
    """Return the annotation that draws an arrow between two points on the axes."""
    (ax, ay), (x, y) = tail, tip
    ends = {"x": x, "y": y, "ax": ax, "ay": ay, "axref": "x", "ayref": "y"}
    return ends | {"text": "", "showarrow": True, "arrowhead": 2, "arrowwidth": 2, "arrowcolor": colour}


def _find_free_side(point: np.ndarray, other: np.ndarray, towards: float) -> str:
    """Return where a point's label goes, such as "top left": away from `other`, and towards x = `towards`."""
    return f"{'top' if point[1] > other[1] else 'bottom'} {'left' if point[0] > towards else 'right'}"


def draw_values_by_step(
    curves: Mapping[str, np.ndarray],
    step: int,
    quantity: str,
    theme: str = "light",
    first_style: int = 0,
    has_legend: bool = True,
    mark: tuple[int, int, float] | None = None,
) -> Figure:
    """Return a figure of curves of one quantity, by name, up to `step`.

    The axis is logarithmic if no number is below 0 and they span more than two orders of magnitude. A third curve is
    thinner.

    `first_style`: the number of the first curve's colour, so that curves of another chart keep theirs.
    `has_legend`: False where the page names the colours.
    `mark`: two steps and a value; an arrow goes from the later step to the first at this value. A long one is named.
    """
    colours = THEMES[theme]
    figure = Figure()
    everything = np.concatenate(list(curves.values()))
    least, most = float(everything.min()), float(everything.max())
    logarithmic = 0 <= least < most / 100
    for place, (name, values) in enumerate(curves.items()):
        k, width = first_style + place, 3 if place < 2 else 2
        shown = np.maximum(values, LOG_AXIS_FLOOR) if logarithmic else values
        curve = np.arange(len(shown)), shown
        _draw_curve_up_to_step(figure, name, curve, step, style_curve(k, colours, width), style_marker(k, colours))
    figure.update_layout(showlegend=has_legend)
    figure.update_xaxes(title={"text": "training step", "standoff": 4}, range=[0, 1.04 * (len(values) - 1)])
    scale = {"type": "log", "exponentformat": "power"} if logarithmic else {}
    low, high = np.log10(np.maximum([least, most], LOG_AXIS_FLOOR)) if logarithmic else (min(least, 0.0), most)
    margin = 0.06 * (high - low) or 1.0
    if mark:
        first, last, value = mark
        y = float(np.log10(value)) if logarithmic else value
        figure.add_annotation(**_make_arrow((last, y), (first, y), colours.ink))
        if first < last / 2:
            middle = (first + last) // 2
            gaps = [float(each[middle]) - value for each in curves.values()]
            room_above, room_below = (min((s * gap for gap in gaps if s * gap > 0), default=most) for s in (1, -1))
            look = {"font": {"color": colours.ink}, "yanchor": "bottom" if room_above > room_below else "top"}
            figure.add_annotation(x=middle, y=y, text="the same loss", showarrow=False, **look)
        # On a phone, a number below the axis takes 24 steps.
        figure.update_xaxes(tickvals=[first] * (last - first >= 24) + [last])
    low -= margin if least < 0 or logarithmic else 0
    figure.update_yaxes(title=quantity, range=[low, high + margin], automargin=True, **scale)
    return apply_chart_style(figure, colours, {"l": 60, "t": 30 if has_legend else 8}, {"y": 1, "yanchor": "bottom"})


def _draw_curve_up_to_step(
    figure: Figure, name: str, points: tuple[np.ndarray, np.ndarray], step: int, look: dict, last: dict
) -> None:
    """Draw a line of style `look` up to a step, with a marker of style `last` at its end after step 0."""
    x, y = points
    sizes = np.zeros(step + 1)
    sizes[-1] = 10 if step else 0
    figure.add_scatter(
        x=x[: step + 1], y=y[: step + 1], name=name, mode="lines+markers", line=look, marker=last | {"size": sizes},
    )  # fmt: skip
