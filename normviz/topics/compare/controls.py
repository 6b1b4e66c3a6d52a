"""The compare page's controls. Every widget's key is that of a value in `compare.state.PARAMS`."""

import streamlit as st

from normviz.core.registry import SCHEMES
from normviz.describe.wording import format_shape
from normviz.topics.compare.state import KEYS, MOST, ONE_TENSOR, PREFIX, schemes_of
from normviz.ui import custom
from normviz.ui.choice import choose_several
from normviz.ui.custom import MAX_RADIUS
from normviz.ui.link import KEPT, View, value_slider
from normviz.ui.scheme import EPS_STEPS, group_options, grouped
from normviz.ui.tensor import COLOURS, colours, lengths, shape_of
from normviz.ui.tensor_controls import data_controls, shape_controls
from normviz.web.components.picked import picked


def controls(view: View) -> None:
    """Schemes, their parameters, shape and data, in the sidebar."""
    with st.sidebar:
        choose_several(PREFIX + "schemes", KEYS, MOST)
        if "custom" in view["schemes"]:
            custom.controls(view, lengths)
        kinds = {kind for key in view["schemes"] if key != "custom" for kind in SCHEMES[key].parameters}
        if "groups" in kinds:
            cut = ", ".join(f"{axis} = {n}" for axis, n in grouped(view).items())
            st.selectbox(f"Groups G (divisors of {cut})", group_options(view), key="groups", **KEPT)
        if "window" in kinds:
            st.slider("Radius R of the windows", 0, MAX_RADIUS, key="radius", **KEPT)
        value_slider("eps", "ε (smoothing term)", EPS_STEPS, view["eps"])
        st.divider()
        shape_controls(view, SCHEMES["batch"], ONE_TENSOR)
        st.divider()
        data_controls(view)
        st.segmented_control(
            "Colour by", colours(False), key="colour", **KEPT, required=True, format_func=COLOURS.__getitem__
        )
    names = ", ".join(scheme.label for scheme in schemes_of(view))
    picked(f"{names or 'No scheme'} on {format_shape(shape_of(view))}")
