"""The controls of the page "Contrast". Every widget's key is a value in `divisive.state.PARAMS`."""

import streamlit as st

from normviz.core.text import typeset
from normviz.topics.divisive.state import (
    LIGHT_STOPS,
    PICTURE_NAMES,
    PREFIX,
    get_picture_shape,
    is_relevant,
    list_eps_values,
    list_wide_axes,
)
from normviz.ui.link import View, draw_value_slider
from normviz.ui.locks import make_widget_arguments
from normviz.ui.tensor import OWN_DATA
from normviz.ui.tensor_controls import draw_file_upload, draw_mean_window_controls, draw_radius_control
from normviz.web.components.drag import show_drag_slider


def draw_controls(view: View) -> None:
    """Draw the controls in the sidebar: all except the slider of ε, which is below the pictures."""
    with st.sidebar:
        st.selectbox(
            "Data", list(PICTURE_NAMES), **make_widget_arguments(PREFIX + "data"), format_func=PICTURE_NAMES.__getitem__
        )
        if view["data"] == OWN_DATA:
            draw_file_upload("A photograph is")
        draw_value_slider(PREFIX + "light", "Light at the right edge (left edge: 1)", LIGHT_STOPS, view["light"])
        axes = list_wide_axes(view)
        with st.expander("Advanced"):
            if axes:
                draw_radius_control(PREFIX, "“Nearby”: radius in pixels")
                draw_mean_window_controls(axes, PREFIX)
            if is_relevant(view, "channel"):
                last = get_picture_shape(view)[3] - 1
                st.number_input(
                    "Channel", 0, last, None, **make_widget_arguments(PREFIX + "channel"), placeholder="the largest v"
                )
            st.number_input("Seed", 0, 9999, **make_widget_arguments(PREFIX + "seed"))


def draw_eps_slider(view: View) -> None:
    """Draw ε as a slider that the page follows while it is dragged. It must be the last element of the page."""
    values = list_eps_values(view)

    def moved() -> None:
        st.session_state[PREFIX + "eps"] = values[int(st.session_state["eps drag"]["index"])]

    show_drag_slider(
        "ε, added under the root", [typeset(value) for value in values], values.index(view["eps"]), "eps", moved
    )
