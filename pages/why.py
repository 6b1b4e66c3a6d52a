"""Why normalize: the benefits for learning, one reason at a time."""

from normviz.topics.why import state
from normviz.topics.why.controls import draw_main_controls, draw_other_controls
from normviz.topics.why.panels import PANELS
from normviz.ui.frame import show_heading, show_view
from normviz.ui.link import sync_page_values
from normviz.ui.tabs import draw_panel_picker

with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    show_heading(view["show"])
with draw_panel_picker(state.PREFIX + "show", state.SHOWN, state.ADVANCED):
    draw_main_controls(view)
    show_view(PANELS[view["show"]], view)
    draw_other_controls(view)
