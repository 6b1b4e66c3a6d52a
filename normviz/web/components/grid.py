"""A table of clickable cells, redrawn in place."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from normviz.web.components.component import create_component

HTML = '<div class="nv-grid"></div>'


def show_grid(data: dict, key: str, on_open: Callable[[], Any]) -> None:
    """Show Table 1 as a grid of cells that open on a click, in an element `st-key-{key}`.

    `data`: the `GridData` of grid.js. The state in the session is `st.session_state[f"{key} table"].open`.
    """
    show = create_component("grid", HTML)
    with st.container(key=key):
        show(key=f"{key} table", data=data, on_open_change=on_open, on_theme_change=lambda: None)
