"""The controls of the page on why."""

import streamlit as st

from normviz.ui.link import KEPT, View, segments
from normviz.ui.settings import Controls
from normviz.why.state import MORE, PREFIX, SHOWN, TABS, Page, has

SHOW = PREFIX + "show"
TAB = PREFIX + "tab"
"""Keys in the session of the panel that is shown, and of its tab."""

MENU = 320
"""The width of a menu in the page, in pixels."""

IN_THE_PAGE = {
    "learning": ("rate", "start"),
    "saturation": ("rate", "start", "layer"),
    "whitening": ("stage",),
    "identity": ("part",),
}
"""Values whose controls stand beside what they change, by panel."""


def choose_panel(view: View) -> None:
    """Show the tabs, and in the last one a menu of its panels."""
    shown = view["show"]
    st.session_state[TAB] = "more" if shown in MORE else shown

    def change() -> None:
        tab = st.session_state[TAB]
        st.session_state[SHOW] = MORE[0] if tab == "more" else tab

    segments(TAB, "Panel", TABS, on_change=change)
    if shown in MORE:
        st.selectbox("Topic", MORE, key=SHOW, **KEPT, format_func=SHOWN.__getitem__, width=MENU)


def controls(view: View) -> None:
    """Show the controls of the panel in the sidebar, but for those in the page."""
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        page.rest(*IN_THE_PAGE.get(view["show"], ()), "seed")
        page.draw("seed")


def draw_beside(view: View) -> None:
    """Show the controls of the panel that stand in the page, beside each other."""
    page = Controls(Page, PREFIX, view, has)
    names = IN_THE_PAGE[view["show"]]
    for column, name in zip(st.columns(max(len(names), 2)), names, strict=False):
        with column:
            page.draw(name)
