"""The figures of a report as Plotly figures."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from normviz.charts.chart import PANEL_TITLE_STYLE, Figure
from normviz.charts.curves import CurvePanel, draw_curve_panels
from normviz.charts.palette import THEMES
from normviz.charts.style import apply_chart_style
from normviz.topics.experiments.reports import FigureSpec, HeatMap


def split_figure(spec: FigureSpec) -> list[FigureSpec]:
    """Split a figure into one per panel, so that a phone stacks them."""
    panels = spec.curve_panels
    if len(panels) < 2:
        return [spec]
    return [
        replace(
            spec,
            key=f"{spec.key} {number}" if number else spec.key,
            panels=[panel],
            alt=f"{panel.title}. {spec.alt}" if panel.title else spec.alt,
        )
        for number, panel in enumerate(panels)
    ]


def compute_figure_height(spec: FigureSpec, row_height: str = "") -> str:
    """Return the height of a figure as a CSS length; a map or one row of panels has `row_height`, if that is given."""
    if isinstance(spec.panels, HeatMap):
        return row_height or f"{9.5 + 3 * len(spec.panels.rows):g}rem"
    rows = -(-len(spec.panels) // spec.columns)
    return row_height or "26rem" if rows == 1 else f"{7 + 17 * rows:g}rem"


def is_rate_figure(spec: FigureSpec) -> bool:
    """Return True if all panels of a figure show chosen learning rates, which the page folds away."""
    return bool(spec.curve_panels) and all(panel.y == "learning rate" for panel in spec.curve_panels)


def describe_bands(spec: FigureSpec, networks: int) -> str:
    """Return sentences on a figure's means and intervals; "" without intervals, or if the caption explains them."""
    shown = (curve for panel in spec.curve_panels for curve in panel.curves)
    curves = [curve for curve in shown if curve.low is not None and not curve.is_scatter]
    if not curves or "95% interval" in spec.caption:
        return ""
    has_bars = all(curve.has_markers for curve in curves)
    words = f"{'Bars' if has_bars else 'Bands'}: 95% confidence intervals of these means."
    shift = " Points are shifted sideways so that all bars can be seen." if has_bars else ""
    return f"Lines: means of {networks} networks. {words}{shift}"


def has_step_axis(spec: FigureSpec) -> bool:
    """Return True if a panel of the figure has training steps as its x axis."""
    return any(panel.x.startswith("step") for panel in spec.curve_panels)


def find_common_styles(figures: Sequence[FigureSpec]) -> dict[str, int]:
    """Return the index of the curve style by curve name, for names with the same style in all figures."""
    found: dict[str, set[int]] = {}
    for shown in figures:
        for panel in shown.curve_panels:
            for curve in panel.curves:
                found.setdefault(curve.name, set()).add(curve.style)
    return {name: styles.pop() for name, styles in found.items() if len(styles) == 1}


def draw_figure(spec: FigureSpec, theme: str = "light") -> Figure:
    """Return the Plotly figure of a figure specification, in the colours of the theme."""
    if isinstance(spec.panels, HeatMap):
        return draw_heat_map(spec.panels, theme)
    return draw_curve_panels(spec.panels, theme, spec.columns)


def draw_empty_axes(theme: str = "light") -> Figure:
    """Return a figure of empty axes, a placeholder for a report without figures."""
    return draw_curve_panels([CurvePanel("", [])], theme)


def draw_heat_map(heat: HeatMap, theme: str = "light") -> Figure:
    """Return a heat map as a Plotly figure, with each number in its cell; high numbers have strong colours."""
    colours, figure = THEMES[theme], Figure()
    low, high = heat.ends
    texts = np.where(np.isnan(heat.values), "", np.vectorize(heat.written, otypes=[object])(heat.values))
    line = {"color": colours.ink, "width": 2}
    for (row, column), label in heat.marked.items():
        texts[row, column] += f"<br>{label}"
        ends = {"x0": column - 0.47, "x1": column + 0.47, "y0": row - 0.44, "y1": row + 0.44}
        figure.add_shape(type="rect", line=line, **ends)
    figure.add_heatmap(
        z=np.clip(heat.values, low, high), zmin=low, zmax=high, xgap=2, ygap=2, showscale=False,
        colorscale=[[0, colours.middle], [1, colours.high]],
        text=texts.tolist(),
        texttemplate="%{text}", hovertemplate="%{y}, %{x}: %{text}<extra></extra>",
    )  # fmt: skip
    if heat.border:
        x = np.repeat(heat.border, 2)[: 2 * np.count_nonzero(heat.border) + 1] - 0.5  # ends at the left edge
        y = np.repeat(np.arange(len(heat.border) + 1), 2)[1 : len(x) + 1] - 0.5
        figure.add_scatter(x=x, y=y, mode="lines", line=line | {"width": 5}, hoverinfo="skip", showlegend=False)
    for update, names, title in (
        (figure.update_xaxes, heat.columns, heat.x),
        (figure.update_yaxes, heat.rows, heat.y),
    ):
        update(title={"text": title, "standoff": 4}, tickvals=[*range(len(names))], ticktext=list(names))
    figure.add_annotation(text=heat.title, x=0.5, y=1, **PANEL_TITLE_STYLE)
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(showgrid=False, autorange="reversed", automargin=True)
    return apply_chart_style(figure, colours, {"t": 34, "b": 60, "l": 70})  # above it stands what saves it
