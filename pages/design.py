"""Design a normalizer: of invariances that are wanted, the schemes that have them, or why there are none."""

from normviz.design import state
from normviz.design.controls import choose, controls
from normviz.design.panels import PANELS
from normviz.ui.frame import introduce, shown
from normviz.ui.link import opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    introduce(view["show"])
    controls(view)
choose()
shown(PANELS[view["show"]], view)
