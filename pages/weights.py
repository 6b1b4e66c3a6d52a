"""Weight norm and spectral norm: what they do to weights, step by step."""

import streamlit as st

from normviz.topics.weights import state
from normviz.topics.weights.controls import controls, draw_panel_choice
from normviz.topics.weights.panels import PANELS
from normviz.ui.frame import introduce, shown
from normviz.ui.link import arriving, page_values
from normviz.ui.player import stop

if st.query_params.get("show") == state.FORMER_PANEL:
    st.query_params["show"] = "spectral"
if arriving(state.PAGE):
    stop(state.PREFIX)
with page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    introduce(view["show"])
    controls(view)
draw_panel_choice()
shown(PANELS[view["show"]], view)
