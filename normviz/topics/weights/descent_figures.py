"""Charts of weight norm under SGD: the paths of w over the loss, and losses and lengths by step.

Both grow with the step. Their axes are those of the whole run, so that they stay.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES, Theme
from normviz.charts.style import LOG_AXIS_FLOOR, PANEL_TITLE_SIZE, apply_chart_style, style_curve, style_marker
from normviz.core.text import join_words

MARGIN = 0.12
PICTURE_WIDTH = 300
"""Approximate width of the picture in pixels, for the size of its labels."""

V_GAP = 10
"""Distance of v from w in pixels."""

LABEL_SIDES = np.array([(1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1)])
"""The sides of its anchor on which a label may stand."""

GRID_POINTS = 61
CIRCLE_ANGLES = np.linspace(0, 2 * np.pi, 121)

MARKED_STEPS = (10, 50)
"""Steps with a dot on each path, which show who is ahead."""

HEADLINE = "<b>v turns w, g sets its length</b>"
"""Title of the chart of the paths."""

MAX_LINEAR_DECADES = 2
"""Range in orders of magnitude above which an axis is logarithmic."""


def make_square_grid(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return x and y of a square grid that contains the origin and all points (k, 2), with a margin."""
    points = np.concatenate([np.zeros((1, 2)), points])
    low, high = points.min(axis=0), points.max(axis=0)
    half = (0.5 + MARGIN) * float((high - low).max())
    x, y = (np.linspace(middle - half, middle + half, GRID_POINTS) for middle in (low + high) / 2)
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
    """Return a figure of paths of two weights over the loss, up to a step, and the last path's w and v as arrows.

    w begins at the origin, and v stands beside it, since both have the same direction. Also drawn: the circle of all
    weights as long as the start. The paths are named from the first step on.

    Args:
        grid: x and y of the losses, of `make_square_grid`.
        losses: (y, x).
        lowest: the weights of the lowest loss, (2,).
        paths: by name, the weights of the whole run, (steps + 1, 2).
        v: the last path's v, (steps + 1, 2).
        step: the last drawn step.
        theme: "light" or "dark".
    """
    colours, (x, y) = THEMES[theme], grid
    figure = Figure()
    _draw_loss(figure, x, y, losses, colours)
    arrow_path = list(paths.values())[-1]
    start = arrow_path[0]
    circle = float(np.linalg.norm(start)) * np.stack([np.cos(CIRCLE_ANGLES), np.sin(CIRCLE_ANGLES)], axis=1)
    figure.add_scatter(
        x=circle[:, 0], y=circle[:, 1], mode="lines", name="circle", hoverinfo="skip",
        line={"color": colours.ink, "width": 1.5, "dash": "dot"},
    )  # fmt: skip
    for k, (name, points) in enumerate(paths.items()):
        _draw_up_to_step(
            figure, name, (points[:, 0], points[:, 1]), step, style_curve(k, colours, 4), style_marker(k, colours),
            MARKED_STEPS,
        )  # fmt: skip
    places = np.stack([start, lowest])
    figure.add_scatter(
        x=places[:, 0], y=places[:, 1], mode="markers", name="places", hoverinfo="skip",
        marker={"color": colours.ink, "symbol": ["circle", "star"], "size": [10, 16]},
    )  # fmt: skip
    aside = np.array([-v[step, 1], v[step, 0]]) / np.linalg.norm(v[step])  # at right angles to both
    gap = V_GAP * (x[-1] - x[0]) / PICTURE_WIDTH * aside
    for name, vector, start_point, side, colour, width in (
        ("w", arrow_path[step], np.zeros(2), -aside, colours.ink, 2),
        ("v", v[step], gap, aside, colours.lines[len(paths)], 4),
    ):
        _draw_arrow(figure, start_point, vector, colour, width)
        middle, (x_shift, y_shift) = start_point + vector / 2, 13 * side
        figure.add_annotation(
            x=middle[0], y=middle[1], text=f"<b>{name}</b>", showarrow=False, xshift=x_shift, yshift=y_shift
        )
    arrows = np.linspace(np.zeros(2), [start, arrow_path[-1]], 20).reshape(-1, 2)
    label = LabelPlacer(
        figure, grid, np.concatenate([*paths.values(), circle, 0.2 * circle, arrows, np.repeat(places, 9, axis=0)])
    )
    for place, text in zip(places, ("start", "lowest loss"), strict=True):
        label.write(place[None], text)
    label.write(circle, f"length {np.linalg.norm(start):.3g}, as at the start")
    named = paths if step else {}
    for k, (name, points) in enumerate(named.items()):
        others = np.concatenate([other for each, other in paths.items() if each != name])
        gaps = np.linalg.norm(points[:, None] - others, axis=2).min(axis=1)
        colour = style_curve(k, colours)["color"]
        label.write(points[np.argsort(-gaps)[::8]], name, f'<span style="color:{colour}"><b>{name}</b></span>')
    figure.update_layout(
        showlegend=False,
        title={"text": HEADLINE, "font": {"size": PANEL_TITLE_SIZE}, "x": 0.5, "y": 0.99, "yanchor": "top"},
    )
    axis, dots = {"constrain": "domain", "showgrid": False}, join_words(list(map(str, MARKED_STEPS)), "and")
    figure.update_xaxes(
        range=[x[0], x[-1]], title={"text": f"first weight (dots: steps {dots})", "standoff": 4}, **axis
    )
    figure.update_yaxes(range=[y[0], y[-1]], title={"text": "second weight", "standoff": 4}, scaleanchor="x", **axis)
    return apply_chart_style(figure, colours, {"t": 34, "b": 52})


