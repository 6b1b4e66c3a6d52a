"""The controls of the page "Step size"."""

import streamlit as st

from normviz.core.settings import get_declarations
from normviz.topics.geometry.state import PREFIX, Page, is_relevant
from normviz.topics.geometry.three_channels import ThreeChannelExample
from normviz.ui.link import View
from normviz.ui.settings import Controls


def draw_controls(view: View) -> None:
    """Draw the controls of the open panel in the sidebar; the panel on vectors has its own beside its figure."""
    page = Controls(Page, PREFIX, view, is_relevant)
    with st.sidebar:
        page.draw_rest("seed", *get_declarations(ThreeChannelExample))
        page.draw("seed")
