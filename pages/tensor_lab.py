"""Tensor lab: a tensor as a cube, a scheme, and its computation."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_DRAWN_ELEMENTS, check_shape
from normviz.core.normalize import normalize
from normviz.describe.wording import SchemeOnShape
from normviz.topics.lab import controls, panels, state
from normviz.ui.frame import show_error
from normviz.ui.large_pictures import wait_for_turn
from normviz.ui.link import draw_segments, get_current_theme, is_phone, sync_page_values
from normviz.ui.scheme import build_scheme
from normviz.ui.tensor import fit_shape, get_view_shape, is_picture, make_tensor, take_offered_tensor
from normviz.ui.tensor_controls import draw_fit_button
from normviz.web.components.sight import has_been_seen

take_offered_tensor()
above = st.container(key="lab-above")
first = st.container(key="at-hand") if is_phone() else st.sidebar
left, right = st.columns([3, 2], gap="medium")
rest = st.container() if is_phone() else st.sidebar
x = None
with above, sync_page_values("lab", state.PARAMS, state.is_relevant, fit_shape) as view:
    scheme, theme, focus = build_scheme(view), get_current_theme(), view["focus"]
    layer = state.get_layer_scalars(view, scheme)
    with left:
        over = st.container(key="look")
        try:  # the picture before all else: the browser draws it while the rest is on its way
            check_shape(get_view_shape(view), scheme.axes, MAX_DRAWN_ELEMENTS)
            x = make_tensor(view)
            result, bound = normalize(x, scheme, *layer[:3]), SchemeOnShape(scheme, x.shape)
            with wait_for_turn(x.size):
                panels.show_lab_cube(view, bound, x, result, theme)
        except InvalidInput as error:
            show_error(error)
            draw_fit_button(view)
    controls.draw_controls(view, scheme, first, rest)
with over:
    controls.draw_picture_controls(view, scheme)
if x is None:
    st.stop()
with right:
    panels.show_scheme_heading(scheme, x, result, layer.threshold)
    panels.warn_of_non_finite_data(scheme, x, result)
    panels.show_element_panel(view, bound, x, result, layer, theme)

tab_panels = {
    "statistics": lambda: panels.show_lab_statistics(scheme, x, result, view, theme),
    "distribution": lambda: panels.show_lab_distribution(scheme, x, result, focus, theme),
    "response": lambda: panels.show_response_curves(scheme, x, focus, layer.eps, theme),
    "picture": lambda: panels.show_example_pictures(
        scheme, x, result, focus, theme, is_picture(view, x.shape) and x.shape[3] == 3
    ),
    "formula": lambda: panels.show_scheme_formula(scheme),
    "parameters": lambda: panels.show_scheme_parameters(scheme, x),
    "code": lambda: panels.show_scheme_code(scheme, x, layer, view),
}
with st.container(key="below"):
    draw_segments("tab", "Show", state.TABS)
    if view["tab"] != "statistics" or has_been_seen(state.BELOW_KEY):
        tab_panels[view["tab"]]()
