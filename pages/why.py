"""Why normalize: what it does for learning, one reason at a time."""

from normviz.ui.frame import introduce, shown
from normviz.ui.link import opened
from normviz.ui.tabs import choose_panel
from normviz.why import state
from normviz.why.controls import controls
from normviz.why.panels import PANELS

with opened(state.PAGE, state.PARAMS, state.has) as view:
    introduce(view["show"])
    controls(view)
choose_panel(state.PREFIX + "show", state.SHOWN, state.ADVANCED)
shown(PANELS[view["show"]], view)
