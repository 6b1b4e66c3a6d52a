"""Pictures of layer norm with three channels in space: the plane, the circle, the vectors, and a step."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES, Theme
from normviz.charts.style import apply_chart_style
from normviz.topics.geometry.three_channels import (
    CIRCLE_RADIUS,
    INCOMING_GRADIENT,
    DescentStep,
    ForwardPass,
    format_vector,
)

PLANE_RADIUS = 3.3
"""Smallest radius of the drawn plane: the circle keeps its size for most x."""

MIN_LABELLED_HEIGHT = 0.6
"""Smallest distance between x and v that is labelled."""

AXIS_LENGTH = 1.4
"""Length of the drawn axes."""

GRADIENT_LENGTH = 2.0
"""Length of the arrow of the gradient without its mean."""

RIGHT_ANGLE_SIDE, RIGHT_ANGLE_TOLERANCE = 0.5, 1e-3
"""Side of the square that marks a right angle, and the largest cosine that counts as one."""

DOT_DISTANCE = 0.18
"""Distance between the dots of a dotted line."""

CIRCLE_POINTS = 72
"""Number of corners of a drawn circle."""

PLANE_NORMAL = np.ones(3) / np.sqrt(3)
"""Unit normal of the plane of all vectors whose sum is 0."""

SIDE_VIEW, TOP_VIEW = np.radians(22), np.radians(45)
"""Angles between the camera and the plane: from the side x is seen above it, and from above the angles in it."""

_RIGHT = np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
_DEEP = np.cross(PLANE_NORMAL, _RIGHT)
_FRONT = 0.57 * _RIGHT + 0.82 * _DEEP
_SCREEN_RIGHT = np.cross(PLANE_NORMAL, _FRONT)


def draw_normalization(forward: ForwardPass, theme: str = "light") -> Figure:
    """Return a 3D figure of x, v = x − μ in the plane of centred vectors, x̂, and the circle it ends on at ε = 0.

    A wall stands on v: all x in it have the same x̂ at ε = 0. It also shows that x is above the plane.
    """
    colours, height = THEMES[theme], float(forward.x @ PLANE_NORMAL)
    screen_up = np.cos(SIDE_VIEW) * PLANE_NORMAL - np.sin(SIDE_VIEW) * _FRONT
    farthest, highest = float(np.linalg.norm(forward.v)), abs(float(forward.x @ screen_up))
    room = 1.64 if height < 0 else 1.95  # a name above the tip needs more of it than one beside the tip
    figure = _create_scene(farthest, SIDE_VIEW, colours, highest=room * highest, has_circle=True)
    x, y, z = np.stack([np.zeros(3), forward.v, forward.x, forward.x - forward.v]).T  # the wall
    figure.add(
        "mesh3d", x=x, y=y, z=z, i=[0, 0], j=[1, 2], k=[2, 3], color=colours.lines[0], opacity=0.12, **_QUIET
    )  # fmt: skip
    _draw_dots(figure, forward.x, forward.v, colours.mean)
    if abs(height) > MIN_LABELLED_HEIGHT:
        side = "right" if forward.v @ _SCREEN_RIGHT > 0 else "left"
        _draw_text(figure, (forward.x + forward.v) / 2, "− μ", colours.mean, f"middle {side}")
    beside = "middle right" if forward.x @ _SCREEN_RIGHT < 0 else "middle left"
    name, side = f"x = {format_vector(forward.x)}", beside if height < 0 else "top center"
    _draw_vector(figure, np.zeros(3), forward.x, name, colours.lines[0], side)
    _draw_centred(figure, forward, "top center" if height < 0 else "bottom center", colours)
    return figure


def draw_gradient(step: DescentStep, theme: str = "light") -> Figure:
    """Return a 3D figure of v, x̂ and the gradient at v, all in the plane of centred vectors.

    It shows ∂L/∂x̂ / s without its mean, an arrow of fixed length, and to the same scale its part along v and the
    rest, ∂L/∂x.
    """
    colours, v = THEMES[theme], step.before.v
    length = float(np.linalg.norm(v))
    gradients = _scale_gradients(step) if length else np.zeros((0, 3))
    farthest = float(np.linalg.norm(gradients + v, axis=1).max(initial=length))
    figure = _create_scene(farthest, TOP_VIEW, colours, has_circle=True)
    _draw_centred(figure, step.before, "middle left", colours)
    if len(gradients):
        back, ahead = -v / length, gradients[1] / (np.linalg.norm(gradients[1]) or 1.0)
        start, end = v + gradients
        _draw_vector(figure, v, start, "projection 1", colours.lines[1], "middle left", width=3)
        _draw_line(figure, [start, end], colours.mean)
        _draw_text(figure, (start + end) / 2, "part along v", colours.mean, "bottom right")
        _draw_vector(figure, v, end, "∂L/∂x", colours.lines[1], "middle right")
        if abs(ahead @ back) < RIGHT_ANGLE_TOLERANCE:
            _draw_right_angle(figure, v, back, ahead, colours.ink)
    return figure


def _draw_centred(figure: Figure, forward: ForwardPass, side: str, colours: Theme) -> None:
    """Add v and the thicker x̂, which has its direction, to a figure."""
    above = 0.03 * PLANE_NORMAL  # so that x̂ covers a part of v, not v a part of x̂
    _draw_vector(figure, np.zeros(3), forward.v, "v", colours.mean, side)
    _draw_vector(figure, above, above + forward.xhat, "x̂", colours.divides, "top center", width=14)


def _scale_gradients(step: DescentStep) -> np.ndarray:
    """Return ∂L/∂x̂ / s without its mean, with length `GRADIENT_LENGTH`, and ∂L/∂x to the same scale, (2, 3)."""
    incoming = np.array(INCOMING_GRADIENT) / step.before.divisor
    both = np.stack([incoming - incoming.mean(), step.gradient])
    return GRADIENT_LENGTH / np.linalg.norm(both[0]) * both


def draw_step(long: DescentStep, short: DescentStep, theme: str = "light") -> Figure:
    """Return a figure of the same gradient descent step from v and from ½ v, with the angle by which each turns."""
    colours = THEMES[theme]
    ends = [step.before.v + step.change for step in (long, short)]
    farthest = max(float(np.linalg.norm(end)) for end in (long.before.v, *ends))
    figure = _create_scene(farthest, TOP_VIEW, colours)
    origin = np.zeros(3)
    for step, end, label in zip((long, short), ends, ("long: v", "short: ½ v"), strict=True):
        _draw_vector(figure, origin, step.before.v, label, colours.mean, "bottom right")
        if step.before.v.any():
            _draw_vector(figure, step.before.v, end, f"step: {step.angle:.0f}°", colours.lines[1], "top center")
            _draw_dots(figure, origin, end, colours.lines[1])
    return figure


def _create_scene(
    farthest: float, view: float, colours: Theme, *, highest: float = 0.0, has_circle: bool = False
) -> Figure:  # fmt: skip
    """Return a figure with axes from 0, the plane of centred vectors, and perhaps the circle, seen as in `view`.

    Args:
        farthest: distance of the farthest point in the plane from the origin.
        highest: distance from the origin along the picture's vertical that has to be in sight.
    """
    figure = Figure()
    ring, fan = _make_circle_points(), np.arange(1, CIRCLE_POINTS + 1)
    radius = max(PLANE_RADIUS, 1.1 * farthest)
    reach = max(1.1 * radius, highest)
    disc = radius * np.vstack([np.zeros(3), ring])
    x, y, z = disc.T
    light = {"ambient": 0.9, "diffuse": 0.25, "specular": 0.0}
    figure.add(
        "mesh3d", x=x, y=y, z=z, i=np.zeros(CIRCLE_POINTS, int), j=fan, k=np.roll(fan, -1), color=colours.mean,
        opacity=0.14, lighting=light, **_QUIET,
    )  # fmt: skip
    _draw_text(figure, radius * (0.55 * _SCREEN_RIGHT - 0.62 * _FRONT), "plane: sum = 0", colours.mean)
    if has_circle:
        x, y, z = (CIRCLE_RADIUS * np.vstack([ring, ring[:1]])).T
        figure.add("scatter3d", x=x, y=y, z=z, mode="lines", line={"color": colours.divides, "width": 6}, **_QUIET)
        _draw_text(figure, CIRCLE_RADIUS * (1.25 * _SCREEN_RIGHT - 0.3 * _FRONT), "circle", colours.divides)
    for channel, unit in enumerate(np.eye(3)):
        _draw_line(figure, [np.zeros(3), AXIS_LENGTH * unit], colours.muted)
        _draw_text(figure, AXIS_LENGTH * unit, f"x{'₁₂₃'[channel]}", colours.muted, "middle right")
    eye = 2.2 * (np.sin(view) * PLANE_NORMAL + np.cos(view) * _FRONT)
    apply_chart_style(figure, colours, {"l": 0, "r": 0, "t": 0, "b": 0})
    axes = {f"{axis}axis": {"range": [-reach, reach], "visible": False} for axis in "xyz"}
    figure.update_layout(
        showlegend=False,
        scene={
            **axes, "aspectmode": "manual", "aspectratio": dict.fromkeys("xyz", 3.0),
            "camera": {
                "eye": dict(zip("xyz", eye.tolist(), strict=True)),
                "up": dict(zip("xyz", PLANE_NORMAL.tolist(), strict=True)),
                "projection": {"type": "orthographic"},
            },
        },
    )  # fmt: skip
    return figure


_QUIET: dict[str, Any] = {"showlegend": False, "hoverinfo": "skip"}


def _make_circle_points() -> np.ndarray:
    """Return points on the unit circle in the plane of centred vectors, (`CIRCLE_POINTS`, 3)."""
    turn = np.linspace(0, 2 * np.pi, CIRCLE_POINTS, endpoint=False)[:, None]
    return np.cos(turn) * _RIGHT + np.sin(turn) * _DEEP


def _draw_vector(
    figure: Figure, start: np.ndarray, end: np.ndarray, label: str, colour: str, side: str, *, width: float = 8
) -> None:  # fmt: skip
    """Add an arrow to a figure, labelled at its tip; an arrow of length 0 is drawn as a point."""
    x, y, z = np.stack([start, end]).T
    length = float(np.linalg.norm(end - start))
    figure.add(
        "scatter3d", x=x, y=y, z=z, mode="lines+markers+text", name=label, text=["", f"<b>{label}</b>"],
        textposition=side, textfont={"color": colour, "size": 17}, line={"color": colour, "width": width},
        marker={"color": colour, "size": [0, 0 if length else 8]}, hovertemplate=format_vector(end - start),
    )  # fmt: skip
    if length:
        u, v, w = ([each] for each in (end - start) / length)
        figure.add(
            "cone", x=[end[0]], y=[end[1]], z=[end[2]], u=u, v=v, w=w, anchor="tip", sizemode="absolute", sizeref=0.32,
            colorscale=[[0, colour], [1, colour]], showscale=False, **_QUIET,
        )  # fmt: skip


def _draw_right_angle(figure: Figure, corner: np.ndarray, a: np.ndarray, b: np.ndarray, colour: str) -> None:
    """Add the mark of a right angle between the unit vectors `a` and `b` at `corner` to a figure."""
    _draw_line(figure, corner + RIGHT_ANGLE_SIDE * np.array([a, a + b, b]), colour)


def _draw_line(figure: Figure, points: ArrayLike, colour: str) -> None:
    x, y, z = np.transpose(points)
    figure.add("scatter3d", x=x, y=y, z=z, mode="lines", line={"color": colour, "width": 3}, **_QUIET)


def _draw_dots(figure: Figure, start: np.ndarray, end: np.ndarray, colour: str) -> None:
    """Add a dotted line to a figure; Plotly's own dashes are lines, dashes or dots, by the size of the picture."""
    count = round(float(np.linalg.norm(end - start)) / DOT_DISTANCE) + 1
    x, y, z = np.linspace(start, end, count).T
    figure.add("scatter3d", x=x, y=y, z=z, mode="markers", marker={"color": colour, "size": 2}, **_QUIET)


def _draw_text(figure: Figure, position: np.ndarray, text: str, colour: str, side: str = "middle center") -> None:
    x, y, z = ([each] for each in position)
    font = {"color": colour, "size": 14}
    figure.add(
        "scatter3d", x=x, y=y, z=z, mode="text", text=[f"<b>{text}</b>"], textposition=side, textfont=font, **_QUIET
    )
