"""Experiments: what the papers promise, run on the spot, over seeds."""

from normviz.experiments import panels, state
from normviz.experiments.controls import choose, controls
from normviz.ui.frame import shown
from normviz.ui.link import opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
shown(panels.show, view)
