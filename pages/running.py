"""Training vs. inference: batch statistics in training, running averages at test time."""

from functools import partial

import streamlit as st

from normviz.running import panels, state
from normviz.ui.frame import introduce, shown
from normviz.ui.link import arriving, opened
from normviz.ui.player import stop

if arriving(state.PAGE):
    stop(state.PREFIX)
st.query_params.update(state.fill_former_defaults(st.query_params.to_dict()))
with opened(state.PAGE, state.PARAMS, state.has) as view:
    introduce(view["panel"])
    state.controls(view)
if view["panel"] != "switch":
    stop(state.PREFIX)
panels.choose()
shown(partial(panels.show, seen=state.traced(state.setting_of(view), view["eps"])), view)
