"""What a report shows, as figures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.curves import CurvePanel, draw_curve_panels
from normviz.charts.palette import THEMES
from normviz.charts.style import apply_chart_style
from normviz.topics.experiments.reports import FigureSpec, HeatMap


def pieces(shown: FigureSpec) -> list[FigureSpec]:
    """A part of a report as figures that stand beside each other, or on a phone below; a map or planes are one."""
    panels = shown.panels
    if isinstance(panels, HeatMap) or len(panels) < 2 or any(panel.square for panel in panels):
        return [shown]
    return [
        replace(shown, key=f"{shown.key} {number}" if number else shown.key, panels=[panel], alt=_alt(shown, panel))
        for number, panel in enumerate(panels)
    ]


def _alt(shown: FigureSpec, panel: CurvePanel) -> str:
    return f"{panel.title}. {shown.alt}" if panel.title else shown.alt


def height(shown: FigureSpec, tall: str = "") -> str:
    """Return the height of a figure in CSS; `tall`: that of curves in one row, by default 26rem."""
    if isinstance(shown.panels, HeatMap):
        return f"{9.5 + 3 * len(shown.panels.rows):g}rem"
    rows = -(-len(shown.panels) // shown.columns)
    return tall or "26rem" if rows == 1 else f"{7 + 17 * rows:g}rem"


def shows_rates(shown: FigureSpec) -> bool:
    """Return True if a figure shows nothing but learning rates that were chosen: how the comparison was made."""
    panels = () if isinstance(shown.panels, HeatMap) else shown.panels
    return bool(panels) and all(panel.y == "learning rate" for panel in panels)


def band_words(shown: FigureSpec, networks: int) -> str:
    """Return what the bands of a figure's curves are; nothing where there are none, or where its caption says it."""
    panels = () if isinstance(shown.panels, HeatMap) else shown.panels
    banded = any(curve.low is not None and not curve.apart for panel in panels for curve in panel.curves)
    said = not banded or "95% interval" in shown.caption
    return "" if said else f"Lines: means of {networks} networks. Bands: 95% intervals."


def follows_steps(shown: FigureSpec) -> bool:
    """Return True if a figure has curves over the steps of a training."""
    return not isinstance(shown.panels, HeatMap) and any(panel.x.startswith("step") for panel in shown.panels)


def find_looks(figures: Sequence[FigureSpec]) -> dict[str, int]:
    """Return the looks of curves by their names, of those names that have the same look in all figures."""
    found: dict[str, set[int]] = {}
    for shown in figures:
        for panel in () if isinstance(shown.panels, HeatMap) else shown.panels:
            for curve in panel.curves:
                found.setdefault(curve.name, set()).add(curve.look)
    return {name: looks.pop() for name, looks in found.items() if len(looks) == 1}


def figure_of(shown: FigureSpec, theme: str = "light") -> Figure:
    """The figure of a part of a report."""
    if isinstance(shown.panels, HeatMap):
        return heat_map(shown.panels, theme)
    return draw_curve_panels(shown.panels, theme, shown.columns)


def blank(theme: str = "light") -> Figure:
    """Empty axes, where there is no figure yet."""
    return draw_curve_panels([CurvePanel("", [])], theme)


def heat_map(heat: HeatMap, theme: str = "light") -> Figure:
    """Numbers by rows and columns, each written in its cell; what is good is strong in colour."""
    colours, figure = THEMES[theme], Figure()
    low, high = heat.ends
    scale = [[0, colours.middle], [1, colours.high]]
    figure.add_heatmap(
        z=np.clip(heat.values, low, high), zmin=low, zmax=high, xgap=2, ygap=2, showscale=False,
        colorscale=scale if heat.good == "high" else [[0, colours.high], [1, colours.middle]],
        text=[["" if np.isnan(each) else heat.written(each) for each in row] for row in heat.values],
        texttemplate="%{text}", hovertemplate="%{y}, %{x}: %{text}<extra></extra>",
    )  # fmt: skip
    for update, names, title in (
        (figure.update_xaxes, heat.columns, heat.x),
        (figure.update_yaxes, heat.rows, heat.y),
    ):
        update(title={"text": title, "standoff": 4}, tickvals=[*range(len(names))], ticktext=list(names))
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(showgrid=False, autorange="reversed", automargin=True)
    return apply_chart_style(figure, colours, {"t": 34, "b": 60, "l": 70})  # above it stands what saves it
