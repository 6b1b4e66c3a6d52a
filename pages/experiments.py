"""Experiments: claims of the papers, tested by training small networks over several seeds."""

from normviz.topics.experiments import panels, state
from normviz.topics.experiments.controls import controls, heading
from normviz.ui.frame import shown
from normviz.ui.link import opened

state.follow_aliases()
with opened(state.PAGE, state.PARAMS, state.has) as view:
    heading(view)
    controls(view)
shown(panels.show, view)
