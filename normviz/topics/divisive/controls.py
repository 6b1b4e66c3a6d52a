"""The controls of the page "Contrast". Every widget's key is that of a value in `divisive.state.PARAMS`."""

import streamlit as st

from normviz.core.text import typeset
from normviz.topics.divisive.state import (
    EPS_STEPS,
    LIGHT_STOPS,
    PICTURE_NAMES,
    PREFIX,
    get_picture_shape,
    is_relevant,
    list_wide_axes,
)
from normviz.ui.link import KEPT, View, value_slider
from normviz.ui.tensor import OWN_DATA
from normviz.ui.tensor_controls import further_window_controls, own_file, radius_control
from normviz.web.components.drag import drag


def controls(view: View) -> None:
    """Draw the controls in the sidebar: all but ε, which stands beside the picture."""
    with st.sidebar:
        value_slider(PREFIX + "light", "Light at the right edge", LIGHT_STOPS, view["light"])
        st.selectbox("Data", list(PICTURE_NAMES), key=PREFIX + "data", **KEPT, format_func=PICTURE_NAMES.__getitem__)
        if view["data"] == OWN_DATA:
            own_file("A photograph is")
        axes = list_wide_axes(view)
        if axes:
            radius_control(PREFIX, "Neighbourhood: radius in pixels")
        with st.expander("Advanced"):
            if axes:
                further_window_controls(axes, PREFIX)
            if is_relevant(view, "channel"):
                last = get_picture_shape(view)[3] - 1
                st.number_input("Channel", 0, last, None, key=PREFIX + "channel", **KEPT, placeholder="the largest v")
            st.number_input("Seed", 0, 9999, key=PREFIX + "seed", **KEPT)


def draw_eps_slider(view: View) -> None:
    """Draw ε as a slider that the page follows while it is dragged: the last element of the page, in a container."""
    values = sorted({*EPS_STEPS, view["eps"]})

    def moved() -> None:
        st.session_state[PREFIX + "eps"] = values[int(st.session_state["eps drag"]["index"])]

    drag("ε, added under the root", [typeset(value) for value in values], values.index(view["eps"]), "eps", moved)
