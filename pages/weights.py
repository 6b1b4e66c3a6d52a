"""Weight, spectral norm and weight standardization: what they do to a weight matrix, step by step."""

from normviz.ui.frame import introduce, shown
from normviz.ui.link import arriving, opened
from normviz.ui.player import stop
from normviz.weights import state
from normviz.weights.controls import choose, controls
from normviz.weights.panels import PANELS

if arriving(state.PAGE):
    stop(state.PREFIX)
with opened(state.PAGE, state.PARAMS, state.has) as view:
    introduce(view["show"])
    controls(view)
choose()
shown(PANELS[view["show"]], view)
