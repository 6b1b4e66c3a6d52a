"""Which normalizations are the same: every claim measured on one's own tensor, and any two schemes compared."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_ELEMENTS, check_shape
from normviz.identities import panels as page
from normviz.lab import controls as lab_controls
from normviz.lab import state as lab
from normviz.ui.link import View, current_theme, opened


def show(view: View, theme: str) -> None:
    """The claims, and two schemes of one's own."""
    try:
        check_shape(lab.shape_of(view), limit=MAX_ELEMENTS)
        x = lab.tensor(view)
    except InvalidInput as error:
        st.error(str(error))
        lab_controls.offer_fit(view)
        return
    page.panel(view, x, theme)


with opened("identities", page.PARAMS, page.has, page.TITLE, lab.fit) as view:
    page.controls(view)
with st.container():
    show(view, current_theme())
