"""The controls of the page "Weight normalization". Every widget's key is a value in `state.PARAMS`."""

import streamlit as st

from normviz.topics.weights.state import PREFIX, Page, is_relevant
from normviz.ui.link import View
from normviz.ui.settings import Controls


def draw_controls(view: View) -> None:
    """Draw the controls of the open panel in the sidebar."""
    page = Controls(Page, PREFIX, view, is_relevant)
    with st.sidebar:
        page.draw("start", "length", "layer")
        with st.expander("Advanced"):
            page.draw_rest()
