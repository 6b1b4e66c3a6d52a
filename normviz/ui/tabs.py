"""The choice of a page's panel, with the rarer panels in a second row."""

from collections.abc import Callable, Mapping, Sequence

import streamlit as st

REST = "advanced"


def choose_panel(key: str, panels: Mapping[str, str], rest: Sequence[str]) -> None:
    """Draw the choice of a page's panel; a second row, behind "Advanced", holds the rarer panels.

    Args:
        key: of the open panel in the session.
        panels: the names of all panels, by key.
        rest: the keys of the panels behind "Advanced".
    """
    state = st.session_state
    row, more = f"{key} row", f"{key} {REST}"
    state[row] = REST if state[key] in rest else state[key]

    def take() -> None:
        state[key] = rest[0] if state[row] == REST else state[row]

    def take_rest() -> None:
        state[key] = state[more]

    common = {name: panels[name] for name in panels if name not in rest}
    _segments(row, "Show", common | {REST: "Advanced"}, take)
    if state[key] in rest:
        state[more] = state[key]
        _segments(more, "Advanced", {name: panels[name] for name in rest}, take_rest)


def _segments(key: str, label: str, names: Mapping[str, str], take: Callable[[], None]) -> None:
    st.segmented_control(
        label, list(names), key=key, required=True, format_func=names.__getitem__, label_visibility="collapsed",
        on_change=take,
    )  # fmt: skip
