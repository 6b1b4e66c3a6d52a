"""Controls of the compare page. Every widget's key is that of a value in `compare.state.PARAMS`."""

import streamlit as st

from normviz.charts.colourings import COLOURING_NAMES, list_colourings
from normviz.core.registry import SCHEMES
from normviz.describe.wording import format_shape
from normviz.topics.compare.state import COMPARABLE_KEYS, MOST, PREFIX, SHARED_TENSOR_PARAMS
from normviz.ui import custom
from normviz.ui.cube_row import NOTE_NAMES
from normviz.ui.link import View, draw_segments
from normviz.ui.scheme import build_schemes, is_relevant_to_any
from normviz.ui.scheme_picker import choose_schemes
from normviz.ui.tensor import OWN_DATA, get_view_lengths, get_view_shape
from normviz.ui.tensor_controls import draw_data_controls, draw_eps_control, draw_main_parameters, draw_shape_controls
from normviz.web.components.picked import show_choice_bar


def draw_controls(view: View) -> None:
    """Draw the controls of schemes, parameters, shape and data in the sidebar, and a summary of the choice."""
    with st.sidebar:
        choose_schemes(PREFIX + "schemes", COMPARABLE_KEYS, MOST)
        custom.draw_custom_controls(view["schemes"], view, get_view_lengths)
        draw_main_parameters(
            view, lambda name: name != "alpha" and is_relevant_to_any(view["schemes"], name),
            radius_label="Radius R of the windows",
        )  # fmt: skip
        draw_shape_controls(view, SCHEMES["batch"], SHARED_TENSOR_PARAMS)
        with st.expander("Advanced", view["data"] == OWN_DATA):
            draw_segments("colour", "Colour by", COLOURING_NAMES, list_colourings(False), is_labelled=True)
            draw_segments(PREFIX + "note", "Over each cube", NOTE_NAMES, is_labelled=True)
            draw_data_controls(view)
            draw_eps_control(view)
    names = ", ".join(scheme.label for scheme in build_schemes(view))
    show_choice_bar(f"{names or 'No scheme'} on {format_shape(get_view_shape(view))}")
