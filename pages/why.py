"""Why normalize: what it does for learning, one reason at a time."""

from normviz.ui.frame import introduce, shown
from normviz.ui.link import opened
from normviz.why import state
from normviz.why.controls import choose_panel, controls
from normviz.why.panels import PANELS

with opened(state.PAGE, state.PARAMS, state.has) as view:
    introduce(view["show"])
    controls(view)
choose_panel(view)
shown(PANELS[view["show"]], view)
