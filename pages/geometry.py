"""The geometry of learning with and without normalization."""

from normviz.geometry import state
from normviz.geometry.controls import choose, controls
from normviz.geometry.panels import PANELS
from normviz.ui.frame import shown
from normviz.ui.link import opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
shown(PANELS[view["show"]], view)
