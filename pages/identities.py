"""Which normalizations are the same: every claim measured on one's own tensor, and any two schemes compared."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_ELEMENTS, check_shape
from normviz.identities import state
from normviz.identities.controls import controls
from normviz.identities.panels import panel
from normviz.ui.frame import show_error
from normviz.ui.link import View, current_theme, opened
from normviz.ui.tensor import fit, shape_of, tensor
from normviz.ui.tensor_controls import offer_fit


def show(view: View, theme: str) -> None:
    """The claims, and two schemes of one's own."""
    try:
        check_shape(shape_of(view), limit=MAX_ELEMENTS)
        x = tensor(view)
    except InvalidInput as error:
        show_error(error)
        offer_fit(view)
        return
    panel(view, x, theme)


with opened(state.PAGE, state.PARAMS, state.has, fit) as view:
    controls(view)
with st.container():
    show(view, current_theme())
