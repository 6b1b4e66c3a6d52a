"""Figures of what normalizes and what saturates: one field's elements, and how far a factor comes through."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from normviz.ui.chart import Figure
from normviz.ui.curves import Curve, Panel, curves
from normviz.ui.palette import THEMES
from normviz.ui.style import here

if TYPE_CHECKING:
    from normviz.design.pointwise import Field

SPAN = (-3.0, 3.0)
"""Of x̂: eight elements over their root mean square are at most √8."""

TALLEST = 5.0
"""Of the gaps that are shown: what is almost a line goes beyond."""


def field_figure(name: str, field: "Field", theme: str = "light") -> Figure:
    """x̂ over what comes in: the elements, and what any element among them would become."""
    lines = [
        Curve("any element among them", field.across, field.curve, 0),
        Curve("the eight elements", field.x, field.xhat, 1, apart=True),
    ]
    return curves([Panel(name, lines, x="what comes in, δx", y="x̂", span=SPAN)], theme)


def gaps_figure(deltas: np.ndarray, gaps: Mapping[str, np.ndarray], delta: float, theme: str = "light") -> Figure:
    """Gaps at every factor of `deltas`, by name, and a line at the δ that the page is set to."""
    lines = [Curve(name, deltas, values, k) for k, (name, values) in enumerate(gaps.items())]
    figure = curves([Panel("", lines, x="δ", y="gap", log="x", span=(-0.1, TALLEST))], theme)
    figure.add_vline(delta, line=here(THEMES[theme]))
    figure.update_layout(margin={"r": 24, "b": 140})  # room for the last tick, and three rows of names
    return figure
