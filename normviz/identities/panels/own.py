"""Two schemes of one's own, and whether they are equal: by their fields, and on random tensors."""

import numpy as np
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.equality import WORK, Comparison, compare
from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape
from normviz.core.schemes import Scheme, same_as
from normviz.core.text import measured
from normviz.describe.wording import gap_text, named, plural, sentence
from normviz.identities.furthest import difference_map, place, shares
from normviz.identities.state import FIELD_LABELS, HOW, KNOWN, PREFIX, SIDES, field_texts, scheme_of
from normviz.ui.choice import words
from normviz.ui.frame import show_error
from normviz.ui.link import KEPT, View


def own_two(view: View, x: np.ndarray, theme: str) -> None:
    """Show two schemes side by side, and whether they are equal on the shape of x."""
    shape = x.shape
    columns = st.columns(len(SIDES), gap="large")
    left, right = (_chosen(view, side, shape, column) for side, column in zip(SIDES, columns, strict=True))
    with st.container():
        if left is not None and right is not None:
            _verdict(left, right, shape, view, theme)


def _chosen(view: View, side: str, shape: Shape, column: DeltaGenerator) -> Scheme | None:
    """The controls of one side, and what they say; None where that is no scheme on this shape."""
    with column:
        try:
            scheme, error = scheme_of(view, side), ""
            scheme.check(shape, WORK)
        except InvalidInput as wrong:
            scheme, error = None, str(wrong)
        key, now = f"{PREFIX}{side} known", {name: view[f"{side}_{name}"] for name in FIELD_LABELS}
        matching = [name for name, row in KNOWN.items() if field_texts(row) == now]
        if st.session_state.get(key) not in matching:
            st.session_state[key] = matching[-1] if matching else None  # instance, rather than its other name
        st.selectbox(
            sentence(side),
            list(KNOWN),
            key=key,
            format_func=words,
            placeholder="typed below",
            on_change=_fill,
            args=(side,),
        )
        for name, label in FIELD_LABELS.items():
            st.text_input(label, key=f"{PREFIX}{side}_{name}", **KEPT, placeholder="no such step", help=HOW)
        with st.container():
            if scheme is None:
                show_error(sentence(error))
                return None
            same = [named(row) for row in same_as(scheme, shape)]
            st.caption(f"On this shape: {', '.join(same)}." if same else "No scheme that has a name.")
    return scheme


def _fill(side: str) -> None:
    """Write a known scheme's fields into the text fields."""
    chosen = st.session_state[f"{PREFIX}{side} known"]
    if chosen is not None:
        st.session_state.update({f"{PREFIX}{side}_{name}": text for name, text in field_texts(KNOWN[chosen]).items()})


@st.cache_data(max_entries=16, show_spinner=False)
def _compare(left: Scheme, right: Scheme, shape: Shape, eps: float, seed: int) -> Comparison:
    return compare(left, right, shape, eps, seed)


def _verdict(left: Scheme, right: Scheme, shape: Shape, view: View, theme: str) -> None:
    try:
        found = _compare(left, right, shape, view["eps"], view["seed"])
    except InvalidInput as error:
        show_error(sentence(str(error)))
        return
    found_text = f"The largest residual on {plural(found.draws, 'random tensor')} is {gap_text(found.worst.residual)}."
    if found.equal:
        st.success(f"**They are the same on this shape.** {_why_equal(found)} {found_text}", icon=":material/check:")
    else:
        worst = found.worst
        st.info(
            f"**They differ.** {found_text}  \nA counter-example: x = {measured(found.x[worst.index])} at "
            f"{place(left, worst.index)} becomes {measured(worst.left)} on the left and {measured(worst.right)} on the "
            "right.",
            icon=":material/close:",
        )
        columns = st.columns(2, gap="large")
        for column, side, scheme in zip(columns, SIDES, (left, right), strict=True):
            column.markdown(f"**{sentence(side)}.** {shares(scheme, worst.index, shape)}")
        difference_map(found.left, found.right, worst.index, left, "own map", theme)


def _why_equal(found: Comparison) -> str:
    if found.same_fields:
        return "Every statistic of an element is taken over it and the same others."
    if not np.any(found.left):
        return "Every element is its own mean, and 0 is left of it."
    return "Of two elements with one mean, each is as far from it as the other, whether one of them divides or both."
