"""Step size: the effect of normalization on a vector, its gradient and the size of a step."""

from normviz.topics.geometry import state
from normviz.topics.geometry.controls import draw_controls
from normviz.topics.geometry.panels import PANELS
from normviz.ui.frame import show_heading, show_view
from normviz.ui.link import draw_segments, sync_page_values
from normviz.ui.redirects import follow_former_link

follow_former_link(state.PAGE, state.translate_former_link)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    show_heading(view["show"])
    draw_controls(view)
draw_segments(state.PREFIX + "show", "Show", state.SHOWN)
show_view(PANELS[view["show"]], view)
