"""The controls of the page "Why normalize"."""

import streamlit as st

from normviz.topics.why.saturation import SEEDS
from normviz.topics.why.state import PREFIX, Page, is_relevant
from normviz.ui.link import View
from normviz.ui.settings import Controls

SEED_LIMIT = 10_000
"""Seeds are below this."""

PAGE_CONTROLS = {
    "learning": ("rate", "start"),
    "saturation": ("rate", "start", "layer"),
    "whitening": ("stage",),
    "identity": ("part",),
}
"""Values whose controls stand beside the charts that they change, by panel."""


def controls(view: View) -> None:
    """Draw the controls of the open panel in the sidebar, except those that stand in the page."""
    page = Controls(Page, PREFIX, view, is_relevant)
    with st.sidebar:
        page.draw_rest(*PAGE_CONTROLS.get(view["show"], ()), "seed")
        if view["show"] != "learning":  # there, a button takes other seeds
            page.draw("seed")


def draw_retrain_button() -> None:
    """Draw the button that trains the networks of the learning panel again, from new seeds."""
    st.button("Train again from other weights", icon=":material/replay:", on_click=_take_next_seeds)


def _take_next_seeds() -> None:
    key = PREFIX + "seed"
    st.session_state[key] = (st.session_state[key] + SEEDS) % SEED_LIMIT


def draw_page_controls(view: View) -> None:
    """Draw the controls of the open panel that stand in the page, beside each other."""
    page = Controls(Page, PREFIX, view, is_relevant)
    names = PAGE_CONTROLS[view["show"]]
    for column, name in zip(st.columns(max(len(names), 2)), names, strict=False):
        with column:
            page.draw(name)
