"""A table of cells that open: one component, redrawn in place."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from normviz.ui.components.component import component


def grid(data: dict, key: str, on_open: Callable[[], Any]) -> None:
    """Show a table in an element of the class `st-key-{key}`.

    Args:
        data: label, corner, colours (yes, no), open (a cell's key), columns (name, change) and rows (name, note,
            cells); a cell has key, title, answer and either covered or word, marks (answer, name, value), note, paper
            and alert. Answers are yes, no, fades, none and wait.
        key: of the element, and of its state in the session: `st.session_state[f"{key} table"].open`.
        on_open: called when a cell is clicked.
    """
    show = component("grid", '<div class="nv-grid"></div>')
    with st.container(key=key):
        show(key=f"{key} table", data=data, on_open_change=on_open, on_theme_change=lambda: None)
