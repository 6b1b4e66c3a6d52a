"""A table of clickable cells, redrawn in place."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from normviz.web.components.component import create_component

HTML = '<div class="nv-grid"></div>'


def show_grid(data: dict, key: str, on_open: Callable[[], Any]) -> None:
    """Show Table 1 as a grid of cells that open on a click, in an element `st-key-{key}`.

    Args:
        data: label; colours (yes, no, changed, kept); open: a cell's key; shows: the key of the element that shows the
            open cell; small: True for a reduced table; groups: by `on`, the heads above the columns; columns (on, one,
            added, sign, name); rows (name, note, cells). A cell has key, title and either covered or alert, answer,
            sign and word. Answers are yes, no, fades and none.
        key: of the element; its state in the session is `st.session_state[f"{key} table"].open`.
        on_open: called when a cell is clicked.
    """
    show = create_component("grid", HTML)
    with st.container(key=key):
        show(key=f"{key} table", data=data, on_open_change=on_open, on_theme_change=lambda: None)
