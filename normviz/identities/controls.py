"""The identities page's controls: shape, data and ε."""

import streamlit as st

from normviz.core.fields import AXES, AXIS, MAX_ELEMENTS, Shape
from normviz.data.samples import SAMPLES
from normviz.identities.state import PARAMS
from normviz.ui.link import KEPT, View, value_slider
from normviz.ui.scheme import EPS_STEPS
from normviz.ui.tensor import OWN_DATA, SIZES, fit


def controls(view: View) -> None:
    """Shape, data and ε, in the sidebar."""
    names = {key: sample.name for key, sample in SAMPLES.items()}
    own = view["data"] == OWN_DATA
    if own or "own" in st.session_state:
        names[OWN_DATA] = "Your own file"
    with st.sidebar:
        columns = st.columns(2)
        for number, (size, axis) in enumerate(zip(SIZES, AXES["activation"], strict=True)):
            label = f"{axis} ({AXIS[axis].many})"
            columns[number % 2].number_input(label, 1, MAX_ELEMENTS, key=size, **KEPT, disabled=own)
        st.selectbox("Data", list(names), key="data", **KEPT, format_func=names.__getitem__, on_change=_take_shape)
        if own:
            st.caption(st.session_state.get("own name", "Uneven noise, until a file is in the tensor lab."))
        else:
            st.number_input("Seed", 0, 9999, key="seed", **KEPT)
        value_slider("eps", "ε (smoothing term)", EPS_STEPS, view["eps"], "{:.3g}".format)


def _take_shape() -> None:
    """One's own data bring their shape along."""
    if st.session_state["data"] == OWN_DATA:
        st.session_state.update(
            zip(SIZES, fit({key: st.session_state[key] for key in (*SIZES, "data")}).values(), strict=True)
        )


def use_shape(shape: Shape) -> None:
    """Go to another shape; one's own data cannot be cut to it."""
    st.session_state.update(zip(SIZES, shape, strict=True))
    if st.session_state["data"] == OWN_DATA:
        st.session_state["data"] = next(param.default for param in PARAMS if param.key == "data")
