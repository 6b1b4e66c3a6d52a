"""Figures of the page "Your model": the channels of a layer, and the layers that eval() changes."""

from collections.abc import Mapping
from html import escape

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import HUES, THEMES
from normviz.charts.style import apply_chart_style
from normviz.describe.problems import name_axis
from normviz.topics.model.channels import ChannelAverages
from normviz.topics.model.reported import ReportedLayer

WIDE_RANGE = 30
"""Standard deviations of which one is this many times another are on a logarithmic axis."""

MAX_BARS = 9
"""Most layers that are drawn."""

MAX_CELLS = 12
"""Most cells of a map of fields along an axis."""

MAX_NAME = 22
"""Most characters of a layer's name in a figure."""


def draw_channels(averages: ChannelAverages, theme: str = "light") -> Figure:
    """Return a figure of two dots for each channel, its statistic in the batch and as running average, with a line."""
    colours, figure = THEMES[theme], Figure()
    batch, running = averages.batch, averages.running
    number = np.arange(len(batch))
    gap = np.full(len(batch), np.nan)
    figure.add_scatter(
        x=np.repeat(number, 3), y=np.column_stack([batch, running, gap]).ravel(), mode="lines", showlegend=False,
        line={"color": colours.muted, "width": 1}, hoverinfo="skip",
    )  # fmt: skip
    for name, values, colour, symbol in (
        (f"training: {averages.name} of the batch", batch, colours.training, "circle"),
        ("inference: running average", running, colours.inference, "diamond"),
    ):
        figure.add_scatter(
            x=number, y=values, mode="markers", name=name, marker={"color": colour, "symbol": symbol, "size": 9},
            hovertemplate=f"channel %{{x}}<br>{averages.name} %{{y:.3g}}",
        )  # fmt: skip
    both = np.concatenate([batch, running])
    is_wide = averages.name != "mean" and both.max() > WIDE_RANGE * both.min()
    figure.update_xaxes(title={"text": "channel", "standoff": 4}, tickformat="d")
    action = "subtracts" if averages.name == "mean" else "divides by"
    scale = {"type": "log", "dtick": 1} if is_wide else {"type": "linear", "rangemode": "tozero"}
    figure.update_yaxes(title=action, automargin=True, **scale)
    return apply_chart_style(figure, colours, {"t": 30, "b": 42}, {"x": 0, "y": 1, "yanchor": "bottom"})


def draw_layer_gaps(gaps: Mapping[str, float], theme: str = "light") -> Figure:
    """Return a figure of a bar for each of the layers with the largest gaps: its change by eval(), in percent."""
    colours, figure = THEMES[theme], Figure()
    largest = sorted(gaps, key=lambda name: -gaps[name])[:MAX_BARS]
    names = [name for name in gaps if name in largest]
    labels = [escape(name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…", quote=False) for name in names]
    percent = [100 * gaps[name] for name in names]
    figure.add_bar(
        x=percent, y=list(range(len(names))), orientation="h", marker={"color": colours.inference}, showlegend=False,
        text=[f"{value:.0f}%" for value in percent], textposition="outside", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip
    figure.update_xaxes(title={"text": "change (100% = standard deviation)", "standoff": 4})
    figure.update_xaxes(range=[0, 1.15 * max(percent)])
    apply_chart_style(figure, colours, {"b": 42})
    places = {"tickvals": list(range(len(names))), "ticktext": labels}
    figure.update_yaxes(**places, autorange="reversed", automargin=True, showgrid=False)
    return figure


def draw_fields(layer: ReportedLayer, theme: str = "light") -> Figure | None:
    """Return a map of a layer's first positions and channels in which elements of one field have one colour.

    None where nothing is averaged over an axis, or windows overlap.
    """
    kinds, layout = {rule.kind for rule in layer.rules}, layer.layout
    if layer.target == "weight" or "C" not in layout or kinds == {"own"} or "window" in kinds:
        return None
    colours, figure, numbers, titles = THEMES[theme], Figure(), [], []
    for letter in next(each for each in (*"THWN", "C") if each in layout), "C":
        n, rule = layer.shape[layout.index(letter)], layer.rules[layout.index(letter)]
        number = np.arange(min(n, MAX_CELLS)) // max(n // rule.count_statistics(n), 1)
        numbers.append(number[number < len(HUES)])
        titles.append(name_axis(letter, layout))
    down, across = numbers
    number = down[:, None] * (across.max() + 1) + across
    if number.max() >= len(HUES):
        return None
    scale = [[k / (len(HUES) - 1), hue] for k, hue in enumerate(HUES)]
    figure.add_heatmap(
        z=number, zmin=0, zmax=len(HUES) - 1, colorscale=scale, showscale=False, xgap=2, ygap=2, hoverinfo="skip"
    )
    apply_chart_style(figure, colours, {"b": 42})
    figure.update_xaxes(title={"text": titles[1], "standoff": 4}, showgrid=False, showticklabels=False, ticks="")
    figure.update_yaxes(title=titles[0], showgrid=False, showticklabels=False, ticks="", autorange="reversed")
    return figure
