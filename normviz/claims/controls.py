"""The controls of the page on claims, in the sidebar."""

import streamlit as st

from normviz.claims.state import PREFIX, Page
from normviz.ui.link import View
from normviz.ui.settings import Controls


def controls(view: View) -> None:
    """Draw the filters by verdict, topic and source, and the seed of the measurements."""
    with st.sidebar:
        Controls(Page, PREFIX, view).draw("verdict", "topic", "source", "seed")
