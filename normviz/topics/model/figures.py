"""Figure of the page "Your model": the channels of a layer, in the batch and as running averages."""

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import apply_chart_style, style_reference_line
from normviz.topics.model.channels import ChannelGaps

TICKS = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100]
"""Ratios that the axis names."""


def draw_channel_gaps(gaps: ChannelGaps, theme: str = "light") -> Figure:
    """Return a figure of a dot for each channel: the shift of its mean, and the ratio of its standard deviations.

    The ratio has a logarithmic axis, so that half and twice are equally far from 1.
    """
    colours, figure = THEMES[theme], Figure()
    line = style_reference_line(colours)
    figure.add_vline(0, line=line)
    figure.add_hline(1, line=line)
    figure.add_scatter(
        x=gaps.shift, y=gaps.ratio, mode="markers", showlegend=False, name="",
        marker={"color": colours.training, "size": 10, "opacity": 0.7},
        customdata=gaps.number,
        hovertemplate="channel %{customdata}<br>mean %{x:.3g} deviations away, divided by %{y:.3g} × its deviation",
    )  # fmt: skip
    reach = 1.15 * max(float(np.abs(gaps.shift).max()), 0.5)
    height = 1.2 * max(float(np.abs(np.log10(gaps.ratio)).max()), 0.2)
    figure.update_xaxes(range=[-reach, reach], title={"text": "batch mean − running mean, in σ", "standoff": 4})
    figure.update_yaxes(
        type="log", range=[-height, height], tickvals=TICKS, title="running σ ÷ batch σ", automargin=True
    )
    return apply_chart_style(figure, colours, {"l": 60, "t": 10, "b": 46})
