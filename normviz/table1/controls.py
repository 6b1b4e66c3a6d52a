"""The Table 1 page's controls: those of the declared values, δ and ε where they are dragged, a scheme of one's own."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.settings import declarations
from normviz.table1.state import ORDER, PREFIX, Page, has, lengths, schemes_of
from normviz.ui import custom
from normviz.ui.choice import choose_several
from normviz.ui.components.picked import picked
from normviz.ui.link import View
from normviz.ui.settings import Controls, limits

DRAGGED = [name for name, declared in declarations(Page).items() if declared.control == "drag"]
"""The values that the table follows while they are dragged: δ and ε."""


def controls(view: View) -> DeltaGenerator:
    """Rows, training, and everything else in the sidebar; gives the place of δ as a number."""
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        choose_several(PREFIX + "schemes", ORDER)
        if "custom" in view["schemes"]:
            custom.controls(view, lengths, PREFIX)
        page.draw("groups", "radius")
        st.divider()
        page.draw("layer")
        place = st.container()
        page.draw("dtype")
        st.divider()
        page.draw("optimizer", "rate", "follow")
        page.rest("schemes", *DRAGGED)
    picked(", ".join(scheme.label for scheme in schemes_of(view)) or "No rows")
    return place


def sliders(view: View, dragged: DeltaGenerator, typed: DeltaGenerator) -> None:
    """δ and ε, drawn last, when the table has followed them; and δ as a number, where it is typed."""
    with dragged:
        Controls(Page, PREFIX, view, has).draw(*DRAGGED)
    with typed:
        _exactly(view)


def _exactly(view: View) -> None:
    """δ as a number, also one that is refused: the page then says why.

    Whenever something else moves δ, this is another widget. A browser that has not shown the new δ yet still sends the
    number of before, with the clock by which the page follows a training, and that would count as typed.
    """
    state, place = st.session_state, f"{PREFIX}delta exactly"
    moves, shown = state.get(place, (0, view["delta"]))
    moves += view["delta"] != shown
    key = f"delta number {moves}"
    state[place], state[key] = (moves, view["delta"]), view["delta"]

    def typed() -> None:
        if state[place] == (moves, view["delta"]):  # Streamlit also asks the widget that is no longer there
            state[place] = moves, state[key]
            state[f"{PREFIX}delta"] = state[key]

    least, most = limits(declarations(Page)["delta"], view)
    st.number_input("δ exactly", least, most, key=key, step=None, format="%g", on_change=typed)
