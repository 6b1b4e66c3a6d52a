"""The computation of one field as a graph: values on its nodes, and on its edges what comes back.

On the left what belongs to the element that is followed, on the right what the field shares.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from normviz.core.text import typeset
from normviz.gradients.chain import STEPS, TURN
from normviz.ui.chart import Figure
from normviz.ui.palette import THEMES, Theme
from normviz.ui.style import finish


@dataclass(frozen=True)
class Node:
    """A step of the computation: where it stands, the names of its value and of its gradient, and its role's colour."""

    x: float
    y: float
    value: str
    gradient: str
    colour: str = "ink"


NODES = {
    "x": Node(0, 6, "x<sub>{i}</sub>", "∂l/∂x<sub>{i}</sub>", "element"),
    "mean": Node(1, 5.4, "μ", "∂l/∂μ", "mean"),
    "v": Node(0, 4.1, "v<sub>{i}</sub>", "∂l/∂v<sub>{i}</sub>", "element"),
    "variance": Node(1, 3.6, "σ²", "∂l/∂σ²", "divides"),
    "root": Node(1, 2, "s", "∂l/∂s", "divides"),
    "xhat": Node(0, 1.9, "x̂<sub>{i}</sub>", "∂l/∂x̂<sub>{i}</sub>", "element"),
    "y": Node(0, 0, "y<sub>{i}</sub>", "∂l/∂y<sub>{i}</sub>", "element"),
    "l": Node(1, 0, "l", "", "ink"),
}

EDGES = (
    ("x", "mean"), ("x", "v"), ("mean", "v"), ("v", "variance"), ("variance", "root"), ("root", "xhat"), ("v", "xhat"),
    ("xhat", "y"), ("y", "l"),
)  # fmt: skip
"""From a value to one that is computed from it."""

GRADIENTS = {
    "x": "dx",
    "mean": "dmean",
    "v": "dv",
    "variance": "dvariance",
    "root": "droot",
    "xhat": "dxhat",
    "y": "dy",
}
"""The step at which a node's gradient is there."""


def chain_figure(
    values: Mapping[str, float],
    gradients: Mapping[str, float],
    back: Mapping[tuple[str, str], float],
    element: int,
    step: int,
    theme: str = "light",
) -> Figure:
    """The graph up to a step: what is not there yet is faint, what the step adds has a thick frame.

    Args:
        values: of the nodes, forward; gradients: of those that have one.
        back: what comes back along an edge, by (where it comes from, where it goes).
        element: which one is followed; step: a place in `chain.STEPS`; theme: "light" or "dark".
    """
    colours = THEMES[theme]
    figure = Figure()
    warm = colours.lines[1]
    for start, end in EDGES:
        known = STEPS.index(end) <= step
        _arrow(figure, start, end, colours.ink if known else colours.grid, 2.0 if known else 1.0)
        if step > TURN and (end, start) in back and STEPS.index(_since(end, start)) <= step:
            _arrow(figure, end, start, warm, 3.0)
            _label(figure, end, start, back[end, start], colours, warm)
    for name, node in NODES.items():
        _node(figure, name, node, values, gradients, element, step, colours, warm)
    figure.update_xaxes(visible=False, range=[-0.3, 1.3], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-0.5, 6.5], fixedrange=True)
    figure.add_scatter(x=[0, 1], y=[0, 6], mode="markers", marker={"opacity": 0}, hoverinfo="skip", showlegend=False)
    finish(figure, colours, {"l": 4, "r": 4, "t": 4, "b": 4})
    for each in figure.layout["annotations"]:
        each["font"] = each.pop("own", each["font"])
    return figure


def _since(start: str, end: str) -> str:
    """The step at which something comes back from one node to another: once the latter's gradient is there."""
    return GRADIENTS[end]


def _arrow(figure: Figure, start: str, end: str, colour: str, width: float) -> None:
    a, b = NODES[start], NODES[end]
    straight = a.x == b.x  # else the ends are as far from the middle of a box as it is wide
    ends = {"standoff": 26, "startstandoff": 24} if straight else {"standoff": 58, "startstandoff": 50}
    figure.add_annotation(
        x=b.x, y=b.y, ax=a.x, ay=a.y, xref="x", yref="y", axref="x", ayref="y", text="", showarrow=True, arrowhead=2,
        arrowsize=1.2, arrowwidth=width, arrowcolor=colour, **ends,
    )  # fmt: skip


def _label(figure: Figure, start: str, end: str, value: float, colours: Theme, warm: str) -> None:
    """What comes back, in the middle of the edge."""
    a, b = NODES[start], NODES[end]
    beside = {"xshift": 9, "xanchor": "left"} if a.x == b.x else {}
    figure.add_annotation(
        x=(a.x + b.x) / 2, y=(a.y + b.y) / 2, text=typeset(value, 3), showarrow=False, borderpad=1,
        own={"size": 15, "color": warm}, bgcolor=colours.middle, **beside,
    )  # fmt: skip


def _node(
    figure: Figure,
    name: str,
    node: Node,
    values: Mapping[str, float],
    gradients: Mapping[str, float],
    element: int,
    step: int,
    colours: Theme,
    warm: str,
) -> None:
    known = STEPS.index(name) <= step
    gradient = GRADIENTS.get(name, "")
    back = bool(gradient) and STEPS.index(gradient) <= step
    now = STEPS[step] in (name, gradient)
    text = node.value.format(i=element) + (f" = {typeset(values[name], 4)}" if known else "")
    if back:
        text += (
            f'<br><span style="color:{warm}">{node.gradient.format(i=element)} = {typeset(gradients[name], 3)}</span>'
        )
    colour = getattr(colours, node.colour)
    figure.add_annotation(
        x=node.x, y=node.y, text=f"<b>{text}</b>" if now else text, showarrow=False,
        own={"size": 16, "color": colours.ink if known else colours.muted}, bgcolor=colours.middle,
        bordercolor=colour if known else colours.grid, borderwidth=4 if now else 2, borderpad=5,
    )  # fmt: skip
