"""The panel of one element beside its cube: its field in words, indices, formulas with numbers, flat pictures."""

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


def show_chosen_element(data: dict[str, Any], key: str, on_focus: Callable[[], Any]) -> None:
    """Show the panel with the numbers of the cube's selected element, in an element `st-key-{key}`.

    `data`: the `ElementData` of element.js. The state in the session is `st.session_state[f"{key} shown"].focus`.
    """
    show = create_component("element", HTML, ("button",), isolate_styles=False)
    with st.container(key=key):
        show(key=f"{key} shown", data=data, on_focus_change=on_focus)
