"""Pictures of layer norm with three channels in space: the plane, the sphere, and the vectors of both passes."""

from typing import Any

import numpy as np

from normviz.geometry.three_channels import RADIUS, Backward, Forward
from normviz.ui.chart import Figure
from normviz.ui.palette import THEMES, Theme
from normviz.ui.style import finish

LEAST_REACH = 3.4
"""From the origin to the border of the picture, at least, so that the sphere keeps its size for most x."""

AROUND = 72
"""Corners of a circle."""

NORMAL = np.ones(3) / np.sqrt(3)
"""Of the plane of all vectors whose sum is 0."""

_RIGHT = np.array([1.0, 0.0, -1.0]) / np.sqrt(2)
_DEEP = np.cross(NORMAL, _RIGHT)
_EYE = 2.2 * (0.4 * NORMAL + 0.46 * _RIGHT + 0.79 * _DEEP)


def forward_figure(one: Forward, theme: str = "light") -> Figure:
    """Draw x, v = x − μ on the plane, and x̂ on the sphere or inside it."""
    colours = THEMES[theme]
    reach = max(LEAST_REACH, 1.1 * float(np.linalg.norm(one.x)))
    figure = _scene(reach, colours)
    origin = np.zeros(3)
    _line(figure, one.x, one.v, colours.mean, dash="dash")
    _vector(figure, origin, one.x, "x", "x", colours.lines[0])
    _vector(figure, origin, one.v, "v = x − μ", "v", colours.mean)
    _vector(figure, origin, one.xhat, "x̂ = v / √(σ² + ε)", "x̂", colours.divides)
    return figure


def backward_figure(one: Forward, back: Backward, theme: str = "light") -> Figure:
    """Draw at the end of x̂: the gradient that arrives, and what each of the two subtractions leaves of it."""
    colours = THEMES[theme]
    figure = _scene(LEAST_REACH, colours)
    at = one.xhat
    _vector(figure, np.zeros(3), at, "x̂", "x̂", colours.divides)
    _line(figure, at + back.incoming, at + back.centred, colours.mean, dash="dash")
    _line(figure, at + back.centred, at + back.projected, colours.divides, dash="dash")
    _vector(figure, at, at + back.incoming, "gradient g = ∂l/∂x̂", "g", colours.lines[0])
    _vector(figure, at, at + back.centred, "g without its mean", "", colours.mean)
    _vector(figure, at, at + back.projected, "and without its part along x̂", "∝ ∂l/∂x", colours.lines[1])
    return figure


def _scene(reach: float, colours: Theme) -> Figure:
    """Return a figure with the plane, the sphere, the circle in which they meet, and the three axes."""
    figure = Figure()
    ring = _ring()
    fan = np.arange(1, AROUND + 1)
    disc = 0.97 * reach * np.vstack([np.zeros(3), ring])
    _surface(figure, disc, colours.mean, 0.16, i=np.zeros(AROUND, int), j=fan, k=np.roll(fan, -1))
    _surface(figure, RADIUS * _globe(), colours.divides, 0.2, alphahull=0)
    for radius, colour, width in ((RADIUS, colours.divides, 5), (0.97 * reach, colours.mean, 2)):
        x, y, z = (radius * np.vstack([ring, ring[:1]])).T
        figure.add("scatter3d", x=x, y=y, z=z, mode="lines", line={"color": colour, "width": width}, **_QUIET)
    for channel, unit in enumerate(np.eye(3), 1):
        _line(figure, np.zeros(3), 0.7 * reach * unit, colours.muted)
        _text(figure, 0.76 * reach * unit, f"channel {channel}", colours.muted)
    _text(figure, -1.4 * RADIUS * NORMAL, "sphere: radius √3", colours.ink)
    _text(figure, 0.8 * reach * (0.5 * _DEEP - 0.87 * _RIGHT), "plane: sum = 0", colours.ink)
    finish(figure, colours, {"l": 0, "r": 0, "t": 0, "b": 0}, {"y": -0.02})
    axes = {f"{axis}axis": {"range": [-reach, reach], "visible": False} for axis in "xyz"}
    figure.update_layout(
        scene={
            **axes, "aspectmode": "manual", "aspectratio": dict.fromkeys("xyz", 2.5),
            "camera": {"eye": _point(_EYE), "up": _point(NORMAL), "projection": {"type": "orthographic"}},
        }
    )  # fmt: skip
    return figure


_QUIET: dict[str, Any] = {"showlegend": False, "hoverinfo": "skip"}


def _ring() -> np.ndarray:
    """Return points of the circle of radius 1 in the plane, (AROUND, 3)."""
    turn = np.linspace(0, 2 * np.pi, AROUND, endpoint=False)[:, None]
    return np.cos(turn) * _RIGHT + np.sin(turn) * _DEEP


def _globe() -> np.ndarray:
    """Return points of the sphere of radius 1, in circles around the normal of the plane, (points, 3)."""
    heights = np.linspace(-np.pi / 2, np.pi / 2, 25)[:, None, None]
    return (np.cos(heights) * _ring()[::2] + np.sin(heights) * NORMAL).reshape(-1, 3)


def _surface(figure: Figure, points: np.ndarray, colour: str, opacity: float, **triangles: Any) -> None:
    """Draw a translucent surface of points (points, 3)."""
    x, y, z = points.T
    light = {"ambient": 0.9, "diffuse": 0.25, "specular": 0.0}
    figure.add("mesh3d", x=x, y=y, z=z, color=colour, opacity=opacity, lighting=light, **triangles, **_QUIET)


def _vector(figure: Figure, start: np.ndarray, end: np.ndarray, name: str, label: str, colour: str) -> None:
    """Draw an arrow, labelled at its end; one of length 0 as a point."""
    x, y, z = np.stack([start, end]).T
    length = float(np.linalg.norm(end - start))
    figure.add(
        "scatter3d", x=x, y=y, z=z, mode="lines+markers+text", name=name, text=["", f"<b>{label}</b>"],
        textposition="top right", textfont={"color": colour, "size": 18}, line={"color": colour, "width": 8},
        marker={"color": colour, "size": [0, 0 if length else 8]}, hovertemplate="(%{x:.3g}, %{y:.3g}, %{z:.3g})",
    )  # fmt: skip
    if length:
        u, v, w = ([each] for each in (end - start) / length)
        figure.add(
            "cone", x=[end[0]], y=[end[1]], z=[end[2]], u=u, v=v, w=w, anchor="tip", sizemode="absolute", sizeref=0.32,
            colorscale=[[0, colour], [1, colour]], showscale=False, **_QUIET,
        )  # fmt: skip


def _line(figure: Figure, start: np.ndarray, end: np.ndarray, colour: str, dash: str = "solid") -> None:
    """Draw a thin line."""
    x, y, z = np.stack([start, end]).T
    figure.add("scatter3d", x=x, y=y, z=z, mode="lines", line={"color": colour, "width": 3, "dash": dash}, **_QUIET)


def _text(figure: Figure, at: np.ndarray, text: str, colour: str) -> None:
    """Write a text at a point."""
    x, y, z = ([each] for each in at)
    figure.add("scatter3d", x=x, y=y, z=z, mode="text", text=[text], textfont={"color": colour, "size": 14}, **_QUIET)


def _point(at: np.ndarray) -> dict[str, float]:
    """Return a point as plotly.js takes it."""
    return dict(zip("xyz", at.tolist(), strict=True))
