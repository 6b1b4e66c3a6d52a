"""A slider that updates the page during dragging; Streamlit's own slider sends its value on release only."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import streamlit as st

from normviz.web.components.component import create_component

_RUNS = count()
_HTML = '<label class="nv-drag"><span></span><output></output><input type="range" min="0" step="1"></label>'


def show_drag_slider(
    label: str, texts: Sequence[str], index: int, key: str, on_change: Callable[[], Any], disabled: bool = False
) -> None:
    """Show a slider over given values that reports while it is dragged, in an element `st-key-{key}`.

    It sends the next value only after the page has shown the last one: call it at the end of the page, in a container.
    `texts`: the values in words. The state in the session is `st.session_state[f"{key} drag"].index`.
    """
    show = create_component("drag", _HTML)
    data = {"label": label, "texts": list(texts), "index": index, "run": next(_RUNS), "disabled": disabled}
    with st.container(key=key):
        show(key=f"{key} drag", data=data, on_index_change=on_change)