def _draw_arrow(figure: Figure, start: np.ndarray, vector: np.ndarray, colour: str, width: int) -> None:
    """Draw a vector (2,) as an arrow from a point (2,)."""
    end = start + vector
    figure.add_annotation(
        x=end[0], y=end[1], ax=start[0], ay=start[1], xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True,
        arrowhead=2, arrowsize=0.3 + 1.4 / width, arrowwidth=width, arrowcolor=colour,
    )  # fmt: skip


def _draw_loss(figure: Figure, x: np.ndarray, y: np.ndarray, losses: np.ndarray, colours: Theme) -> None:
    """Draw the loss as contours, coloured by its logarithm."""
    figure.add_contour(
        x=x, y=y, z=np.log(losses), ncontours=8, line={"width": 0.5, "color": colours.muted}, opacity=0.5,
        colorscale=[[0, colours.middle], [1, colours.muted]], hoverinfo="skip", showscale=False,
    )  # fmt: skip


class LabelPlacer:
    """Placer of labels in a square picture, which puts each where it covers the least of lines and other labels.

    Labels are placed for the whole run, so that they stay while it plays.

    Args:
        figure: the figure of the labels.
        grid: x and y of the picture.
        points: points of all lines, (k, 2).
    """

    def __init__(self, figure: Figure, grid: tuple[np.ndarray, np.ndarray], points: np.ndarray) -> None:
        self.figure, self.points = figure, points
        self.middle, self.half = np.array([each.mean() for each in grid]), np.ptp(grid[0]) / 2
        self.boxes: list[tuple[np.ndarray, np.ndarray]] = []

    def write(self, anchors: np.ndarray, text: str, html: str = "") -> None:
        """Write a text beside that of the points (k, 2) where it covers least; `html` is the text with markup."""
        pixel = 2 * self.half / PICTURE_WIDTH
        half = pixel * np.array([4.0 * len(text), 10.0])
        sides = (half + 7 * pixel) * LABEL_SIDES
        centres = (anchors[:: max(len(anchors) // 40, 1), None] + sides).reshape(-1, 2)
        cover = (np.abs(self.points - centres[:, None]) < half + 2 * pixel).all(axis=2).sum(axis=1)
        for centre, size in self.boxes:
            cover += 9_999 * (np.abs(centre - centres) < half + size).all(axis=1)
        cover += 99_999 * (np.abs(centres - self.middle) + half > self.half).any(axis=1)
        best = centres[np.argmin(cover)]
        self.boxes.append((best, half))
        self.figure.add_annotation(x=best[0], y=best[1], text=html or text, showarrow=False)


def draw_values_by_step(
    curves: Mapping[str, np.ndarray],
    step: int,
    quantity: str,
    theme: str = "light",
    first_look: int = 0,
    has_legend: bool = True,
) -> Figure:
    """Return a figure of curves of one quantity over the steps, up to `step`; `curves` has their names.

    The axis is logarithmic if no number is below 0 and they span more than two orders of magnitude.
    `first_look`: the number of the first curve's colour, so that curves of another chart keep theirs.
    `has_legend`: False where the page names the colours.
    """
    colours = THEMES[theme]
    figure = Figure()
    everything = np.concatenate(list(curves.values()))
    least, most = float(everything.min()), float(everything.max())
    logarithmic = 0 <= least < most / 10**MAX_LINEAR_DECADES
    for k, (name, values) in enumerate(curves.items(), first_look):
        shown = np.maximum(values, LOG_AXIS_FLOOR) if logarithmic else values
        curve = np.arange(len(shown)), shown
        _draw_up_to_step(figure, name, curve, step, style_curve(k, colours, 3), style_marker(k, colours))
    figure.update_layout(showlegend=has_legend)
    figure.update_xaxes(title={"text": "step of SGD", "standoff": 4}, range=[0, 1.04 * (len(values) - 1)])
    scale = {"type": "log", "exponentformat": "power"} if logarithmic else {}
    low, high = (float(np.log10(max(end, LOG_AXIS_FLOOR))) if logarithmic else end for end in (least, most))
    margin = 0.06 * (high - low) or 1.0
    figure.update_yaxes(title=quantity, range=[low - margin, high + margin], automargin=True, **scale)
    return apply_chart_style(figure, colours, {"l": 60, "t": 30 if has_legend else 8}, {"y": 1, "yanchor": "bottom"})


def _draw_up_to_step(
    figure: Figure,
    name: str,
    points: Sequence[np.ndarray],
    step: int,
    look: dict,
    last: dict,
    marked: Sequence[int] = (),
) -> None:
    """Draw a line of style `look` up to a step, with markers of style `last` at its end and at `marked` steps."""
    x, y = points
    sizes = np.where(np.isin(np.arange(step + 1), marked), 13, 0)
    sizes[-1] = 10 if step else 0
    figure.add_scatter(
        x=x[: step + 1], y=y[: step + 1], name=name, mode="lines+markers", line=look, marker=last | {"size": sizes},
    )  # fmt: skip
