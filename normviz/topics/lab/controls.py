"""Controls of the tensor lab. Every widget's key is that of a value in `lab.state.PARAMS`, which it shows and sets."""

from functools import partial

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.charts.colourings import format_colouring_name, list_colourings
from normviz.core.registry import Scheme
from normviz.describe.wording import format_scheme_label, format_shape
from normviz.topics.lab.state import COMPUTED_PARAMS, affects_scheme, get_cube_view, has_advanced_changes, has_affine
from normviz.ui import custom, tensor_controls
from normviz.ui.expandable import draw_expandable, open_expandable
from normviz.ui.link import View, draw_segments, is_phone
from normviz.ui.locks import make_widget_arguments, set_widget_value
from normviz.ui.scheme_picker import choose_scheme
from normviz.ui.tensor import OWN_DATA, VIEW_NAMES, get_view_lengths, get_view_shape
from normviz.web.components.picked import show_choice_bar

LOOK, ADVANCED_EXPANDER = "look menu", "advanced"
"""Keys of the menu over the cube and of "Advanced"."""


def draw_controls(view: View, scheme: Scheme, first: DeltaGenerator, rest: DeltaGenerator) -> None:
    """Draw the controls of shape and scheme in container `first`, and all others in container `rest`."""
    with first:
        tensor_controls.draw_shape_controls(view, scheme, COMPUTED_PARAMS)
        choose_scheme()
        tensor_controls.draw_main_parameters(view, partial(affects_scheme, scheme))
    with rest:
        tensor_controls.draw_data_controls(view, has_seed=False)
        state, sets = st.session_state, has_advanced_changes(view)
        if sets and not state.get("advanced set"):
            open_expandable(ADVANCED_EXPANDER)
        state["advanced set"] = sets
        place = draw_expandable(st.expander, "Advanced", ADVANCED_EXPANDER)
        if place.open:
            with place:
                _draw_advanced_controls(view, scheme)
    if not is_phone():  # there, the controls stand above the cube
        show_choice_bar(f"{format_scheme_label(scheme)} on {format_shape(get_view_shape(view))}")


def draw_picture_controls(view: View, scheme: Scheme) -> None:
    """Draw the controls of the cube's colours and view, in a menu over the cube."""
    set_widget_value("view shown", get_cube_view(view, scheme))
    place = draw_expandable(st.popover, "Colours and view", LOOK, type="tertiary")
    if not place.open:
        return
    with place:
        colours = {name: format_colouring_name(name, scheme) for name in list_colourings(has_affine(scheme))}
        draw_segments("colour", "Colour by", colours, is_labelled=True)
        st.segmented_control(
            "View", VIEW_NAMES, key="view shown", required=True, format_func=VIEW_NAMES.__getitem__,
            on_change=lambda: st.session_state.update(view=st.session_state["view shown"]),
        )  # fmt: skip


def _draw_advanced_controls(view: View, scheme: Scheme) -> None:
    custom.draw_custom_controls([scheme.key], view, get_view_lengths)
    if affects_scheme(scheme, "radius"):
        tensor_controls.draw_mean_window_controls(["H", "W", "C"])
    if affects_scheme(scheme, "eps"):
        tensor_controls.draw_eps_control(view)
    labels = {"gain": f"{scheme.gain_symbol} (gain)", "bias": "β (bias)", "threshold": "τ (threshold)"}
    learned = [name for name in labels if affects_scheme(scheme, name)]
    with st.container(key="learned"):
        for name in learned:
            st.number_input(labels[name], -10.0, 10.0, step=0.1, **make_widget_arguments(name))
    if view["data"] != OWN_DATA:
        tensor_controls.draw_seed_control()
