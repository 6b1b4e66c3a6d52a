"""Panel that compares two chosen schemes, by their fields and on random tensors."""

from dataclasses import replace

import numpy as np
import streamlit as st

from normviz.core.equality import MAX_COMPARED_WINDOW_ELEMENTS, SchemeComparison, compare_schemes, compute_xhat
from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape
from normviz.core.registry import Scheme, find_equal_schemes
from normviz.core.text import format_number
from normviz.describe.aims import describe_scope
from normviz.describe.wording import capitalize_first, format_gap, format_scheme_name, pluralize
from normviz.topics.same.scheme_pair import describe_element_position, draw_two_cubes
from normviz.topics.same.state import (
    FIELD_HELP,
    FIELD_LABELS,
    KNOWN_SCHEMES,
    PREFIX,
    SIDES,
    format_field_texts,
    parse_side,
)
from normviz.ui.expandable import draw_expandable, open_expandable
from normviz.ui.frame import show_error
from normviz.ui.link import View
from normviz.ui.locks import make_widget_arguments
from normviz.ui.scheme_picker import format_scheme_choice

TYPED_KEY = PREFIX + "typed"
"""Key of the part in which axes are typed."""


def show_own_pair(view: View, x: np.ndarray, theme: str) -> None:
    """Show two chosen schemes side by side, and whether they are equal on the shape of x."""
    words, cubes = st.columns([4, 5], gap="large")
    with words:
        left, right = (_choose_scheme_of_side(view, side, x.shape) for side in SIDES)
        if left is not None and right is not None:
            _show_comparison(left, right, x.shape, view)
    if left is not None and right is not None:
        xhats = compute_xhat(x, left, view["eps"]), compute_xhat(x, right, view["eps"])
        with cubes:
            draw_two_cubes((left, right), x, xhats, view, theme)
    typed = draw_expandable(st.expander, "Type the axes of both", TYPED_KEY)
    if typed.open:
        for side, column in zip(SIDES, typed.columns(len(SIDES), gap="large"), strict=True):
            for name, label in FIELD_LABELS.items():
                column.text_input(
                    f"{capitalize_first(side)}: {label}", **make_widget_arguments(f"{PREFIX}{side}_{name}"),
                    placeholder="no such step", help=FIELD_HELP,
                )  # fmt: skip


def _choose_scheme_of_side(view: View, side: str, shape: Shape) -> Scheme | None:
    """Show the controls of one side and its error; return its scheme, None if it is invalid on this shape."""
    try:
        scheme, error = parse_side(view, side), ""
        scheme.check(shape, MAX_COMPARED_WINDOW_ELEMENTS)
    except InvalidInput as wrong:
        scheme, error = None, str(wrong)
    key, now = f"{PREFIX}{side} known", {name: view[f"{side}_{name}"] for name in FIELD_LABELS}
    matching = [name for name, row in KNOWN_SCHEMES.items() if format_field_texts(row) == now]
    if not matching and st.session_state.get(key, "") is not None:
        open_expandable(TYPED_KEY)
    if st.session_state.get(key) not in matching:
        st.session_state[key] = matching[-1] if matching else None  # instance, rather than its other name
    st.selectbox(
        capitalize_first(side), list(KNOWN_SCHEMES), key=key, format_func=format_scheme_choice, placeholder="Your own",
        on_change=_fill_text_fields, args=(side,),
    )  # fmt: skip
    with st.container():
        if scheme is None:
            show_error(capitalize_first(error))
        else:
            chosen = st.session_state[key]
            scheme = replace(scheme, label=KNOWN_SCHEMES[chosen].label if chosen else capitalize_first(side))
            same = (
                ", ".join(format_scheme_name(row) for row in find_equal_schemes(scheme, shape))
                or "no scheme that has a name"
            )
            st.markdown(f"{capitalize_first(describe_scope(scheme))}.{'' if chosen else f' On this shape: {same}.'}")
    return scheme


def _fill_text_fields(side: str) -> None:
    """Write the averaging rules of one side's chosen scheme into the text inputs of that side."""
    chosen = st.session_state[f"{PREFIX}{side} known"]
    if chosen is not None:
        st.session_state.update(
            {f"{PREFIX}{side}_{name}": text for name, text in format_field_texts(KNOWN_SCHEMES[chosen]).items()}
        )


compare_cached = st.cache_data(max_entries=16, show_spinner=False)(compare_schemes)


def _show_comparison(left: Scheme, right: Scheme, shape: Shape, view: View) -> None:
    try:
        found = compare_cached(left, right, shape, view["eps"], view["seed"])
    except InvalidInput as error:
        show_error(capitalize_first(str(error)))
        return
    found_text = (
        f"The largest difference on {pluralize(found.draws, 'random tensor')} is {format_gap(found.worst.residual)}, "
        "relative to the largest x̂."
    )
    if found.equal:
        st.success(
            f"**They are the same on this shape.** {_explain_equality(found)} {found_text}", icon=":material/check:"
        )
    else:
        worst = found.worst
        st.info(
            f"**They differ.** {found_text}  \nCounter-example: x = {format_number(found.x[worst.index])} at "
            f"{describe_element_position(left, worst.index)} becomes {format_number(worst.left)} on the left, "
            f"{format_number(worst.right)} on the right.",
            icon=":material/close:",
        )


def _explain_equality(found: SchemeComparison) -> str:
    if found.same_fields:
        return "Every statistic of an element is taken over it and the same others."
    if not np.any(found.left):
        return "Every element is its own mean, and 0 is left of it."
    return "Of two elements with one mean, each is as far from it as the other, whether one of them divides or both."
