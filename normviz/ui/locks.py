"""Widgets bound to the values of a page, of which the link can lock some."""

from typing import Literal, TypedDict

import streamlit as st

LOCKED_KEY = "locked"
"""Session key of the session keys of the running page's locked values."""


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
