"""Training vs. inference: batch statistics in training, running averages at test time."""

from normviz.topics.running import panels, state
from normviz.ui.frame import introduce, shown
from normviz.ui.link import arriving, page_values, segments
from normviz.ui.player import stop

if arriving(state.PAGE):
    stop(state.PREFIX)
state.redirect_former_link()
with page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    introduce(view["panel"])
    state.controls(view)
if view["panel"] != "switch":
    stop(state.PREFIX)
segments(state.PREFIX + "panel", "Show", state.PANELS)
shown(panels.show, view)
