"""Training vs. inference: batch statistics in training, running averages at test time."""

from normviz.topics.running import panels, state
from normviz.ui.frame import show_heading, show_view
from normviz.ui.link import draw_segments, has_just_come_to_page, sync_page_values
from normviz.ui.player import stop_playing
from normviz.ui.redirects import follow_former_link

if has_just_come_to_page(state.PAGE):
    stop_playing(state.PREFIX)
follow_former_link(state.PAGE, state.translate_former_link)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    show_heading(view["panel"])
    state.controls(view)
if view["panel"] != "switch":
    stop_playing(state.PREFIX)
draw_segments(state.PREFIX + "panel", "Show", state.PANELS)
show_view(panels.show, view)
