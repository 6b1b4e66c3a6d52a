"""Same or different? Known pairs of schemes, the variants of layer norm, two of one's own, and a detector of layers."""

import streamlit as st

from normviz.topics.same import state
from normviz.topics.same.controls import controls
from normviz.topics.same.panels import show
from normviz.ui.frame import introduce
from normviz.ui.link import current_theme, page_values
from normviz.ui.tensor import fit

with page_values(state.PAGE, state.PARAMS, state.is_relevant, fit) as view:
    introduce(view["panel"])
    controls(view)
with st.container():
    show(view, current_theme())
