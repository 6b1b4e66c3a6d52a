"""A table of cells that open: one component, redrawn in place."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from normviz.ui.components.component import component

HTML = """
<div class="nv-grid">
  <div class="nv-bar"></div><div class="nv-scroll"></div><div class="nv-legend"></div>
</div>
<button type="button" class="nv-back" hidden>↑ Back to the table</button>
"""


def grid(data: dict, key: str, on_open: Callable[[], Any]) -> None:
    """Show a table in an element of the class `st-key-{key}`.

    Args:
        data: label, corner, colours (yes, no, and the roles of curves), open (a cell's key), opens (the key of the
            element that shows the open cell), columns (name, change), rows (name, note, cells), legend (mark, line or
            frame, and text), and played, as `table1.playback` makes it. A cell has key, title, answer and either
            covered or word, marks (answer, name, value, and whether its value counts while it is played), note, paper
            and alert. Answers are yes, no, fades, none and wait.
        key: of the element, and of its state in the session: `st.session_state[f"{key} table"].open`.
        on_open: called when a cell is clicked.
    """
    show = component("grid", HTML, ("player",))
    with st.container(key=key):
        show(key=f"{key} table", data=data, on_open_change=on_open, on_theme_change=lambda: None)
