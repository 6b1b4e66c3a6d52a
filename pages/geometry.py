"""Step size: the effect of normalization on a vector, its gradient and the size of a step."""

import streamlit as st

from normviz.topics.geometry import state
from normviz.topics.geometry.controls import controls
from normviz.topics.geometry.panels import PANELS
from normviz.ui.frame import show_heading, show_view, switch_to_page
from normviz.ui.link import draw_segments, sync_page_values

link = st.query_params.to_dict()
if link.get("show") == state.FORMER_PANEL:
    switch_to_page("experiments", {"show": "recurrent"})
if link != (translated := state.translate_former_link(link)):
    st.query_params.from_dict(translated)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    show_heading(view["show"])
    controls(view)
draw_segments(state.PREFIX + "show", "Show", state.SHOWN)
show_view(PANELS[view["show"]], view)
