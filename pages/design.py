"""Design a normalizer: of invariances that are wanted, the schemes that have them, or why there are none."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.design import state
from normviz.design.controls import choose, controls
from normviz.design.panels import PANELS
from normviz.ui.link import current_theme, opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
with st.container():
    try:
        PANELS[view["show"]](view, current_theme())
    except InvalidInput as error:
        st.error(str(error))
