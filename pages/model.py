"""Your model: a report on the normalizations of a user's model, and its layers on the other pages."""

from normviz.topics.model import state
from normviz.topics.model.controls import draw_controls
from normviz.topics.model.panels import show
from normviz.ui.frame import show_view
from normviz.ui.link import sync_page_values

with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    draw_controls(view)
show_view(show, view)
