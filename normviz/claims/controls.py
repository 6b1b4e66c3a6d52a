"""The controls of the page on claims: filters above what is shown, and the first seed in the sidebar."""

import streamlit as st

from normviz.claims.state import PREFIX, Page
from normviz.ui.link import View
from normviz.ui.settings import Controls


def seed(view: View) -> None:
    """What every measurement starts from."""
    with st.sidebar:
        Controls(Page, PREFIX, view).draw("seed")


def filters(view: View) -> None:
    """By topic, by source and by verdict."""
    page = Controls(Page, PREFIX, view)
    for column, name in zip(st.columns(2), ("topic", "source"), strict=True):
        with column:
            page.draw(name)
    page.draw("verdict")
