"""Charts of the stream: its statistics with their running averages, and one mini-batch with its outputs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from normviz.charts.chart import Figure, make_subplots
from normviz.charts.common_charts import encode_data_url
from normviz.charts.palette import THEMES
from normviz.charts.style import apply_chart_style, style_current_value_line
from normviz.topics.running.figures import LEGEND_BELOW, ROLE_SYMBOLS, make_axis_title
from normviz.topics.running.stream import BATCHES, MAX_SHOWN_DIGITS

MODE_MARKERS = {"training": "○●", "inference": "◇◆"}
"""The markers of a mode's outputs: in another mode, and in this one."""

ANSWER_UID = "answer"
"""Plotly's id of the outputs in inference while the mode is training, which a link hides with the numbers."""


@dataclass(frozen=True)
class TrackedStatistic:
    """A statistic over the stream: of each batch and of all digits, (steps,), and its running average, (steps + 1,).

    `share`: that of a new batch in the running average.
    """

    title: str
    symbol: str
    share: float
    batch: np.ndarray
    running: np.ndarray
    population: np.ndarray


def draw_stream(
    statistics: Sequence[TrackedStatistic], position: int, theme: str = "light", window: int = BATCHES
) -> Figure:
    """Return a figure of statistics over the batches seen so far, one panel each: dots, running average, true value.

    The axes do not depend on `position`, so that only the data move, unless it is beyond the first `window` batches. If
    this is not the whole stream, a dotted line shows what is left of the start value.
    """
    colours, steps = THEMES[theme], max(window, position)
    figure = make_subplots(
        len(statistics), 1, shared_xaxes=True, vertical_spacing=0.15, subplot_titles=[each.title for each in statistics]
    )
    for row, each in enumerate(statistics, 1):
        place = {"row": row, "col": 1, "showlegend": row == 1}
        seen = np.arange(1, position + 1)
        every = np.arange(1, len(each.batch) + 1)
        dashes = {"color": colours.ink, "width": 2.5, "dash": "dash"}
        dots = {"color": colours.training, "size": 7 if steps > 20 else 11, "opacity": 0.7}
        figure.add_scatter(x=seen, y=each.batch[:position], name="batch", mode="markers", marker=dots, **place)
        figure.add_scatter(x=every, y=each.population, name="all digits", mode="lines", line=dashes, **place)
        until, line = np.arange(position + 1), {"color": colours.inference, "width": 4}
        figure.add_scatter(
            x=until, y=each.running[: position + 1], name="running average", mode="lines", line=line, **place
        )
        left = each.running[0] * (1 - each.share) ** np.arange(steps + 1 if steps < BATCHES else 0)
        if left.any():
            dotted, name = line | {"width": 2.5, "dash": "dot"}, "rest of the start value"
            figure.add_scatter(x=until, y=left[: position + 1], name=name, mode="lines", line=dotted, **place)
        edge = {"color": colours.ink, "width": 1.5}
        now = {"color": colours.inference, "size": 15, "symbol": "diamond", "line": edge}
        figure.add_scatter(
            x=[position], y=[each.running[position]], mode="markers", marker=now, row=row, col=1, showlegend=False,
            name="now",
        )  # fmt: skip
        values = np.concatenate([each.batch[:steps], each.running[: steps + 1], each.population[:steps], left])
        low, high = float(values.min()), float(values.max())
        pad = 0.06 * (high - low or 1.0)
        title = make_axis_title(each.symbol)
        figure.update_yaxes(range=[low - pad, high + pad], nticks=5, title=title, row=row, col=1)
    figure.update_xaxes(title=make_axis_title("batches seen"), row=len(statistics), col=1)
    figure.add_vline(position, line=style_current_value_line(colours))
    figure.update_xaxes(range=[-0.01 * steps, 1.015 * steps])
    return apply_chart_style(figure, colours, {"t": 48, "b": 118, "l": 55}, LEGEND_BELOW)


@dataclass(frozen=True)
class BatchOutputs:
    """First digits of a mini-batch: pictures (digits, 8, 8), classes (digits,), and x̂ (digits,) by mode.

    `span`: the largest possible |x̂|; `size`: of the whole mini-batch.
    """

    pictures: np.ndarray
    classes: np.ndarray
    outputs: Mapping[str, np.ndarray]
    span: float
    size: int


