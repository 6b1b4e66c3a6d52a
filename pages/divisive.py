"""Divisive norm on one stage: a picture's contrast, a pixel's response, and batch and layer norm as limits."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.divisive import state
from normviz.divisive.controls import controls
from normviz.divisive.panels import panels
from normviz.ui.frame import show_error
from normviz.ui.link import current_theme, opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
with st.container():
    try:
        panels(view, current_theme())
    except InvalidInput as error:
        show_error(error)
