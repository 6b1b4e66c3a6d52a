"""The identities page's controls: shape, data and ε."""

import streamlit as st

from normviz.core.fields import MAX_DRAWN_ELEMENTS
from normviz.describe.wording import format_shape
from normviz.ui.link import KEPT, View, value_slider
from normviz.ui.scheme import EPS_STEPS
from normviz.ui.tensor import DATA_NAMES, OWN_DATA, SIZES, length_label, shape_of
from normviz.ui.tensor_controls import data_controls
from normviz.web.components.picked import picked


def controls(view: View) -> None:
    """Draw the shape in the sidebar, and data and ε under "Advanced"; nothing for the detector, which has arrays."""
    if view["panel"] == "detect":
        return
    own = view["data"] == OWN_DATA and "own" in st.session_state
    with st.sidebar:
        columns = st.columns(2)
        for number, size in enumerate(SIZES):
            label = length_label(size, view)
            columns[number % 2].number_input(label, 1, MAX_DRAWN_ELEMENTS, key=size, **KEPT, disabled=own)
        with st.expander("Advanced", view["data"] == OWN_DATA):
            data_controls(view)
            value_slider("eps", "ε (smoothing term)", EPS_STEPS, view["eps"])
    picked(f"{DATA_NAMES[view['data']]} of {format_shape(shape_of(view))}")
