"""The controls of the page "Weight normalization". Every widget's key is a value in `state.PARAMS`."""

import streamlit as st

from normviz.topics.weights.state import PREFIX, SHOWN, Page, is_relevant
from normviz.ui.link import View, draw_segments
from normviz.ui.player import stop_playing
from normviz.ui.settings import Controls


def draw_panel_choice() -> None:
    """Draw the choice of the panel."""
    draw_segments(PREFIX + "show", "Show", SHOWN, on_change=stop_playing, args=(PREFIX,))


def controls(view: View) -> None:
    """Draw the controls of the open panel in the sidebar."""
    page = Controls(Page, PREFIX, view, is_relevant)
    with st.sidebar:
        page.draw("length", "start", "layer")
        with st.expander("Advanced"):
            page.rest()
