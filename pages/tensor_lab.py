"""The tensor lab: a tensor as a cube, a scheme, and what it computes."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_ELEMENTS, check_shape
from normviz.core.normalize import normalize
from normviz.lab import controls as lab_controls
from normviz.lab import panels as lab_panels
from normviz.lab import state as lab
from normviz.lab.picture import cube_picture
from normviz.ui.link import current_theme, opened

with opened("lab", lab.PARAMS, lambda view, name: lab.has(lab.scheme_of(view), name), repair=lab.fit) as view:
    scheme = lab.scheme_of(view)
    lab_controls.controls(view, scheme)

focus, theme = view["focus"], current_theme()
eps, (gain, bias) = lab.eps_of(view, scheme), lab.affine_of(view, scheme)
left, right = st.columns([3, 2], gap="medium")
with left:
    lab_controls.picture_controls()
    try:
        check_shape(lab.shape_of(view), scheme.axes, MAX_ELEMENTS)
        x = lab.tensor(view)
        result = normalize(x, scheme, eps, gain, bias)
    except InvalidInput as error:
        st.error(str(error))
        lab_controls.offer_fit(view)
        st.stop()
    with st.container():
        lab_panels.not_finite(scheme, x, result)
    cube_picture(view, scheme, x, result, theme)
with right:
    lab_panels.headline(scheme, x, focus)
    lab_controls.focus_controls(view, scheme)
    lab_panels.live_formula(scheme, x, result, focus, eps, gain, bias)

panels = {
    "Statistics": lambda: lab_panels.statistics(scheme, x, result, focus, theme),
    "Distribution": lambda: lab_panels.distribution(scheme, x, result, focus, theme),
    "Response": lambda: lab_panels.response_curves(scheme, x, focus, eps, theme),
    "Picture": lambda: lab_panels.picture(scheme, x, result, focus, theme),
    "Formula": lambda: lab_panels.formula(scheme),
    "Parameters and state": lambda: lab_panels.parameters(scheme, x),
    "Code": lambda: lab_panels.code(scheme, x, eps, gain, bias, view),
}
for tab, panel in zip(st.tabs(list(panels), key="tab", on_change="rerun"), panels.values(), strict=True):
    if tab.open:
        with tab:
            panel()
