"""The controls of the page on design."""

import streamlit as st

from normviz.design.state import PREFIX, SHOWN, Page, has
from normviz.ui.link import View, segments
from normviz.ui.settings import Controls


def choose() -> None:
    """What the page shows."""
    segments(PREFIX + "show", "Show", SHOWN)


def controls(view: View) -> None:
    """Everything in the sidebar that means something to what is shown."""
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        page.draw("layer", "weights")
        page.draw("scheme", "function", "alpha", "delta", "seed")
