"""The controls of the page on design."""

import streamlit as st

from normviz.core.text import sentence
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.lattice_words import SIGNS
from normviz.design.state import DEMANDS, PREFIX, SHOWN, Page, has
from normviz.ui.link import KEPT, View, segments
from normviz.ui.settings import Controls


def choose() -> None:
    """Draw the choice of the panel."""
    segments(PREFIX + "show", "Show", SHOWN)


def controls(view: View) -> None:
    """Everything in the sidebar that means something to what is shown."""
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        page.draw("layer")
        if has(view, "conditions"):
            _demands(page)
        page.draw("weights", "scheme", "function", "alpha", "delta", "seed")


def _demands(page: Controls) -> None:
    """Draw a menu for each of the six changes, and the conditions."""
    for key, change in TRANSFORMATIONS.items():
        st.selectbox(
            f"{sentence(change.name)}: {SIGNS[key]}", list(DEMANDS), key=PREFIX + key,
            format_func=DEMANDS.__getitem__, on_change=show_first_page, **KEPT,
        )  # fmt: skip
    page.draw("conditions")


def show_first_page() -> None:
    """Show the beginning of the list of schemes."""
    st.session_state[PREFIX + "page"] = 1
