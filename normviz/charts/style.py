"""Common style of all flat charts: font, grid and margins, and the colour, dash and marker of the k-th curve."""

from normviz.charts.chart import Figure
from normviz.charts.palette import Theme

DASHES = ("solid", "dash", "dot", "dashdot", "longdash")
MARKER_SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "triangle-down", "star")
PANEL_TITLE_SIZE = 16
"""Font size of panel titles, in pixels."""

LOG_AXIS_FLOOR = 1e-17
"""Position of a gap of exactly 0 on a logarithmic axis."""

COLOUR_BAR_STYLE = {"thickness": 14, "outlinewidth": 0}
_CLEAR = "rgba(0,0,0,0)"
_MARGIN = {"l": 50, "r": 10, "t": 10, "b": 40}


def apply_chart_style(
    figure: Figure, theme: Theme, margin: dict | None = None, legend: dict | None = None, zero_lines: str = ""
) -> Figure:
    """Apply the common style, margins and legend position to a figure in place; return it.

    `zero_lines`: the axes with a visible zero line, as "xy". Call this before changing single axes.
    """
    figure.update_layout(
        font={"size": 15, "color": theme.ink},
        paper_bgcolor=_CLEAR,
        plot_bgcolor=_CLEAR,
        uirevision="kept",
        margin=_MARGIN | (margin or {}),
        legend={"orientation": "h"} | (legend or {}),
    )
    for axis, update in (("x", figure.update_xaxes), ("y", figure.update_yaxes)):
        update(gridcolor=theme.grid, griddash="dot", zeroline=axis in zero_lines, zerolinecolor=theme.muted)
    figure.update_annotations(font={"size": PANEL_TITLE_SIZE, "color": theme.ink})
    return figure


def style_curve(k: int, theme: Theme, width: float = 3) -> dict:
    """Return the colour, dash and width of the k-th curve of a chart."""
    return {"color": theme.lines[k % len(theme.lines)], "dash": DASHES[k % len(DASHES)], "width": width}


def style_marker(k: int, theme: Theme, size: float = 8) -> dict:
    """Return the colour, symbol and size of the k-th curve's points."""
    return {"color": theme.lines[k % len(theme.lines)], "symbol": MARKER_SYMBOLS[k % len(MARKER_SYMBOLS)], "size": size}


def style_current_value_line(theme: Theme) -> dict:
    """Return colour, width and dash of a line that marks the page's current value."""
    return {"color": theme.muted, "width": 1.5, "dash": "dot"}


def style_reference_line(theme: Theme) -> dict:
    """Return colour, width and dash of a line that marks a reference value."""
    return {"color": theme.ink, "width": 1.5, "dash": "dashdot"}
