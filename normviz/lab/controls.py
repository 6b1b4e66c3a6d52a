"""The tensor lab's controls. Every widget's key is that of a value in `lab.state.PARAMS`, which it shows and sets."""

import streamlit as st

from normviz.core.fields import AXIS
from normviz.core.schemes import SCHEMES, Scheme
from normviz.lab.state import has
from normviz.ui import custom
from normviz.ui.link import KEPT, View, value_slider
from normviz.ui.scheme import EPS_STEPS, group_options, grouped
from normviz.ui.tensor import COLOURS, lengths, shape_of
from normviz.ui.tensor_controls import data_controls, shape_controls, window_controls

VIEW_NAMES = {"folded": "Folded", "unfolded": "Unfolded"}


def controls(view: View, scheme: Scheme) -> None:
    """Scheme, parameters, shape and data, in the sidebar."""
    with st.sidebar:
        st.pills(
            "Scheme", list(SCHEMES), key="scheme", **KEPT, required=True, format_func=lambda key: SCHEMES[key].label
        )
        _parameters(view, scheme)
        st.divider()
        shape_controls(view, scheme)
        st.divider()
        data_controls(view)


def picture_controls() -> None:
    """How the cube is drawn; above it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control(
            "Colour by", list(COLOURS), key="colour", **KEPT, required=True, format_func=COLOURS.__getitem__
        )
        st.segmented_control(
            "View", list(VIEW_NAMES), key="view", **KEPT, required=True, format_func=VIEW_NAMES.__getitem__
        )


def focus_controls(view: View, scheme: Scheme) -> None:
    """The locked element's indices, one number each."""
    shape = shape_of(view)
    for axis, (column, name) in enumerate(zip(st.columns(4), scheme.axes, strict=True)):
        key = f"focus {axis}"
        st.session_state[key] = view["focus"][axis]
        column.number_input(AXIS[name].letter, 0, shape[axis] - 1, key=key, on_change=_focus_from_numbers)


def focus_from_cube() -> None:
    """Take over the element that was locked in the cube."""
    st.session_state["focus"] = tuple(map(int, st.session_state["cube plot"]["focus"]))


def _focus_from_numbers() -> None:
    st.session_state["focus"] = tuple(st.session_state[f"focus {axis}"] for axis in range(4))


def _parameters(view: View, scheme: Scheme) -> None:
    """Only those that the scheme has."""
    if scheme.key == "custom":
        custom.controls(view, lengths)
    if has(scheme, "groups"):
        cut = ", ".join(f"{axis} = {n}" for axis, n in grouped(view).items())
        st.selectbox(f"Groups G (divisors of {cut})", group_options(view), key="groups", **KEPT)
    if has(scheme, "radius"):
        window_controls(["H", "W", "C"])
    if has(scheme, "eps"):
        value_slider("eps", "ε (smoothing term)", EPS_STEPS, view["eps"], "{:.3g}".format)
    if has(scheme, "gain"):
        columns = st.columns(2)
        columns[0].number_input("γ (gain)", -10.0, 10.0, step=0.1, key="gain", **KEPT)
        if has(scheme, "bias"):
            columns[1].number_input("β (bias)", -10.0, 10.0, step=0.1, key="bias", **KEPT)
