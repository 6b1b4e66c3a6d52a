"""Controls of the page "Same or different?": shape, data and ε."""

import streamlit as st

from normviz.core.fields import MAX_DRAWN_ELEMENTS
from normviz.describe.wording import format_shape
from normviz.ui.link import View
from normviz.ui.locks import make_widget_arguments
from normviz.ui.tensor import DATA_NAMES, OWN_DATA, SIZE_NAMES, format_length_label, get_view_shape
from normviz.ui.tensor_controls import draw_data_controls, draw_eps_control
from normviz.web.components.picked import show_choice_bar


def draw_controls(view: View) -> None:
    """Draw the controls of the shape in the sidebar, and of data and ε under "Advanced"."""
    if view["panel"] == "detect":
        return
    own = view["data"] == OWN_DATA and "own" in st.session_state
    with st.sidebar:
        columns = st.columns(2)
        for number, size in enumerate(SIZE_NAMES):
            label = format_length_label(size, view)
            columns[number % 2].number_input(label, 1, MAX_DRAWN_ELEMENTS, **make_widget_arguments(size, own))
        with st.expander("Advanced", view["data"] == OWN_DATA):
            draw_data_controls(view)
            draw_eps_control(view)
    show_choice_bar(f"{DATA_NAMES[view['data']]} of {format_shape(get_view_shape(view))}")
