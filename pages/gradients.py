"""Backward pass: the gradient of every scheme, derived, drawn and checked."""

import streamlit as st

from normviz.topics.gradients import state
from normviz.topics.gradients.controls import controls
from normviz.topics.gradients.panels import PANELS
from normviz.ui.frame import show_heading, show_view, switch_to_page
from normviz.ui.link import draw_segments, sync_page_values
from normviz.ui.player import stop_playing
from normviz.ui.redirects import replace_scale_link

link = st.query_params.to_dict()
if link.get("show") == state.FORMER_PANEL:
    switch_to_page(*replace_scale_link(link))
if link != (translated := state.translate_former_link(link)):
    st.query_params.from_dict(translated)
with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    show_heading(view["show"])
    controls(view)
draw_segments(state.PREFIX + "show", "Show", state.SHOWN, on_change=stop_playing, args=(state.PREFIX,))
show_view(PANELS[view["show"]], view)
