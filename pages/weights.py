"""Weight, spectral norm and weight standardization: what they do to a weight matrix, step by step."""

import streamlit as st

from normviz.errors import InvalidInput
from normviz.ui import weights as page
from normviz.ui.link import restore, store, tell
from normviz.ui.weights_controls import choose, controls, stand_still
from normviz.ui.weights_panels import PANELS, TITLE

stand_still()
view, notes = restore(page.PAGE, page.PARAMS, lambda view: {})
controls(view)
store(page.PAGE, page.PARAMS, view, lambda name: page.has(view, name))
st.markdown(TITLE)
tell(notes, lambda name: page.has(view, name))
choose()
with st.container():
    try:
        PANELS[view["show"]](view, st.context.theme.type or "light")
    except InvalidInput as error:
        st.error(str(error))
