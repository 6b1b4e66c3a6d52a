"""The controls of the page on readings: the tensor and ε, in the sidebar."""

import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.describe.wording import shape_words
from normviz.readings.state import TENSOR
from normviz.ui.components.picked import picked
from normviz.ui.link import View, value_slider
from normviz.ui.scheme import EPS_STEPS
from normviz.ui.tensor import shape_of
from normviz.ui.tensor_controls import data_controls, shape_controls


def controls(view: View) -> None:
    """Shape, data and ε, in the sidebar."""
    with st.sidebar:
        shape_controls(view, SCHEMES["none"], TENSOR)
        st.divider()
        data_controls(view)
        value_slider("eps", "ε (smoothing term)", EPS_STEPS, view["eps"])
    picked(f"Three readings on {shape_words(shape_of(view))}")
