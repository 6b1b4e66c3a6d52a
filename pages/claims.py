"""Claims, tested: every claim with the measurement that supports, limits or refutes it."""

import streamlit as st

from normviz.topics.claims import panels, state
from normviz.topics.claims.controls import draw_controls
from normviz.ui.link import sync_page_values

with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant) as view:
    draw_controls(view)
with st.container():
    panels.show(view)
