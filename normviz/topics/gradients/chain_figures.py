"""The computation graph: boxes with formulas and values, and the gradients computed so far.

On the left are the values of single elements, on the right the values that all elements share.
"""

import re
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from normviz.charts.chart import Figure
from normviz.charts.palette import THEMES, Theme
from normviz.charts.style import apply_chart_style
from normviz.core.text import format_number
from normviz.topics.gradients.chain import PATHS, STEPS, ChainValues


class GraphBox(NamedTuple):
    """A box of the computation graph: position, formula, a field of `ChainValues`, its gradient's symbol and field."""

    x: float
    y: float
    formula: str
    field: str
    symbol: str
    gradient: str


BOXES = {
    "x": GraphBox(0, 6, "<b>x</b>: the input", "x", "∂L/∂x", "dx"),
    "mean": GraphBox(1, 5, "<b>μ</b> = mean of x", "mean", "∂L/∂μ", "dmean"),
    "v": GraphBox(0, 4, "<b>v</b> = x − μ", "v", "∂L/∂v", "dv"),
    "variance": GraphBox(1, 3.6, "<b>σ²</b> = mean of v²", "variance", "∂L/∂σ²", "dvariance"),
    "root": GraphBox(1, 2, "<b>s</b> = √(σ² + ε)", "root", "∂L/∂s", "droot"),
    "xhat": GraphBox(0, 2, "<b>x̂</b> = v / s", "xhat", "∂L/∂x̂", "dxhat"),
    "L": GraphBox(0, 0.3, "<b>L</b>: the loss", "", "", ""),
}

RMS_BOXES = {name: box for name, box in BOXES.items() if name != "mean"} | {
    "v": BOXES["v"]._replace(formula="<b>v</b> = x")
}
"""The boxes of RMS norm, which subtracts no mean."""

COLUMN_HEADINGS = ("one per element", "shared by all")
"""The headings above the boxes on the left and on the right."""

CHARACTER_WIDTH = 6.5
"""Average width of a character in a box."""

GRAPH_EDGES = {
    ("x", "v"): 0, ("v", "xhat"): 0, ("x", "mean"): 1, ("mean", "v"): 1, ("v", "variance"): 2, ("variance", "root"): 2,
    ("root", "xhat"): 2, ("xhat", "L"): None,
}  # fmt: skip
"""The index in `chain.PATHS` of the path from a value to a value computed from it."""

PATH_LABELS = ((-0.03, 3.0, "right"), (0.8, 5.8, "center"), (0.97, 2.75, "right"))
"""The position of each path's name, and its alignment."""


def get_path_colours(colours: Theme) -> tuple[str, str, str]:
    """Return the colours of the three paths in `chain.PATHS`: direct, through the mean, through the divisor."""
    return colours.lines[0], colours.mean, colours.divides


def draw_graph(values: ChainValues, step: int, zero_threshold: float, theme: str = "light") -> Figure:
    """Return a figure of the computation graph of the forward pass, with the gradients up to a backward step.

    Args:
        values: the values and gradients.
        step: an index in `chain.STEPS`.
        zero_threshold: the largest magnitude of a gradient that is 0 to rounding.
        theme: "light" or "dark".
    """
    colours = THEMES[theme]
    figure = Figure()
    boxes = BOXES if 1 in values.paths else RMS_BOXES
    texts = {name: _format_box_lines(box, values, step, zero_threshold) for name, box in boxes.items()}
    for (start, end), path in GRAPH_EDGES.items():
        if path not in (*values.paths, None):
            continue
        colour = colours.muted if path is None else get_path_colours(colours)[path]
        back = STEPS.index(BOXES[start].gradient)
        tail, tip, width = (end, start, 3.0) if back <= step else (start, end, 2.0)
        _draw_arrow(figure, tail, tip, texts, colour, width)
    for name, box in boxes.items():
        _draw_box(figure, box, texts[name], box.gradient == STEPS[step], colours)
    for path in values.paths:
        text, colour = f"<b>{PATHS[path].replace('through the ', '')}</b>", get_path_colours(colours)[path]
        x, y, side = PATH_LABELS[path]
        figure.add_annotation(
            x=x, y=y, text=text, xanchor=side, showarrow=False, own={"size": 14, "color": colours.ink},
            bgcolor=colours.middle, bordercolor=colour, borderwidth=2.5, borderpad=2,
        )  # fmt: skip
    for x, heading in enumerate(COLUMN_HEADINGS):
        own = {"size": 14, "color": colours.ink}
        figure.add_annotation(x=x, y=6.85, text=heading, showarrow=False, own=own)
    figure.update_xaxes(visible=False, range=[-0.64, 1.34], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-0.05, 7.1], fixedrange=True)
    figure.add_scatter(x=[0, 1], y=[0, 6], mode="markers", marker={"opacity": 0}, hoverinfo="skip", showlegend=False)
    apply_chart_style(figure, colours, {"l": 2, "r": 2, "t": 2, "b": 2})
    for each in figure.layout["annotations"]:
        each["font"] = each.pop("own", each["font"])
    return figure


def _format_box_lines(box: GraphBox, values: ChainValues, step: int, zero_threshold: float) -> list[str]:
    """Return a box's lines: formula, value and, once `step` has computed it, gradient, 0 up to `zero_threshold`."""
    if not box.field:
        return [box.formula]
    lines = [box.formula, format_values(getattr(values, box.field))]
    if STEPS.index(box.gradient) <= max(step, STEPS.index("dxhat")):  # the loss gives ∂L/∂x̂ from the start
        lines.append(f"{box.symbol}: {format_values(getattr(values, box.gradient), zero_threshold)}")
    return lines


def _draw_arrow(
    figure: Figure, start: str, end: str, texts: Mapping[str, list[str]], colour: str, width: float
) -> None:
    """Add an arrow between two boxes, given by name, to the figure; `texts`: the lines of the boxes."""
    a, b = BOXES[start], BOXES[end]
    ends = {}
    for name, key in ((start, "startstandoff"), (end, "standoff")):
        wide = max(len(re.sub("<.*?>", "", line)) for line in texts[name]) * CHARACTER_WIDTH / 2 + 8
        ends[key] = 10 * len(texts[name]) + 6 if a.x == b.x else wide
    figure.add_annotation(
        x=b.x, y=b.y, ax=a.x, ay=a.y, xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True, arrowhead=2,
        arrowsize=0.8, arrowwidth=width, arrowcolor=colour, **ends,
    )  # fmt: skip


def _draw_box(figure: Figure, box: GraphBox, lines: list[str], is_current: bool, colours: Theme) -> None:
    """Add a box with its lines to the figure; `is_current` frames it, for the step that computes its gradient."""
    warm = colours.lines[1]
    formula, *values = lines
    shown = [f"<b>{values[0]}</b>"] if values else []
    shown += [f'<span style="color:{warm}"><b>{line}</b></span>' for line in values[1:]]
    figure.add_annotation(
        x=box.x, y=box.y, text="<br>".join([formula, *shown]), showarrow=False,
        own={"size": 14, "color": colours.ink}, bgcolor=colours.middle,
        bordercolor=warm if is_current else colours.muted, borderwidth=3 if is_current else 1.5, borderpad=4,
    )  # fmt: skip


def format_values(value: float | np.ndarray, zero_threshold: float = 0.0) -> str:
    """Format one number or several, "0.5, −1, 0", with three digits; magnitudes up to `zero_threshold` become 0."""
    return ", ".join(
        "0" if abs(each) <= zero_threshold else format_number(each, 3) for each in np.atleast_1d(value).tolist()
    )
