"""Figures of the page "Your model": the channels of a layer, and the layers that eval() changes."""

from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from normviz.charts.chart import Figure, make_subplots
from normviz.charts.palette import HUES, THEMES
from normviz.charts.style import apply_chart_style
from normviz.core.fields import FULL, OWN, Rule
from normviz.core.scheme import Scheme
from normviz.describe.problems import GAP_LIMIT, name_axis
from normviz.topics.model.channels import ChannelComparison
from normviz.topics.model.reported import ReportedLayer

MAX_CELLS = 12
"""Most cells of a map of fields along an axis."""

MAX_NAME = 22
"""Most characters of a layer's name in a figure."""


def draw_channels(averages: ChannelComparison, theme: str = "light") -> Figure:
    """Return a figure with two dots per channel, one for each value of its statistic, joined by a line."""
    colours, figure = THEMES[theme], Figure()
    both = np.stack(list(averages.values.values()))
    number = np.arange(both.shape[1])
    gap = np.full(len(number), np.nan)
    figure.add_scatter(
        x=np.repeat(number, 3), y=np.column_stack([*both, gap]).ravel(), mode="lines", showlegend=False,
        line={"color": colours.muted, "width": 1}, hoverinfo="skip",
    )  # fmt: skip
    styles = (colours.training, "circle"), (colours.inference, "diamond")
    for (name, values), (colour, symbol) in zip(averages.values.items(), styles, strict=True):
        figure.add_scatter(
            x=number, y=values, mode="markers", name=name, marker={"color": colour, "symbol": symbol, "size": 9},
            hovertemplate=f"channel %{{x}}<br>{averages.name} %{{y:.3g}}",
        )  # fmt: skip
    is_wide = averages.name != "mean" and both.max() > 30 * both.min()  # then on a logarithmic axis
    figure.update_xaxes(title={"text": "channel", "standoff": 4}, tickformat="d")
    action = {"mean": "subtracts", "standard deviation": "divides by"}.get(averages.name, averages.name)
    scale = {"type": "log", "dtick": 1} if is_wide else {"type": "linear", "rangemode": "tozero"}
    figure.update_yaxes(title=action, automargin=True, **scale)
    return apply_chart_style(figure, colours, {"t": 30, "b": 42}, {"x": 0, "y": 1, "yanchor": "bottom"})


def draw_layer_gaps(gaps: Mapping[str, float], theme: str = "light") -> Figure:
    """Return a bar chart of changes by eval(), in standard deviations: the first of `gaps`, then the largest others.

    The first is the model's, and has another colour.
    """
    colours, figure = THEMES[theme], Figure()
    first, *others = gaps
    largest = sorted(others, key=lambda name: -gaps[name])[:8]
    names = [first, *(name for name in others if name in largest)]
    labels = [_shorten_layer_name(name) for name in names]
    changes = [gaps[name] for name in names]
    figure.add_bar(
        x=changes, y=list(range(len(names))), orientation="h", showlegend=False,
        marker={"color": [colours.inference, *[colours.muted] * len(names[1:])]},
        text=[f"{value:.2f}" for value in changes], textposition="outside", cliponaxis=False, hoverinfo="skip",
    )  # fmt: skip
    figure.update_xaxes(title={"text": "change, in standard deviations", "standoff": 4})
    figure.add_shape(type="line", x0=GAP_LIMIT, x1=GAP_LIMIT, y0=-0.6, y1=0.5, line={"color": colours.ink, "width": 3})
    figure.update_xaxes(range=[0, 1.15 * max(*changes, GAP_LIMIT)])
    apply_chart_style(figure, colours, {"t": 22, "b": 42})
    text = f"limit, for the whole model only: {GAP_LIMIT}"
    figure.add_annotation(x=GAP_LIMIT, y=1, yref="paper", text=text, showarrow=False, xanchor="left", yanchor="bottom")
    places = {"tickvals": list(range(len(names))), "ticktext": labels}
    figure.update_yaxes(**places, autorange="reversed", automargin=True, showgrid=False)
    return figure


def draw_fields(layer: ReportedLayer, intended: Scheme | None = None, theme: str = "light") -> Figure | None:
    """Return a map of the fields that a layer averages over, beside a map of the `intended` scheme's fields.

    Elements of one colour share statistics. None where nothing is averaged over an axis, or windows overlap.
    """
    kinds, layout = {rule.kind for rule in layer.rules}, layer.layout
    if layer.target == "weight" or "C" not in layout or kinds == {"own"} or "window" in kinds:
        return None
    others = [letter for letter in "THWN" if letter in layout] or ["C"]
    down = min(others, key=lambda letter: intended is not None and layer.rules[layout.index(letter)] == OWN)
    grids = {f"{_shorten_layer_name(layer.name)} now" if intended else "": _number_fields(layer, down, layer.rules)}
    if intended:
        rules = tuple(FULL if letter == "C" else OWN for letter in layout)
        grids[f"as in {intended.label} norm"] = _number_fields(layer, down, rules)
    colours, figure = THEMES[theme], make_subplots(1, len(grids), list(grids), horizontal_spacing=0.12)
    few = len(HUES) if intended else MAX_CELLS
    scale = [[k / (len(HUES) - 1), hue] for k, hue in enumerate(HUES)]
    for col, number in enumerate(grids.values(), 1):
        if number.max() >= len(HUES):
            return None
        figure.add_heatmap(
            1, col, z=number[:few, :few], zmin=0, zmax=len(HUES) - 1, colorscale=scale, showscale=False,
            xgap=2, ygap=2, hoverinfo="skip",
        )  # fmt: skip
    apply_chart_style(figure, colours, {"t": 30 if intended else 10, "b": 42})
    plain = {"showgrid": False, "showticklabels": False, "ticks": ""}
    figure.update_xaxes(title={"text": name_axis("C", layout), "standoff": 4}, **plain)
    figure.update_yaxes(autorange="reversed", **plain)
    figure.update_yaxes(1, 1, title=name_axis(down, layout))
    return figure


def _number_fields(layer: ReportedLayer, down: str, rules: Sequence[Rule]) -> np.ndarray:
    """Return a number for each element, (positions along `down`, channels), equal if elements share statistics."""
    numbers = []
    for axis in (layer.layout.index(down), layer.layout.index("C")):
        n = layer.shape[axis]
        number = np.arange(min(n, MAX_CELLS)) // max(n // rules[axis].count_statistics(n), 1)
        numbers.append(number[number < len(HUES)])
    return numbers[0][:, None] * (numbers[1].max() + 1) + numbers[1]


def _shorten_layer_name(name: str) -> str:
    """Return a layer's name without markup, cut to the space in a figure."""
    return escape(name if len(name) <= MAX_NAME else f"{name[: MAX_NAME - 1]}…", quote=False)
