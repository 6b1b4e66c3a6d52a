"""The weights page's controls. Every widget's key is that of a value in `weights.PARAMS`, which it shows and sets."""

import streamlit as st

from normviz.ui.link import View, segments
from normviz.ui.player import stop
from normviz.ui.settings import Controls
from normviz.weights.state import PREFIX, SHOWN, Page, has
from normviz.weights.weights import FIRST_LAYERS


def choose() -> None:
    """Which scheme the page is about."""
    segments(PREFIX + "show", "Show", SHOWN, on_change=stop, args=(PREFIX,))


def controls(view: View) -> None:
    """Everything in the sidebar that means something to what is shown."""
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        page.draw("inputs", "rate", "batch", "start", "layer")
        if has(view, "layer"):
            st.caption(FIRST_LAYERS[view["layer"]].about)
        page.draw("trained", "relu", "torch")
        page.rest()
