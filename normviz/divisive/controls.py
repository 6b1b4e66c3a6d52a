"""The divisive page's controls. Every widget's key is that of a value in `divisive.state.PARAMS`."""

import streamlit as st

from normviz.core.fields import AXES, Index
from normviz.divisive.state import FOCUS, LIGHTS, NAMES, PREFIX, has, shape_of, wide
from normviz.ui.link import KEPT, View, value_slider
from normviz.ui.scheme import EPS_STEPS
from normviz.ui.tensor import OWN_DATA
from normviz.ui.tensor_controls import own_file, window_controls


def controls(view: View) -> None:
    """Everything in the sidebar."""
    with st.sidebar:
        value_slider(PREFIX + "light", "Light at the right edge", LIGHTS, view["light"])
        value_slider(PREFIX + "eps", "ε (smoothing term)", EPS_STEPS, view["eps"])
        if axes := wide(view):
            window_controls(axes, PREFIX)
        st.divider()
        st.selectbox("Data", list(NAMES), key=PREFIX + "data", **KEPT, format_func=NAMES.__getitem__)
        if view["data"] == OWN_DATA:
            own_file("A photograph is")
        st.number_input("Seed", 0, 9999, key=PREFIX + "seed", **KEPT)


def focus_controls(view: View, focus: Index) -> None:
    """The indices of the chosen element; an empty one says what it stands for."""
    numbers = dict(zip(AXES["activation"], zip(focus, shape_of(view), strict=True), strict=True))
    shown = {name: numbers[axis] for name, axis in FOCUS.items() if has(view, name)}
    for column, (name, (index, n)) in zip(st.columns(len(FOCUS)), shown.items(), strict=False):
        column.number_input(
            name.capitalize(), 0, n - 1, None, key=PREFIX + name, **KEPT, placeholder=f"{index} (the largest v)"
        )
