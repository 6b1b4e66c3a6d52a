"""Why normalize: what it does for learning, one reason at a time."""

from normviz.topics.why import state
from normviz.topics.why.controls import controls
from normviz.topics.why.panels import PANELS
from normviz.ui.frame import introduce, shown
from normviz.ui.link import page_values
from normviz.ui.tabs import choose_panel

with page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    introduce(view["show"])
    controls(view)
choose_panel(state.PREFIX + "show", state.SHOWN, state.ADVANCED)
shown(PANELS[view["show"]], view)
