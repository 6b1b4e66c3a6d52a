"""Charts of the tensor lab: histograms before and after."""

from collections.abc import Sequence

import numpy as np

from normviz.charts.chart import Figure, make_subplots
from normviz.charts.palette import THEMES
from normviz.charts.style import apply_chart_style

BIN_COUNT = 40


def draw_histograms(
    panels: Sequence[tuple[str, np.ndarray, np.ndarray]], theme: str = "light", chosen: str = "the field"
) -> Figure:
    """Return a figure of histograms of shares, one panel for each (title, all values, chosen values).

    `chosen` is the name of the chosen values in the legend.
    """
    colours = THEMES[theme]
    figure = make_subplots(1, len(panels), subplot_titles=[title for title, _, _ in panels], horizontal_spacing=0.08)
    for column, (_, everything, field) in enumerate(panels, 1):
        edges = _compute_bin_edges(everything)
        centres, first = edges[1:] / 2 + edges[:-1] / 2, column == 1
        for name, values, style in (
            ("all elements", everything, {"marker": {"color": colours.muted, "opacity": 0.55}}),
            (
                chosen,
                field,
                {"marker": {"color": colours.field, "opacity": 0.75, "pattern": {"shape": "/", "fillmode": "overlay"}}},
            ),
        ):
            share = np.histogram(values[np.isfinite(values)], edges)[0] / max(values.size, 1)
            figure.add_bar(x=centres, y=share, name=name, showlegend=first, row=1, col=column, **style)
    figure.update_layout(barmode="overlay", bargap=0)
    figure.update_yaxes(tickformat=".0%")
    return apply_chart_style(figure, colours, {"t": 40}, {"y": -0.14}, zero_lines="x")


def _compute_bin_edges(values: np.ndarray) -> np.ndarray:
    """Return ascending bin edges, (`BIN_COUNT` + 1,), also for equal values and values near the largest float."""
    finite = values[np.isfinite(values)]
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (-1.0, 1.0)
    if low == high:
        reach, most = max(abs(low) / 1000, 0.5), np.finfo(float).max
        low, high = max(low - reach, -most), min(high + reach, most)
    share = np.linspace(0, 1, BIN_COUNT + 1)
    return np.sort(low * (1 - share) + high * share)
