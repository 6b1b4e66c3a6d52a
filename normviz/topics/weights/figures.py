"""Figures of spectral norm: an ellipse and a histogram."""

from collections.abc import Mapping

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import apply_chart_style, style_curve, style_reference_line

CIRCLE_ANGLES = np.linspace(0, 2 * np.pi, 121)


def draw_ellipses(singular_values: np.ndarray, sigma: float, least_sigma: float, theme: str = "light") -> Figure:
    """Return a figure of the unit circle and its images under a matrix, before and after its division by `sigma`.

    The two largest singular values are the half-axes. The picture has room for `least_sigma`, the smallest estimate.
    """
    colours = THEMES[theme]
    first, second = float(singular_values[0]), float(singular_values[1]) if len(singular_values) > 1 else 0.0
    figure = Figure()
    circles = {
        "output before": (first, second, {"color": colours.muted, "width": 3}),
        "output after the division": (first / sigma, second / sigma, style_curve(0, colours, 4)),
        "input: all vectors of length 1": (1.0, 1.0, {"color": colours.ink, "width": 2, "dash": "dash"}),
    }
    for name, (across, up, look) in circles.items():
        figure.add_scatter(
            x=across * np.cos(CIRCLE_ANGLES),
            y=up * np.sin(CIRCLE_ANGLES),
            mode="lines",
            name=name,
            line=look,
            hoverinfo="skip",
        )
    reach = 1.1 * max(first, first / least_sigma, 1.0)
    figure.update_layout(showlegend=True)
    figure.update_xaxes(
        range=[-reach, reach], title={"text": "direction stretched the most", "standoff": 4}, constrain="domain"
    )
    tall = 1.1 * max(second, second / least_sigma, 1.0)
    figure.update_yaxes(range=[-tall, tall], title="second direction", scaleanchor="x", constrain="domain")
    return apply_chart_style(figure, colours, {"l": 60}, {"y": -0.22}, zero_lines="xy")


def draw_stretch_histograms(stretches: Mapping[str, np.ndarray], theme: str = "light") -> Figure:
    """Return a figure with a histogram of the stretch factors of each name in `stretches`, and a line at 1."""
    colours = THEMES[theme]
    edges = np.linspace(0, 1.05 * max(float(max(map(np.max, stretches.values()))), 1.0), 46)
    figure = Figure()
    top = 0.0
    for name, hue, ratios in zip(stretches, (colours.muted, colours.lines[0]), stretches.values(), strict=True):
        share = np.histogram(ratios, edges)[0] / len(ratios)
        top = max(top, float(share.max()))
        style = {"color": hue, "pattern": {"shape": "" if hue == colours.muted else "/", "fillmode": "overlay"}}
        figure.add_bar(x=(edges[1:] + edges[:-1]) / 2, y=share, name=name, marker=style, opacity=0.75)
    figure.add_vline(1, line=style_reference_line(colours))
    figure.add_annotation(text="1: distance kept", x=1, y=1.1 * top, xanchor="left", xshift=5, showarrow=False)
    figure.update_layout(barmode="overlay", bargap=0, showlegend=True)
    figure.update_xaxes(range=[0, edges[-1]], title={"text": "output distance / input distance", "standoff": 4})
    figure.update_yaxes(range=[0, 1.2 * top], tickformat=".0%", title="share of pairs", automargin=True)
    return apply_chart_style(figure, colours, {"l": 60}, {"y": -0.22})
