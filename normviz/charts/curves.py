"""Charts of curves with bands, in panels beside each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import numpy as np

from normviz.charts.chart import Figure, make_subplots
from normviz.charts.palette import THEMES, Theme
from normviz.charts.style import apply_chart_style, style_curve, style_marker, style_reference_line
from normviz.core.text import typeset

LEGEND_AT_BOTTOM = {"yref": "container", "y": 0.0, "yanchor": "bottom", "xref": "container", "x": 0.0}
"""Position of the legend at the lower edge, at any height."""

BOTTOM_MARGIN = 112
"""Pixels below a chart for its axis and a legend of two lines; sizing.js fits it to the drawn legend."""

PICTURE_FLOOR = 0.8
"""Lower end of the pictures above a panel, as a share of the height of the figure without its margins."""

END_SHARE = 0.2
"""Share of the x axis that the name of a reference line takes at an end."""

BAR_SPREAD = 0.012
"""Distance between error bars at one x, as a share of a logarithmic axis."""


@dataclass(frozen=True)
class Curve:
    """Curve over x, with a band from `low` to `high` if they are given; without a name it is not in the legend.

    `style`: number of its colour, dash and marker, −1 for a true value, in ink; `has_markers`: True for markers on the
    line, with error bars in place of the band; `is_scatter`: True for such markers of `size` pixels without a line,
    with `texts` at their `text_side` (Plotly's "middle left", …), and without markers of size 0; `width`: pixels of its
    line, 0 for 3, or 2 in ink.
    """

    name: str
    x: np.ndarray
    y: np.ndarray
    style: int = 0
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    has_markers: bool = False
    is_scatter: bool = False
    size: float = 10
    texts: Sequence[str] = ()
    text_side: str = "middle right"
    width: float = 0


@dataclass(frozen=True)
class CurvePanel:
    """Panel of curves on one pair of axes, with their titles.

    `log`: the logarithmic axes, as "xy"; `levels`, `level_names`: heights of reference lines and the texts above
    them, or on both sides of them if they have two lines; `has_legend`: False if `names` say what the legend would;
    `span`: the range of the y axis as in Plotly; `marks`: positions of the x ticks; `names`: their texts, if they are
    categories at distance 1; `pictures`: addresses of pictures above them; `square`: if not 0, both axes, which are not
    drawn, reach from −square to square in equal units.
    """

    title: str
    curves: Sequence[Curve]
    x: str = ""
    y: str = ""
    log: str = ""
    levels: Sequence[float] = ()
    level_names: Sequence[str] = ()
    span: tuple[float, float] | None = None
    marks: Sequence[float] = ()
    names: Sequence[str] = ()
    pictures: Sequence[str] = ()
    square: float = 0.0
    has_legend: bool = True


def draw_curve_panels(panels: Sequence[CurvePanel], theme: str = "light", columns: int = 2) -> Figure:
    """Return a figure with panels of curves in a grid; curves of one name share a legend entry, and "" has none."""
    colours = THEMES[theme]
    columns = min(columns, len(panels))
    rows = -(-len(panels) // columns)
    figure = make_subplots(
        rows,
        columns,
        [panel.title for panel in panels],
        horizontal_spacing=min(0.13, 0.26 / columns),
        vertical_spacing=min(0.2, 0.4 / rows),
    )
    named: dict[str, None] = {"": None}
    for number, panel in enumerate(panels):
        subplot = {"row": number // columns + 1, "col": number % columns + 1}
        shifts = _separate_error_bars(panel)
        for curve in panel.curves:
            has_entry = panel.has_legend and curve.name not in named
            _draw_curve(figure, curve, colours, has_entry, subplot, shifts.get(curve.name, 1.0))
            if has_entry:
                named[curve.name] = None
        suffix = f"{number + 1}" if number else ""
        for level in panel.levels:
            figure.add_hline(level, line=style_reference_line(colours), **subplot)
        for level, name in zip(panel.levels, panel.level_names, strict=False):
            height = np.log10(level) if "y" in panel.log else level
            anchor = "middle" if "<br>" in name else "bottom"
            place = {"xref": f"x{suffix} domain", "yref": f"y{suffix}", "yanchor": anchor, "showarrow": False}
            end = find_free_end(panel, level)
            figure.add_annotation(text=name, x=end, xanchor=("left", "right")[end], y=height, **place)
        for mark, source in zip(panel.marks, panel.pictures, strict=False):
            size = {"sizex": 1, "sizey": 1 - PICTURE_FLOOR, "yref": "paper", "y": 1, "xref": f"x{suffix}", "x": mark}
            figure.add_picture(source=source, xanchor="center", **size)
            figure.update_yaxes(domain=[0, PICTURE_FLOOR - 0.02], **subplot)
        figure.update_xaxes(
            title={"text": panel.x + " (log scale)" * ("x" in panel.log), "standoff": 4}
            | ({} if panel.x else {"font": {"size": 1}}),  # Plotly leaves room for an empty title, too
            **(_make_log_axis([curve.x for curve in panel.curves]) if "x" in panel.log else {}),
            **subplot,
        )
        if panel.marks:
            texts = list(panel.names) or [f"{mark:g}" for mark in panel.marks]
            ends = {"range": [panel.marks[0] - 0.5, panel.marks[-1] + 0.5], "tickangle": 0} if panel.names else {}
            grid = bool(panel.pictures)  # which stand above its lines
            figure.update_xaxes(tickvals=list(panel.marks), ticktext=texts, showgrid=grid, **ends, **subplot)
        heights = [each for curve in panel.curves for each in (curve.y, curve.low, curve.high) if each is not None]
        linear = {"nticks": 6, "autorangeoptions": {"include": [0.0] if panel.y.endswith("%") else []}}
        scale = _make_log_axis([10 ** np.array(panel.span)] if panel.span else heights) if "y" in panel.log else linear
        upright = f"{panel.y} (log scale)" if "y" in panel.log else panel.y
        span = {"range": list(panel.span)} if panel.span else {}
        figure.update_yaxes(title={"text": upright, "standoff": 4}, automargin=True, **scale, **span, **subplot)
        if panel.square:
            reach = {"range": [-panel.square, panel.square], "constrain": "domain", "visible": False}
            figure.update_xaxes(**reach, **subplot)
            figure.update_yaxes(**reach, scaleanchor=f"x{suffix}", **subplot)
    figure.update_xaxes(automargin=True)  # below category names of several lines
    # Less without a legend; names of categories take their own room.
    bottom = BOTTOM_MARGIN if len(named) > 1 else 50 if any(panel.x for panel in panels) else 20
    margin = {"t": 34, "b": bottom, "l": 55, "r": 20}  # half of a number at the end of the axis
    if all(panel.square for panel in panels):
        margin |= {"b": 10, "l": 10}  # no axes
    return apply_chart_style(figure, colours, margin, LEGEND_AT_BOTTOM)


def find_free_end(panel: CurvePanel, level: float) -> int:
    """Return the end of the line at `level` where the curves above it are farther: 0 for the left end, 1 for the right.

    Example:
        >>> find_free_end(CurvePanel("", [Curve("", np.arange(3), np.array([5, 7, 89]))]), level=90)
        0
    """
    x, y = (np.concatenate([np.ravel(getattr(curve, axis)) for curve in panel.curves]) for axis in "xy")
    x, y = (np.log10(each) if axis in panel.log else each for axis, each in (("x", x), ("y", y)))
    away = y - (np.log10(level) if "y" in panel.log else level)
    away = np.where(away < -0.05 * np.ptp(y), np.inf, np.abs(away))
    ends = (away[np.abs(x - end) <= END_SHARE * np.ptp(x)] for end in (x.min(), x.max()))
    return int(np.argmax([np.nan_to_num(each, nan=np.inf).min() for each in ends]))


def _make_log_axis(values: Sequence[np.ndarray]) -> dict:
    """Return Plotly's setting of a logarithmic axis with ticks at powers of ten, on a short range also at 2 and 5."""
    scale: dict[str, Any] = {"type": "log"}
    numbers = np.concatenate([np.empty(0), *map(np.ravel, values)])
    numbers = numbers[np.isfinite(numbers) & (numbers > 0)]
    if not numbers.size:
        return scale
    low, high = float(numbers.min()), float(numbers.max())
    leads = (1,) if high > 200 * low else (1, 2, 5) if high > 5 * low else (1, 1.5, 2, 3, 4, 5, 6, 8)
    every = max(round(np.log10(high / low) / 6), 1)
    ticks = [lead * 10.0**k for k in range(-300 // every * every, 300, every) for lead in leads]
    shown = [tick for tick in ticks if low / 2 < tick < 2 * high]
    return scale | {"tickvals": shown, "ticktext": [typeset(tick) for tick in shown]}


def _separate_error_bars(panel: CurvePanel) -> dict[str, float]:
    """Map the names of curves to factors on x that keep error bars on a logarithmic axis from overlapping."""
    barred = [curve for curve in panel.curves if curve.has_markers and curve.low is not None]
    if "x" not in panel.log or not barred:
        return {}
    places = np.concatenate([curve.x for curve in barred])
    room = 0.5 / len(places)  # half of the distance between two x, if they are evenly spread
    step = float(places.max() / places.min()) ** min(BAR_SPREAD, room)
    return {curve.name: step ** (k - (len(barred) - 1) / 2) for k, curve in enumerate(barred)}


def _draw_curve(figure: Figure, curve: Curve, colours: Theme, has_entry: bool, subplot: dict, x_factor: float) -> None:
    """Draw a curve, with an entry in the legend if `has_entry`; `x_factor` moves the drawn x, not the tooltip's."""
    ink = {"color": colours.ink, "width": curve.width or 2}
    line: dict[str, Any] = ink if curve.style < 0 else style_curve(curve.style, colours, curve.width or 3)
    group = {"name": curve.name, "legendgroup": curve.name, **subplot}
    bars = {}
    if curve.low is not None and curve.high is not None and (curve.is_scatter or curve.has_markers):
        reach = {"array": curve.high - curve.y, "arrayminus": curve.y - curve.low}
        bars = {"error_y": {"type": "data", "symmetric": False, "thickness": 2, "width": 3, **reach}}
    if curve.is_scatter:
        marker = style_marker(curve.style, colours, curve.size) | ({"color": colours.ink} if curve.style < 0 else {})
        shown = {"mode": "markers", "marker": marker, "showlegend": has_entry}
        if curve.texts:
            shown |= {
                "mode": "markers+text" if curve.size else "text",
                "text": list(curve.texts),
                "textposition": curve.text_side,
            }
        figure.add_scatter(x=curve.x, y=curve.y, **shown, **bars, **group)
        return
    if curve.low is not None and curve.high is not None and not bars:
        edge = {"mode": "lines", "line": line | {"width": 0}, "showlegend": False, "hoverinfo": "skip", **group}
        figure.add_scatter(x=curve.x, y=curve.low, **edge)
        figure.add_scatter(x=curve.x, y=curve.high, fill="tonexty", fillcolor=to_rgba(line["color"]), **edge)
    drawn = {"marker": style_marker(curve.style, colours)} if curve.has_markers else {}
    mode = "lines+markers" if curve.has_markers else "lines"
    x = curve.x if x_factor == 1.0 else curve.x * x_factor
    shown = {} if x_factor == 1.0 else {"customdata": curve.x, "hovertemplate": "(%{customdata}, %{y:.3g})"}
    figure.add_scatter(x=x, y=curve.y, mode=mode, line=line, showlegend=has_entry, **shown, **drawn, **bars, **group)


def to_rgba(colour: str, opacity: float = 0.18) -> str:
    """Convert "#rrggbb" and an opacity, 0 to 1, to a CSS colour; the default is the opacity of bands."""
    red, green, blue = (int(colour[k : k + 2], 16) for k in (1, 3, 5))
    return f"rgba({red}, {green}, {blue}, {opacity:g})"


def encode_picture(picture: np.ndarray) -> str:
    """Return the address of an SVG picture that shows an array (rows, columns), 0 black to 1 white, in a frame."""
    rows, columns = picture.shape
    cells = "".join(
        f'<rect x="{column}" y="{row}" width="1" height="1" fill="rgb({grey},{grey},{grey})"/>'
        for (row, column), grey in np.ndenumerate(np.rint(255 * picture).astype(int))
    )
    frame = f'<rect width="{columns}" height="{rows}" fill="none" stroke="#888" stroke-width="0.2"/>'
    size = f'viewBox="0 0 {columns} {rows}" width="{columns}0" height="{rows}0"'
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" {size} shape-rendering="crispEdges">{cells}{frame}</svg>'
    return f"data:image/svg+xml,{quote(svg)}"
