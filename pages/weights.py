"""Weight normalization: weight norm and spectral norm, step by step."""

from normviz.topics.weights import state
from normviz.topics.weights.controls import controls
from normviz.topics.weights.panels import PANELS
from normviz.ui.frame import show_heading, show_view
from normviz.ui.link import draw_segments, has_just_come_to_page, sync_page_values
from normviz.ui.player import stop_playing
from normviz.ui.redirects import follow_former_link

follow_former_link(state.PAGE, state.translate_former_link)
if has_just_come_to_page(state.PAGE):
    stop_playing(state.PREFIX)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    show_heading(view["show"])
    controls(view)
draw_segments(state.PREFIX + "show", "Show", state.SHOWN, on_change=stop_playing, args=(state.PREFIX,))
show_view(PANELS[view["show"]], view)
