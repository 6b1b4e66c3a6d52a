"""The tensor lab: a tensor as a cube, a scheme, and what it computes."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_ELEMENTS, check_shape
from normviz.core.normalize import normalize
from normviz.lab import controls, panels, state
from normviz.lab.picture import cube_picture
from normviz.ui.link import current_theme, opened
from normviz.ui.scheme import eps_of, scheme_of
from normviz.ui.tensor import fit, shape_of, tensor
from normviz.ui.tensor_controls import offer_fit
from normviz.ui.turns import in_turn

with opened("lab", state.PARAMS, lambda view, name: state.has(scheme_of(view), name), repair=fit) as view:
    scheme = scheme_of(view)
    controls.controls(view, scheme)

focus, theme = view["focus"], current_theme()
eps, (gain, bias) = eps_of(view, scheme), state.affine_of(view, scheme)
left, right = st.columns([3, 2], gap="medium")
with left:
    controls.picture_controls()
    try:
        check_shape(shape_of(view), scheme.axes, MAX_ELEMENTS)
        x = tensor(view)
        result = normalize(x, scheme, eps, gain, bias)
    except InvalidInput as error:
        st.error(str(error))
        offer_fit(view)
        st.stop()
    with st.container():
        panels.not_finite(scheme, x, result)
    with in_turn(x.size):
        cube_picture(view, scheme, x, result, theme)
with right:
    panels.headline(scheme, x, focus)
    controls.focus_controls(view, scheme)
    panels.live_formula(scheme, x, result, focus, eps, gain, bias)

tabs = {
    "Statistics": lambda: panels.statistics(scheme, x, result, focus, theme),
    "Distribution": lambda: panels.distribution(scheme, x, result, focus, theme),
    "Response": lambda: panels.response_curves(scheme, x, focus, eps, theme),
    "Picture": lambda: panels.picture(scheme, x, result, focus, theme),
    "Formula": lambda: panels.formula(scheme),
    "Parameters and state": lambda: panels.parameters(scheme, x),
    "Code": lambda: panels.code(scheme, x, eps, gain, bias, view),
}
for tab, panel in zip(st.tabs(list(tabs), key="tab", on_change="rerun"), tabs.values(), strict=True):
    if tab.open:
        with tab:
            panel()
