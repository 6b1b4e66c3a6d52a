"""The backward pass of every scheme: derived, drawn, and checked."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.gradients import state
from normviz.gradients.controls import choose, controls
from normviz.gradients.panels import PANELS
from normviz.ui.link import current_theme, opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
with st.container():
    try:
        PANELS[view["show"]](view, current_theme())
    except InvalidInput as error:
        st.error(str(error))
