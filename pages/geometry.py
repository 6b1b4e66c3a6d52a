"""Step size: what normalization does to a vector, its gradient, and the size of a step."""

import streamlit as st

from normviz.topics.geometry import state
from normviz.topics.geometry.controls import controls, draw_panel_choice
from normviz.topics.geometry.panels import PANELS
from normviz.ui.frame import introduce, open_instead, shown
from normviz.ui.link import page_values

link = st.query_params.to_dict()
if link.get("show") == state.FORMER_PANEL:
    open_instead("experiments", {"show": "recurrent"})
if link != (translated := state.translate_former_link(link)):
    st.query_params.from_dict(translated)
with page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    introduce(view["show"])
    controls(view)
draw_panel_choice()
shown(PANELS[view["show"]], view)
