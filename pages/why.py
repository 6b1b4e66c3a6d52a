"""Why normalize: what it does for learning, one reason at a time."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.ui.link import current_theme, opened
from normviz.why import state
from normviz.why.controls import choose, controls
from normviz.why.panels import PANELS

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
with st.container():
    try:
        PANELS[view["show"]](view, current_theme())
    except InvalidInput as error:
        st.error(str(error))
