"""Divisive norm on one stage: a picture's contrast, a pixel's response, and batch and layer norm as limits."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.divisive import state as page
from normviz.divisive.panels import panels
from normviz.ui.link import current_theme, opened

with opened(page.PAGE, page.PARAMS, page.has, page.TITLE) as view:
    page.controls(view)
with st.container():
    try:
        panels(view, current_theme())
    except InvalidInput as error:
        st.error(str(error))
