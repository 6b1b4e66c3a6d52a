"""The backward pass of every scheme: derived, drawn, and checked."""

from normviz.gradients import state
from normviz.gradients.controls import choose, controls
from normviz.gradients.panels import PANELS
from normviz.ui.frame import shown
from normviz.ui.link import opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
shown(PANELS[view["show"]], view)
