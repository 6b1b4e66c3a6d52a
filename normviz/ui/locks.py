"""Widgets bound to the values of a page, of which the link can lock some."""

from typing import Any, Literal, TypedDict

import streamlit as st

LOCKED_KEY = "locked"
"""Session key of the session keys of the running page's locked values."""

WIDGET_PAGES_KEY = "widget pages"
"""Session key of the page on which `set_widget_value` last set a widget, by the widget's key."""


class WidgetBinding(TypedDict):
    """Keyword arguments that bind a widget to a page's value, which stays while the widget is not shown."""

    key: str
    persist_state: Literal["session"]
    disabled: bool


def make_widget_arguments(key: str, disabled: bool = False) -> WidgetBinding:
    """Return a widget's keyword arguments for the value at this session key; a locked value disables the widget."""
    return {"key": key, "persist_state": "session", "disabled": disabled or is_locked(key)}


def is_locked(key: str) -> bool:
    """Return True if the page's link locks the value at this session key."""
    return key in st.session_state.get(LOCKED_KEY, ())


def set_widget_value(key: str, value: Any) -> None:
    """Set the value of the widget with this session key, drawn next, unless the browser shows that value already.

    Streamlit renders a widget with all its parts again after an assignment, even of an equal value. On each page, the
    widget is another one.
    """
    state = st.session_state
    pages = state.setdefault(WIDGET_PAGES_KEY, {})
    if key not in state or state[key] != value or pages.get(key) != state.get("page"):
        state[key], pages[key] = value, state.get("page")
