"""Experiments: what the papers promise, run on the spot, over seeds."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.experiments import panels, state
from normviz.experiments.controls import choose, controls
from normviz.ui.link import current_theme, opened

with opened(state.PAGE, state.PARAMS, state.has) as view:
    controls(view)
choose()
with st.container():
    try:
        panels.show(view, current_theme())
    except InvalidInput as error:
        st.error(str(error))
