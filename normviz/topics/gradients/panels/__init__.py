"""What the page on gradients shows: one panel at a time."""

from collections.abc import Callable

from normviz.topics.gradients.panels.answer import show_answer_check
from normviz.topics.gradients.panels.formula import show_formula
from normviz.topics.gradients.panels.graph import show_chain
from normviz.topics.gradients.panels.jacobian import show_jacobian
from normviz.ui.link import View

PANELS: dict[str, Callable[[View, str], None]] = {
    "graph": show_chain,
    "formula": show_formula,
    "jacobian": show_jacobian,
    "answer": show_answer_check,
}
"""By a key of `state.SHOWN`: what draws it, for a view and a theme."""
