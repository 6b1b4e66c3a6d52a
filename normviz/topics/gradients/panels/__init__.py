"""What the page on gradients shows: one panel at a time."""

from collections.abc import Callable

from normviz.topics.gradients.panels.answer import answer
from normviz.topics.gradients.panels.formula import formula
from normviz.topics.gradients.panels.graph import graph
from normviz.topics.gradients.panels.jacobian import jacobian
from normviz.ui.link import View

PANELS: dict[str, Callable[[View, str], None]] = {
    "graph": graph,
    "formula": formula,
    "jacobian": jacobian,
    "answer": answer,
}
"""By a key of `state.SHOWN`: what draws it, for a view and a theme."""
