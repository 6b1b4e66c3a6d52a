"""The choice of a page's panel, with rarer panels in a second row."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.ui.locks import set_widget_value

ADVANCED_KEY = "advanced"


def draw_panel_picker(key: str, panels: Mapping[str, str], advanced: Sequence[str]) -> DeltaGenerator:
    """Draw the choice of a panel, the `advanced` ones in a second row; return the container of the open panel.

    It is in an element `st-key-{key}-panel`. Each panel has a place of its own, so that its content leaves at once: in
    a common place Streamlit keeps it until the run ends, and new content moves it.
    """
    state = st.session_state
    row, more = f"{key} row", f"{key} {ADVANCED_KEY}"
    set_widget_value(row, ADVANCED_KEY if state[key] in advanced else state[key])

    def take() -> None:
        state[key] = advanced[0] if state[row] == ADVANCED_KEY else state[row]

    def take_rest() -> None:
        state[key] = state[more]

    common = {name: panels[name] for name in panels if name not in advanced}
    _draw_segments(row, "Show", common | {ADVANCED_KEY: "Advanced"}, take)
    with st.container(key=f"{key} panel"):
        places = {name: st.container(key=f"{key} {name}") if name == state[key] else st.empty() for name in panels}
    if state[key] in advanced:
        set_widget_value(more, state[key])
        with places[state[key]]:
            _draw_segments(more, "Advanced", {name: panels[name] for name in advanced}, take_rest)
    return places[state[key]]


def _draw_segments(key: str, label: str, names: Mapping[str, str], take: Callable[[], None]) -> None:
    st.segmented_control(
        label, list(names), key=key, required=True, format_func=names.__getitem__, label_visibility="collapsed",
        on_change=take,
    )  # fmt: skip
