"""Several schemes on one tensor: cubes in a row, and what tells them apart."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.core.normalize import normalize
from normviz.topics.compare import state
from normviz.topics.compare.controls import controls
from normviz.topics.compare.panels import picture, table
from normviz.ui.frame import show_error
from normviz.ui.large_pictures import in_turn
from normviz.ui.link import current_theme, page_values
from normviz.ui.scheme import eps_of
from normviz.ui.tensor import fit, shape_of, tensor
from normviz.ui.tensor_controls import offer_fit

with page_values(state.PAGE, state.PARAMS, state.is_relevant, fit) as view:
    controls(view)

schemes = state.schemes_of(view)
limit = MAX_DRAWN_ELEMENTS // max(len(schemes), 1)
try:
    if not state.FEWEST <= len(schemes) <= state.MOST:
        raise InvalidInput(f"{len(schemes)} schemes are chosen; {state.FEWEST} to {state.MOST} fit side by side.")
    check_shape(shape_of(view), AXES["activation"], limit)
    x = tensor(view)
    results = [normalize(x, scheme, eps_of(view, scheme)) for scheme in schemes]
except InvalidInput as error:
    show_error(error)
    offer_fit(view, limit)
    st.stop()
with in_turn(x.size * len(schemes)):
    picture(view, schemes, x, results, current_theme())
table(view, schemes, x, results)
