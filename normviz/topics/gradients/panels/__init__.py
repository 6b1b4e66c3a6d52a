"""The panels of the page "Gradients", of which one is open."""

from collections.abc import Callable

from normviz.topics.gradients.panels.answer import show_answer_check
from normviz.topics.gradients.panels.formula import show_formula
from normviz.topics.gradients.panels.graph import show_graph
from normviz.topics.gradients.panels.jacobian import show_jacobian
from normviz.ui.link import View

PANELS: dict[str, Callable[[View, str], None]] = {
    "graph": show_graph,
    "formula": show_formula,
    "jacobian": show_jacobian,
    "answer": show_answer_check,
}
"""The function that draws each panel of `state.SHOWN`, for a view and a theme."""
