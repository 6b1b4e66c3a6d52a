"""Compare: several schemes on one tensor, as cubes in a row, and their differences."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.core.normalize import normalize
from normviz.topics.compare import state
from normviz.topics.compare.controls import draw_controls
from normviz.topics.compare.panels import show_compared_cubes, show_comparison_table
from normviz.ui.frame import show_error
from normviz.ui.large_pictures import wait_for_turn
from normviz.ui.link import get_current_theme, sync_page_values
from normviz.ui.scheme import build_schemes, get_effective_eps
from normviz.ui.tensor import fit_shape, get_view_shape, make_tensor
from normviz.ui.tensor_controls import draw_fit_button

with sync_page_values(state.PAGE, state.PARAMS, state.is_relevant, fit_shape) as view:
    draw_controls(view)

schemes = build_schemes(view)
limit = MAX_DRAWN_ELEMENTS // max(len(schemes), 1)
try:
    if not state.FEWEST <= len(schemes) <= state.MOST:
        raise InvalidInput(f"{len(schemes)} schemes are chosen; {state.FEWEST} to {state.MOST} fit side by side.")
    check_shape(get_view_shape(view), AXES["activation"], limit)
    x = make_tensor(view)
    results = [normalize(x, scheme, get_effective_eps(view, scheme)) for scheme in schemes]
except InvalidInput as error:
    show_error(error)
    draw_fit_button(view, limit)
    st.stop()
with wait_for_turn(x.size * len(schemes)):
    show_compared_cubes(view, schemes, x, results, get_current_theme())
show_comparison_table(view, schemes, x, results)
