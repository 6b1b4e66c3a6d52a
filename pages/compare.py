"""Several schemes on one tensor: cubes in a row, and what tells them apart."""

import streamlit as st

from normviz.compare import panels as compare
from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, MAX_ELEMENTS, check_shape
from normviz.core.normalize import normalize
from normviz.lab import state as lab
from normviz.lab.controls import offer_fit
from normviz.ui.link import current_theme, opened

with opened("compare", compare.PARAMS, compare.has, compare.TITLE, lab.fit) as view:
    compare.controls(view)

schemes = compare.schemes_of(view)
limit = MAX_ELEMENTS // max(len(schemes), 1)
try:
    if not compare.FEWEST <= len(schemes) <= compare.MOST:
        raise InvalidInput(f"{len(schemes)} schemes are chosen; {compare.FEWEST} to {compare.MOST} fit side by side.")
    check_shape(lab.shape_of(view), AXES["activation"], limit)
    x = lab.tensor(view)
    results = [normalize(x, scheme, lab.eps_of(view, scheme)) for scheme in schemes]
except InvalidInput as error:
    st.error(str(error))
    offer_fit(view, limit)
    st.stop()
compare.picture(view, schemes, x, results, current_theme())
compare.table(view, schemes, x, results)