def draw_batch(batch: BatchOutputs, followed_digit: int, mode: str, theme: str = "light") -> Figure:
    """Return a figure of digits in a row with their outputs below: filled markers for `mode`, open ones for the other.

    A frame marks the followed digit, which has numbers for both. Axes and places are the same for every mini-batch.
    """
    colours = THEMES[theme]
    count = len(batch.pictures)
    figure = make_subplots(2, 1, subplot_titles=[], vertical_spacing=0.17)
    figure.layout["yaxis"]["domain"], figure.layout["yaxis2"]["domain"] = [0.7, 1.0], [0.0, 0.56]
    size = {"sizex": 0.94, "sizey": 1.0, "xanchor": "center", "yanchor": "middle", "sizing": "contain"}
    images = [
        {"source": encode_picture_url(picture, colours.ink), "xref": "x", "yref": "y", "x": place, "y": 0, **size}
        for place, picture in enumerate(batch.pictures)
    ]
    figure.update_layout(images=images)
    # An axis without a trace is not drawn.
    figure.add_scatter(x=[None], y=[None], mode="markers", hoverinfo="skip", row=1, col=1)
    places, legend = np.arange(count), {}
    modes = {"training": "in training", "inference": "in inference, eval()"}
    for name in sorted(batch.outputs, key=lambda name: name == mode):
        values, on = batch.outputs[name], name == mode
        colour = getattr(colours, name) if on else colours.muted
        x = places + {"training": -0.14, "inference": 0.14}[name]  # so that the two do not overlap
        if on:
            stems = np.stack([np.zeros(count), values, np.full(count, np.nan)], 1).ravel()
            figure.add_scatter(
                x=np.repeat(x, 3), y=stems, mode="lines", line={"color": colour, "width": 2},
                name=f"{name}, from 0", hoverinfo="skip", row=2, col=1,
            )  # fmt: skip
        symbol = ROLE_SYMBOLS[name] + ("" if on else "-open")
        marker = {"color": colour, "size": 13 if on else 9, "symbol": symbol} | ({} if on else {"line": {"width": 2}})
        legend[name] = f'<span style="color: {colour}">{MODE_MARKERS[name][on]}</span> {modes[name]}'
        texts = [format_output(value) if on or place == followed_digit else "" for place, value in enumerate(values)]
        written = {"text": texts, "textfont": {"color": colour}}
        gaps = sum(values - other for other in batch.outputs.values())
        above = np.where(np.abs(gaps) > 0.1 * batch.span, gaps > 0, values >= 0)  # away from the other marker
        written["textposition"] = np.where(above, "top center", "bottom center").tolist()
        figure.add_scatter(
            x=x, y=values, mode="markers+text", marker=marker, name=f"x̂ in {name}", hovertemplate="%{y:.2f}",
            row=2, col=1, **written, **({"uid": ANSWER_UID} if mode == "training" and not on else {}),
        )  # fmt: skip
    frame = {"x0": followed_digit - 0.48, "x1": followed_digit + 0.48, "y0": 0, "y1": 1, "xref": "x", "yref": "paper"}
    figure.add_shape(type="rect", line={"color": colours.ink, "width": 2.5}, **frame)
    room = [-0.6, MAX_SHOWN_DIGITS - 0.4]
    ticks = {"tickvals": list(places), "tickangle": 0, "showgrid": False, "range": room, "fixedrange": True}
    figure.update_xaxes(**ticks, ticktext=list(map(str, batch.classes)), row=1, col=1)
    title = make_axis_title("   ".join(legend[name] for name in modes if name in legend))
    figure.update_xaxes(**ticks, showticklabels=False, title=title, row=2, col=1)
    figure.add_annotation(
        text="digit", xref="paper", x=0, xanchor="right", yref="y domain", y=0, yshift=-14, showarrow=False
    )
    if count < batch.size:
        figure.add_annotation(
            text=f"+ {batch.size - count}<br>more", xref="paper", x=1, xanchor="left", yref="y", y=0, showarrow=False
        )
    figure.update_yaxes(range=[-0.55, 0.55], visible=False, fixedrange=True, row=1, col=1)
    high = 1.25 * batch.span or 1.0  # room for the values
    outputs = {"range": [-high, high], "nticks": 5, "showgrid": False, "fixedrange": True}
    figure.update_yaxes(**outputs, title=make_axis_title("x̂ of one neuron"), row=2, col=1)
    figure.update_layout(showlegend=False)
    return apply_chart_style(figure, colours, {"t": 4, "b": 36, "l": 55, "r": 48}, zero_lines="y")


def format_output(value: float) -> str:
    """Format a normalized value with two decimals, without a sign if it rounds to zero.

    Example:
        >>> format_output(-1.234), format_output(-0.001)
        ('−1.23', '0.00')
    """
    return f"{round(value, 2) + 0.0:.2f}".replace("-", "−")


def encode_picture_url(picture: np.ndarray, ink: str) -> str:
    """Return a picture from 0 to 1 as an image URL: ink where it is 1, transparent where it is 0."""
    pixels = np.empty((*picture.shape, 4), np.uint8)
    pixels[..., :3] = [int(ink[k : k + 2], 16) for k in (1, 3, 5)]
    pixels[..., 3] = np.round(255 * picture)
    return encode_data_url(pixels)
