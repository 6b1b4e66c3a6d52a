"""Figures of what normalizes and what saturates: one field's elements under both."""

from collections.abc import Mapping

from normviz.design.contrast import Field
from normviz.ui.chart import Figure
from normviz.ui.curves import Curve, Panel, curves

SPAN = (-3.0, 3.0)
"""Of x̂: eight elements over their root mean square are at most √8."""


def fields_figure(fields: Mapping[str, Field], theme: str = "light") -> Figure:
    """x̂ over what comes in, a panel for each name: the elements, and what any element among them would become."""
    panels = [
        Panel(
            name,
            [
                Curve("any element among them", field.across, field.curve, 0),
                Curve("the eight elements", field.x, field.xhat, 1, apart=True),
            ],
            x="what comes in, δx",
            y="" if k else "x̂",
            span=SPAN,
        )
        for k, (name, field) in enumerate(fields.items())
    ]
    return curves(panels, theme)
