"""Which layer norm? Three readings side by side, who uses which, and a detector that tells them by their numbers."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, check_shape
from normviz.core.normalize import normalize
from normviz.readings import state
from normviz.readings.controls import controls
from normviz.readings.panels.detecting import detector
from normviz.readings.panels.side import LIMIT, SCHEMES_SHOWN, absorbed, code, readings, uses
from normviz.ui.frame import show_error
from normviz.ui.link import View, current_theme, opened
from normviz.ui.tensor import fit, shape_of, tensor
from normviz.ui.tensor_controls import offer_fit
from normviz.ui.turns import in_turn


def side_by_side(view: View, theme: str) -> None:
    """The cubes, or why there are none."""
    try:
        check_shape(shape_of(view), AXES["activation"], LIMIT)
        x = tensor(view)
        results = [normalize(x, scheme, view["eps"]) for scheme in SCHEMES_SHOWN]
    except InvalidInput as error:
        show_error(error)
        offer_fit(view, LIMIT)
        return
    with in_turn(x.size * len(SCHEMES_SHOWN)):
        readings(view, x, results, theme)


with opened(state.PAGE, state.PARAMS, state.has, fit) as view:
    controls(view)
with st.container():
    side_by_side(view, current_theme())
st.markdown("## Who uses which")
uses()
st.markdown("## What each absorbs")
absorbed()
st.markdown("## How to get it")
with st.container():
    code(view)
st.markdown("## Which one was it?\nGive the input and the output of a layer: its numbers tell which reading it was.")
with st.container():
    detector(view)
