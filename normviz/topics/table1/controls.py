"""Controls of the Table 1 page, each behind a click: the choice of rows, and the settings."""

import streamlit as st

from normviz.core.settings import get_declarations
from normviz.core.text import typeset
from normviz.topics.table1.state import FIRST_ROWS, PREFIX, ROW_ORDER, Page, get_layer_lengths, is_relevant
from normviz.ui import custom
from normviz.ui.expandable import draw_expandable
from normviz.ui.frame import switch_to_page
from normviz.ui.link import View
from normviz.ui.scheme_picker import choose_schemes
from normviz.ui.settings import Controls, get_limits

LEFT, RIGHT = ("shift", "eps", "dtype", "seed"), ("rate", "steps", "batch", "width", "depth", "device")
"""Names of the settings in two columns; δ stands above the first."""

SUMMARIZED_SETTINGS = ("delta", "shift", "eps", "layer", "optimizer")
"""Names of the settings in the summary line."""

ROWS, SETTINGS = "rows", "settings"
"""Keys of the choice of rows and of the settings."""


def choose_rows(view: View) -> None:
    """Draw the menu of schemes that have a row in the table, with the parameters of the chosen schemes."""
    place = draw_expandable(st.popover, "Add a normalization", ROWS, icon=":material/add:")
    if not place.open:
        return
    with place:
        choose_schemes(PREFIX + "schemes", ROW_ORDER)
        custom.draw_custom_controls(view["schemes"], view, get_layer_lengths, PREFIX)
        Controls(Page, PREFIX, view, is_relevant).draw("groups", "radius")


def draw_class_button(view: View) -> None:
    """Draw a button that asks a class about the open cell, if its scheme is in `FIRST_ROWS`."""
    is_first = view["cell"].partition(".")[0] in FIRST_ROWS
    if is_first and st.button("Ask your class", icon=":material/groups:", type="tertiary"):
        switch_to_page("class", {"cell": view["cell"]})


def show_table_settings(view: View) -> None:
    """Draw all settings in an expander, and a summary line if one of `SUMMARIZED_SETTINGS` is not the default."""
    page, words = Controls(Page, PREFIX, view, is_relevant), get_declarations(Page)
    line = f"δ = {typeset(view['delta'])}, τ = {typeset(view['shift'])}, ε = {typeset(view['eps'])}"
    layer, optimizer = (words[name].format_for_page(view[name]) for name in ("layer", "optimizer"))
    if any(view[name] != words[name].resolve_default(view) for name in SUMMARIZED_SETTINGS):
        st.caption(f"{line}, {layer.lower()} layer, {optimizer}")
    place = draw_expandable(st.expander, "Advanced", SETTINGS)
    if not place.open:
        return
    with place:
        with st.container(horizontal=True):
            page.draw("layer", "optimizer")
        page.draw("follow")
        left, right = st.columns(2)
        with left:
            page.draw("delta")
            _draw_delta_input(view)
            page.draw(*LEFT)
        with right:
            page.draw(*RIGHT)


def _draw_delta_input(view: View) -> None:
    """Draw an input of δ as a number, besides its slider.

    The widget gets a new key whenever something else changes δ. Otherwise a browser that reruns the page before it has
    drawn the new δ would send the old number, which would count as typed.
    """
    state, place = st.session_state, f"{PREFIX}delta exactly"
    moves, shown = state.get(place, (0, view["delta"]))
    moves += view["delta"] != shown
    key = f"delta number {moves}"
    state[place], state[key] = (moves, view["delta"]), view["delta"]

    def typed() -> None:
        if state[place] == (moves, view["delta"]):  # Streamlit also calls this for a removed widget
            state[place] = moves, state[key]
            state[f"{PREFIX}delta"] = state[key]

    least, most = get_limits(get_declarations(Page)["delta"], view)
    st.number_input("δ exactly", least, most, key=key, step=None, format="%g", on_change=typed)
