"""Charts of the page "Why normalize": learning curves, clouds with their covariance, lines to the identity."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from normviz.charts.chart import Figure, make_subplots
from normviz.charts.curves import BOTTOM_MARGIN, LEGEND_AT_BOTTOM, to_rgba
from normviz.charts.palette import THEMES
from normviz.charts.style import DASHES, apply_chart_style, style_current_value_line, style_curve
from normviz.data.digits import DIGIT_CLASSES

MAX_DRAWN_POINTS = 500
"""Largest number of drawn points of a cloud."""


@dataclass(frozen=True)
class PointCloud:
    """Cloud of points in a plane, with its mean, covariance and directions.

    Attributes:
        points: (N, 2).
        outlines: closed lines (k, 2) by name; the first one is that of all points.
        arrows: by name, two points: the directions of the features.
        axes: the names of x and y.
        middle, half: centre and half the side of the drawn square.
    """

    points: np.ndarray
    outlines: dict[str, np.ndarray]
    arrows: dict[str, tuple[np.ndarray, np.ndarray]]
    axes: tuple[str, str]
    middle: np.ndarray
    half: float


def draw_cloud(cloud: PointCloud, theme: str = "light") -> Figure:
    """Return a figure of a cloud with the ellipse of its covariance, and the directions of the features."""
    colours, figure = THEMES[theme], Figure()
    points = cloud.points[:MAX_DRAWN_POINTS]
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
    _equalize_axes(figure, cloud.axes)
    figure.update_xaxes(range=[x - half, x + half])
    figure.update_yaxes(range=[y - half, y + half])
    return apply_chart_style(figure, colours, {"t": 34, "b": BOTTOM_MARGIN, "l": 62}, LEGEND_AT_BOTTOM, zero_lines="xy")


def _equalize_axes(figure: Figure, axes: tuple[str, str]) -> None:
    for update, name in ((figure.update_xaxes, axes[0]), (figure.update_yaxes, axes[1])):
        update(title={"text": name, "standoff": 4}, constrain="domain", nticks=6)
    figure.update_yaxes(scaleanchor="x")


def draw_test_accuracy(title: str, steps: np.ndarray, accuracy: np.ndarray, style: int, theme: str = "light") -> Figure:
    """Return a figure of test accuracy over training steps: a thin line for each seed and a bold line for the mean.

    `steps`: (measurements,); `accuracy`: in per cent, (measurements, seeds); `style`: index of the colour.
    """
    colours = THEMES[theme]
    colour, figure = colours.lines[style], make_subplots(1, 1, [title], horizontal_spacing=0, vertical_spacing=0)
    for seed in accuracy.T:
        line = {"color": to_rgba(colour, 0.55), "width": 2}
        figure.add_scatter(x=steps, y=seed, mode="lines", line=line, showlegend=False, hoverinfo="skip")
    mean = {"color": colour, "width": 6}
    figure.add_scatter(x=steps, y=accuracy.mean(1), mode="lines", line=mean, name="mean", showlegend=False)
    figure.add_hline(100 / DIGIT_CLASSES, line=style_current_value_line(colours))
    figure.add_annotation(
        x=steps[-1], y=100 / DIGIT_CLASSES, xanchor="right", yanchor="top", text="guessing", showarrow=False,
        font={"color": colours.ink},
    )  # fmt: skip
    figure.update_xaxes(title={"text": "step", "standoff": 4}, range=[0, steps[-1]])
    figure.update_yaxes(title={"text": "test accuracy, %", "standoff": 4}, range=[0, 101], dtick=25)
    return apply_chart_style(figure, colours, {"t": 34, "b": 46, "l": 60, "r": 16})


def draw_batch_ellipses(
    points: np.ndarray, batches: Sequence[np.ndarray], axes: tuple[str, str], theme: str = "light"
) -> Figure:
    """Return a figure of ellipses, (k, 2) each, of all points and of mini-batches; the first mini-batch's is bold."""
    colours, figure = THEMES[theme], Figure()
    for k, each in reversed(list(enumerate(batches))):
        name = "one mini-batch" if k == 0 else "other mini-batches"
        figure.add_scatter(
            x=each[:, 0], y=each[:, 1], mode="lines", name=name, legendgroup=name, showlegend=k < 2, hoverinfo="skip",
            line={"color": colours.training, "width": 3 if k == 0 else 1.5, "dash": "dash" if k == 0 else "solid"},
            opacity=1.0 if k == 0 else 0.5,
        )  # fmt: skip
    figure.add_scatter(
        x=points[:, 0], y=points[:, 1], mode="lines", name="all points", hoverinfo="skip",
        line={"color": colours.ink, "width": 3},
    )  # fmt: skip
    _equalize_axes(figure, axes)
    return apply_chart_style(figure, colours, {"t": 10, "b": BOTTOM_MARGIN, "l": 62}, LEGEND_AT_BOTTOM)


def draw_identity_lines(
    x: Sequence[np.ndarray], y: Sequence[np.ndarray], ends: tuple[float, float], theme: str = "light"
) -> Figure:
    """Return a figure of y over x, a line for each channel, and the line y = x; `ends`: limits of the vertical axis."""
    colours, figure = THEMES[theme], Figure()
    figure.add_scatter(
        x=list(ends), y=list(ends), mode="lines", name="y = x", hoverinfo="skip",
        line={"color": colours.ink, "width": 6}, opacity=0.35,
    )  # fmt: skip
    for k, (across, up) in enumerate(zip(x, y, strict=True)):
        figure.add_scatter(x=across, y=up, mode="lines", name=f"c = {k}", line=style_curve(k, colours, 3))
    figure.update_layout(showlegend=True)
    low, high = (float(how([how(each) for each in x])) for how in (np.min, np.max))
    figure.update_xaxes(title={"text": "x", "standoff": 4}, range=[low - 0.2, high + 0.2])
    figure.update_yaxes(title={"text": "y", "standoff": 4}, range=[ends[0] - 0.2, ends[1] + 0.2])
    return apply_chart_style(figure, colours, {"t": 10, "b": BOTTOM_MARGIN, "l": 55}, LEGEND_AT_BOTTOM, zero_lines="xy")
