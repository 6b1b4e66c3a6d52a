"""One element of a tensor beside its cube: its field in words, its indices, its numbers in formulas, flat pictures."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from normviz.web.components.component import create_component

HTML = """
<div class="nv-element">
  <div class="nv-where"></div>
  <div class="nv-statistics" role="group" aria-label="The statistics of its field"></div>
  <div class="nv-lines"></div>
  <p class="nv-note"></p>
  <details class="nv-choose">
    <summary>All values, and indices</summary>
    <figure class="nv-strip" hidden></figure>
    <div class="nv-indices" role="group" aria-label="The chosen element"></div>
  </details>
</div>
"""


def show_element(data: dict[str, Any], key: str, on_focus: Callable[[], Any]) -> None:
    """Show an element in an element of the class `st-key-{key}`; which one, the cube on the page says.

    Args:
        data: `lab.beside.beside_data`.
        key: of the element, and of its state in the session: `st.session_state[f"{key} shown"].focus`.
        on_focus: called when an index is changed.
    """
    show = create_component("element", HTML, isolate_styles=False)
    with st.container(key=key):
        show(key=f"{key} shown", data=data, on_focus_change=on_focus)
