"""The controls of the page on why."""

import streamlit as st

from normviz.ui.link import View, segments
from normviz.ui.settings import Controls
from normviz.why.state import PREFIX, SHOWN, Page, has

IN_THE_PAGE = ("stage", "part", "swept")
"""Values whose controls stand beside what they change."""


def choose() -> None:
    """What the page shows."""
    segments(PREFIX + "show", "Show", SHOWN)


def controls(view: View) -> None:
    """Everything in the sidebar that means something to what is shown."""
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        page.rest(*IN_THE_PAGE, "seed")
        page.draw("seed")
