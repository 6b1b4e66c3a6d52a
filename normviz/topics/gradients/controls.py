"""The controls of the page "Gradients". Every widget's key is a value in `gradients.state.PARAMS`."""

from functools import partial

import streamlit as st

from normviz.core.registry import Scheme
from normviz.describe import wording
from normviz.topics.gradients.state import (
    MAX_NUMBERS,
    MAX_TENSOR_LENGTHS,
    PREFIX,
    Page,
    get_page_scheme,
    get_tensor_shape,
    is_relevant,
)
from normviz.ui import custom
from normviz.ui.link import View
from normviz.ui.locks import make_widget_arguments
from normviz.ui.scheme_picker import choose_scheme
from normviz.ui.settings import Controls
from normviz.ui.tensor import SIZE_NAMES, get_view_lengths
from normviz.ui.tensor_controls import draw_eps_control, draw_main_parameters, draw_mean_window_controls


def draw_controls(view: View) -> None:
    """Draw the controls of the open panel of the page "Gradients" in the sidebar."""
    page = Controls(Page, PREFIX, view, is_relevant)
    with st.sidebar:
        if is_relevant(view, "scheme"):
            scheme = get_page_scheme(view)
            choose_scheme(PREFIX + "scheme")
            _draw_parameters(view, scheme)
        if is_relevant(view, "x"):
            st.text_input(
                f"x: 2 to {MAX_NUMBERS} numbers", **make_widget_arguments(PREFIX + "x"), help="Separated by commas."
            )
        page.draw("centred", "norm", "layout", "parts")
        with st.expander("Advanced"):
            if is_relevant(view, "eps"):
                draw_eps_control(view, PREFIX)
            if is_relevant(view, "x"):
                st.text_input(
                    "∂L/∂x̂: a number for each x", **make_widget_arguments(PREFIX + "dy"), help="From the network."
                )
            if is_relevant(view, "n"):
                _draw_length_inputs(view, get_page_scheme(view))
            page.draw_rest()


def _draw_parameters(view: View, scheme: Scheme) -> None:
    """Draw the controls of the scheme's own parameters, such as groups or a window's radius, except ε."""
    custom.draw_custom_controls([scheme.key], view, get_view_lengths, PREFIX)
    draw_main_parameters(view, partial(is_relevant, view), PREFIX)
    if is_relevant(view, "radius"):
        draw_mean_window_controls(["H", "W", "C"], PREFIX)


def _draw_length_inputs(view: View, scheme: Scheme) -> None:
    """Draw number inputs for the lengths of the small tensor's axes."""
    columns = st.columns(2)
    called = wording.name_axes(scheme.axes, get_tensor_shape(view))
    for number, (size, name, axis) in enumerate(zip(SIZE_NAMES, scheme.axes, called, strict=True)):
        label = f"{name} ({axis.many})"
        columns[number % 2].number_input(label, 1, MAX_TENSOR_LENGTHS[size], **make_widget_arguments(PREFIX + size))
