"""Weight, spectral norm and weight standardization: what they do to a weight matrix, step by step."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.ui.link import arriving, current_theme, opened
from normviz.ui.player import stop
from normviz.weights import state
from normviz.weights.controls import choose, controls
from normviz.weights.panels import PANELS

if arriving(state.PAGE):
    stop(state.PREFIX)
with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
with st.container():
    try:
        PANELS[view["show"]](view, current_theme())
    except InvalidInput as error:
        st.error(str(error))
