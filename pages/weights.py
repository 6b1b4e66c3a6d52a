"""Weight, spectral norm and weight standardization: what they do to a weight matrix, step by step."""

from normviz.ui.frame import shown
from normviz.ui.link import arriving, opened
from normviz.ui.player import stop
from normviz.weights import state
from normviz.weights.controls import choose, controls
from normviz.weights.panels import PANELS

if arriving(state.PAGE):
    stop(state.PREFIX)
with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
shown(PANELS[view["show"]], view)
