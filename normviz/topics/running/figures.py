"""Charts of the page "Training vs. inference": strips, and accuracies by case."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES
from normviz.charts.style import apply_chart_style, style_current_value_line
from normviz.describe.seeds import estimate_mean, format_mean_percent

ROLE_SYMBOLS = {"training": "circle", "inference": "diamond", "ink": "square"}
"""The marker for each colour role."""

LEGEND_BELOW = {"yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0}
"""Position of a legend at the lower edge, for any height."""


def make_axis_title(text: str) -> dict:
    """Return Plotly's setting of an axis title with a small distance from the axis."""
    return {"text": text, "standoff": 4}


def draw_strips(rows: Mapping[str, np.ndarray], axis: str, theme: str = "light") -> Figure:
    """Return a figure with one row per name and a tick for each of its values; the first name is on top."""
    colours = THEMES[theme]
    figure = Figure()
    for number, (name, values) in enumerate(rows.items(), 1):  # 0: no normalization
        colour = colours.lines[number % len(colours.lines)]
        tick = {"symbol": "line-ns", "size": 22, "line": {"color": colour, "width": 3}, "color": colour}
        figure.add_scatter(x=values, y=[name] * len(values), mode="markers", marker=tick, showlegend=False, name=name)
    figure.update_yaxes(autorange="reversed", automargin=True, tickfont={"size": 16}, ticklabelstandoff=8)
    limit = max(1.2, *(1.1 * float(np.abs(values).max()) for values in rows.values()))  # seldom another range
    figure.update_xaxes(title=axis, range=[-limit, limit])
    return apply_chart_style(figure, colours, {"l": 10, "r": 20})


@dataclass(frozen=True)
class ModeRow:
    """Row of the chart: a case and each network's accuracy, 0 to 1; `role`: field of the theme with its colour."""

    name: str
    role: str
    accuracy: np.ndarray | None


def draw_accuracies(rows: Sequence[ModeRow], chance: float, theme: str = "light") -> Figure:
    """Return a figure of accuracies, one row per case: a mark per network, the mean and its confidence interval.

    A case without numbers yet shows its name only. The axis begins at 0, or close to the numbers if all are above 50%.
    """
    colours, figure = THEMES[theme], Figure()
    lowest = min((float(row.accuracy.min()) for row in rows if row.accuracy is not None), default=0.0)
    start = 5 * int(20 * lowest - 0.5) if lowest > 0.5 else 0
    for place, row in enumerate(rows):
        if row.accuracy is None:
            continue
        percent, colour = 100 * row.accuracy, getattr(colours, row.role)
        symbol = ROLE_SYMBOLS[row.role]
        figure.add_scatter(
            x=percent, y=[place] * len(percent), mode="markers", name=row.name, showlegend=False,
            marker={"color": colour, "size": 9, "opacity": 0.45, "symbol": symbol},
        )  # fmt: skip
        figure.add_scatter(
            x=[percent.mean()], y=[place], mode="markers", name=f"{row.name}, mean", showlegend=False,
            marker={"color": colour, "size": 16, "symbol": symbol, "line": {"color": colours.ink, "width": 1.5}},
            error_x={"array": [100 * estimate_mean(row.accuracy)[1]], "color": colours.ink, "width": 9},
        )  # fmt: skip
        figure.add_annotation(
            text=f"<b>{format_mean_percent(row.accuracy)}</b>", x=1, xref="paper", xanchor="left", y=place, yref="y",
            showarrow=False,
        )  # fmt: skip
    title = make_axis_title("test accuracy in % (large: mean, 95% interval)")
    if start:
        figure.update_xaxes(range=[start, 100.5], title=title, nticks=5)
    else:
        figure.add_vline(100 * chance, line=style_current_value_line(colours))
        ticks = [50, 75, 100, 100 * chance]
        texts = [*(f"{tick}" for tick in ticks[:-1]), f"guessing: {ticks[-1]:g}"]
        figure.update_xaxes(range=[-1, 102], title=title, tickvals=ticks, ticktext=texts, tickangle=0)
    names = ["<br>".join(wrap(row.name, 20)) for row in rows]
    places = {"tickvals": list(range(len(rows))), "ticktext": names, "range": [len(rows) - 0.5, -0.5]}
    figure.update_yaxes(**places, automargin=True, tickfont={"size": 13}, showgrid=False)
    return apply_chart_style(figure, colours, {"t": 6, "l": 12, "r": 104, "b": 46})
