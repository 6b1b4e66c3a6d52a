"""The controls of the page on claims, in the sidebar."""

import streamlit as st

from normviz.topics.claims.state import PREFIX, Page
from normviz.ui.link import View
from normviz.ui.settings import Controls


def draw_controls(view: View) -> None:
    """Draw the filter by topic; under "Advanced", the filters by verdict and source, and the seed of measurements."""
    page = Controls(Page, PREFIX, view)
    with st.sidebar:
        page.draw("topic")
        with st.expander("Advanced", bool(view["verdict"]) or view["source"] != Page().source):
            page.draw("verdict", "source", "seed")
