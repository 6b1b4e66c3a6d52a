"""Same or different? Known pairs of schemes, the variants of layer norm, two schemes of your own, a layer detector."""

import streamlit as st

from normviz.topics.same import state
from normviz.topics.same.controls import draw_controls
from normviz.topics.same.panels import show
from normviz.ui.frame import show_heading
from normviz.ui.link import get_current_theme, sync_page_values
from normviz.ui.tensor import fit_shape

with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant, fit_shape) as view:
    show_heading(view["panel"])
    draw_controls(view)
with st.container():
    show(view, get_current_theme())
