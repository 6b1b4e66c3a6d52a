"""The geometry of learning with and without normalization."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.geometry import state
from normviz.geometry.controls import choose, controls
from normviz.geometry.panels import PANELS
from normviz.ui.link import current_theme, opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
with st.container():
    try:
        PANELS[view["show"]](view, current_theme())
    except InvalidInput as error:
        st.error(str(error))
