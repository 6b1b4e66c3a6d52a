"""Pictures of layer norm with three channels in space: the plane, the circle, the vectors, and a step."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES, Theme
from normviz.charts.style import apply_chart_style
from normviz.topics.geometry.three_channels import CIRCLE_RADIUS, INCOMING_GRADIENT, DescentStep, format_vector

MIN_REACH = 4.15
"""Smallest distance from the origin to the border of the picture: the circle keeps its size for most x."""

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

_RIGHT = np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
_DEEP = np.cross(PLANE_NORMAL, _RIGHT)
_SCREEN_RIGHT = 0.77 * _DEEP - 0.64 * _RIGHT
_EYE = 2.2 * (0.5 * PLANE_NORMAL + 0.87 * (0.77 * _RIGHT + 0.64 * _DEEP))


def draw_stage(step: DescentStep, stage: str, theme: str = "light") -> Figure:
    """Return a 3D figure of x, v = x − μ and the plane of centred vectors; after the first stage also of x̂.

    A dotted line joins x with v, at first all x with this v. The stage "gradient" adds ∂L/∂x̂ / s without its mean, an
    arrow of fixed length, and to the same scale its part along v and the rest, ∂L/∂x.
    """
    colours, forward = THEMES[theme], step.before
    divides, origin, length = stage != "centre", np.zeros(3), float(np.linalg.norm(forward.v))
    beside = 0.11 * np.cross(PLANE_NORMAL, forward.v) / (length or 1.0) if divides else origin  # v and x̂ overlap
    gradients = _scale_gradients(step) if stage == "gradient" and length else np.empty((0, 3))
    farthest = float(np.linalg.norm(gradients + forward.v, axis=1).max(initial=0))
    reach = max(MIN_REACH, 1.1 * float(np.linalg.norm(forward.x)), 1.04 * farthest)
    figure = _create_scene(reach, colours, has_circle=divides)
    side = "middle right" if forward.x @ _SCREEN_RIGHT > 0 else "middle left"  # as the camera is at first
    above, below = (side.replace("middle", each) for each in ("top", "bottom"))
    _draw_vector(figure, origin, forward.x, "x", colours.lines[0], above if divides else side)
    opposite = 2 * forward.v - forward.x
    _draw_dots(figure, forward.x, forward.v if divides else opposite, colours.mean)
    is_short = divides and length < CIRCLE_RADIUS  # the longer arrow is named at its tip
    at_middle = {"side": "bottom right", "share": 0.5}
    place = at_middle if is_short else {"side": above if divides else side}
    _draw_vector(figure, beside, beside + forward.v, "v = x − μ", colours.mean, **place)
    if not divides:
        _draw_text(figure, (forward.x + forward.v) / 2, "subtract μ", colours.mean, side)
        _draw_text(figure, opposite, "along (1, 1, 1)", colours.mean, side)
        if length:
            _draw_right_angle(figure, forward.v, -forward.v / length, PLANE_NORMAL, colours.ink)
        return figure
    place = {"side": below} if is_short else at_middle
    _draw_vector(figure, -beside, forward.xhat - beside, "x̂ = v / s", colours.divides, **place)
    if len(gradients):
        tip, back, ahead = beside + forward.v, -forward.v / length, gradients[1] / (np.linalg.norm(gradients[1]) or 1.0)
        start, end = tip + gradients
        _draw_vector(figure, tip, start, "after projection 1", colours.lines[1], "bottom left", width=3)
        _draw_line(figure, [start, end], colours.mean)
        _draw_text(figure, (start + end) / 2, "part along v", colours.mean, "bottom right")
        _draw_vector(figure, tip, end, "∂L/∂x", colours.lines[1], "middle right")
        if abs(ahead @ back) < RIGHT_ANGLE_TOLERANCE:
            _draw_right_angle(figure, tip, back, ahead, colours.ink)
    return figure


def _scale_gradients(step: DescentStep) -> np.ndarray:
    """Return ∂L/∂x̂ / s without its mean, with length `GRADIENT_LENGTH`, and ∂L/∂x to the same scale, (2, 3)."""
    incoming = np.array(INCOMING_GRADIENT) / step.before.divisor
    both = np.stack([incoming - incoming.mean(), step.gradient])
    return GRADIENT_LENGTH / np.linalg.norm(both[0]) * both


def draw_step(long: DescentStep, short: DescentStep, theme: str = "light") -> Figure:
    """Return a figure of the same gradient descent step from v and from ½ v, with the angle by which each turns."""
    colours = THEMES[theme]
    ends = [step.before.v + step.change for step in (long, short)]
    reach = max(MIN_REACH, *(1.1 * float(np.linalg.norm(end)) for end in (long.before.v, *ends)))
    figure = _create_scene(reach, colours)
    origin = np.zeros(3)
    for step, end, label in zip((long, short), ends, ("long: v", "short: ½ v"), strict=True):
        _draw_vector(figure, origin, step.before.v, label, colours.mean, "bottom right")
        if step.before.v.any():
            _draw_vector(figure, step.before.v, end, f"step: {step.angle:.0f}°", colours.lines[1], "top center")
            _draw_dots(figure, origin, end, colours.lines[1])
    return figure


def _create_scene(reach: float, colours: Theme, has_circle: bool = False) -> Figure:
    """Return a figure with axes from 0 and the plane of centred vectors, up to `reach`, and perhaps the circle."""
    figure = Figure()
    ring, fan = _make_circle_points(), np.arange(1, CIRCLE_POINTS + 1)
    disc = 0.97 * reach * np.vstack([np.zeros(3), ring])
    x, y, z = disc.T
    light = {"ambient": 0.9, "diffuse": 0.25, "specular": 0.0}
    figure.add(
        "mesh3d", x=x, y=y, z=z, i=np.zeros(CIRCLE_POINTS, int), j=fan, k=np.roll(fan, -1), color=colours.mean,
        opacity=0.14, lighting=light, **_QUIET,
    )  # fmt: skip
    _draw_text(figure, 0.84 * reach * (0.99 * _DEEP + 0.1 * _RIGHT), "plane: sum = 0", colours.mean)
    if has_circle:
        x, y, z = (CIRCLE_RADIUS * np.vstack([ring, ring[:1]])).T
        figure.add("scatter3d", x=x, y=y, z=z, mode="lines", line={"color": colours.divides, "width": 6}, **_QUIET)
        _draw_text(figure, 1.5 * CIRCLE_RADIUS * (0.5 * _DEEP - 0.87 * _RIGHT), "circle: radius √3", colours.divides)
    for channel, unit in enumerate(np.eye(3)):
        length = 0.65 * reach
        _draw_line(figure, [np.zeros(3), length * unit], colours.muted)
        numbers = np.arange(1, int(length) + 1)
        x, y, z = numbers * unit[:, None]
        side = ("top right", "bottom center", "middle right")[channel]
        figure.add(
            "scatter3d", x=x, y=y, z=z, mode="markers+text", marker={"color": colours.muted, "size": 3},
            text=[*[""] * (len(numbers) - 1), str(numbers[-1])], textposition=side,
            textfont={"color": colours.muted}, **_QUIET,
        )  # fmt: skip
        _draw_text(figure, 1.02 * length * unit, f"x{'₁₂₃'[channel]}", colours.muted, "top center")
    apply_chart_style(figure, colours, {"l": 0, "r": 0, "t": 0, "b": 0})
    axes = {f"{axis}axis": {"range": [-reach, reach], "visible": False} for axis in "xyz"}
    figure.update_layout(
        showlegend=False,
        scene={
            **axes, "aspectmode": "manual", "aspectratio": dict.fromkeys("xyz", 2.5),
            "camera": {
                "eye": dict(zip("xyz", _EYE.tolist(), strict=True)),
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
    figure: Figure, start: np.ndarray, end: np.ndarray, label: str, colour: str, side: str, *, share: float = 1.0,
    width: float = 8,
) -> None:  # fmt: skip
    """Add an arrow to a figure, labelled at `share` of its length; an arrow of length 0 is drawn as a point."""
    x, y, z = np.stack([start, start + share * (end - start), end]).T
    length = float(np.linalg.norm(end - start))
    figure.add(
        "scatter3d", x=x, y=y, z=z, mode="lines+markers+text", name=label, text=["", f"<b>{label}</b>", ""],
        textposition=side, textfont={"color": colour, "size": 17}, line={"color": colour, "width": width},
        marker={"color": colour, "size": [0, 0, 0 if length else 8]}, hovertemplate=format_vector(end - start),
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
