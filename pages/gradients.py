"""The backward pass of every scheme: derived, drawn, and checked."""

import streamlit as st

from normviz.gradients import state
from normviz.gradients.controls import choose, controls
from normviz.gradients.panels import PANELS
from normviz.ui.frame import open_instead, shown
from normviz.ui.link import opened
from normviz.ui.redirects import scaled_weights

link = st.query_params.to_dict()
if link.get("show") == state.FORMER_PANEL:
    open_instead(*scaled_weights(link))
st.query_params.update(state.former_values(link))
with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
shown(PANELS[view["show"]], view)
