"""Expanders and popovers whose content is drawn only while they are open."""

from collections.abc import Callable
from typing import Any

import streamlit as st


def draw_expandable(make: Callable[..., Any], label: str, key: str, **widget_options: Any) -> Any:
    """Draw an expander or popover and return it, so that the caller draws its content only if its `open` is True.

    Once it is drawn, only the browser opens and closes it: a run that began before the reader closed it must not open
    it again. So its label must not change, since Streamlit takes another label for another element.

    Args:
        make: `st.expander` or `st.popover`.
        key: of the element; the session holds at `get_open_key(key)` whether it is open.
        widget_options: further arguments of `make`.
    """
    state = st.session_state
    if key not in state:
        state[key] = state.get(get_open_key(key), False)

    def take() -> None:
        state[get_open_key(key)] = state[key]

    return make(label, key=key, on_change=take, **widget_options)


def open_expandable(key: str) -> None:
    """Open the expander or popover with this key; call this before it is drawn."""
    st.session_state.update({key: True, get_open_key(key): True})


def get_open_key(key: str) -> str:
    """Return the session key of the flag that says if the expander or popover with this key is open."""
    return f"{key} is open"
