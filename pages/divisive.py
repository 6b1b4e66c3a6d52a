"""Contrast: divisive normalization of a badly lit picture, and the effect of ε."""

from normviz.topics.divisive import state
from normviz.topics.divisive.controls import draw_controls
from normviz.topics.divisive.panels import show_panels
from normviz.ui.frame import show_view
from normviz.ui.link import sync_page_values

with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    draw_controls(view)
show_view(show_panels, view)
