"""A slider that the page follows while it is dragged; Streamlit's own tells its value when it is let go."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

import streamlit as st

from normviz.web.components.component import create_component

_RUNS = count()
_HTML = '<label class="nv-drag"><span></span><output></output><input type="range" min="0" step="1"></label>'


def show_drag_slider(label: str, texts: Sequence[str], index: int, key: str, on_change: Callable[[], Any]) -> None:
    """Show a slider over some values in an element of the class `st-key-{key}`.

    It sends the next value only when the page has shown the last one: call it at the end of the page, in a container.

    Args:
        label: what it sets.
        texts: the values in words; `index`: the one that is shown.
        key: of the element, and of its state in the session: `st.session_state[f"{key} drag"].index`.
        on_change: called when it is moved.
    """
    show = create_component("drag", _HTML)
    data = {"label": label, "texts": list(texts), "index": index, "run": next(_RUNS)}
    with st.container(key=key):
        show(key=f"{key} drag", data=data, on_index_change=on_change)
