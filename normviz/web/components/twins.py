"""Two curves and the area between them, on linear axes, animated in the browser."""

from typing import Any

import streamlit as st

from normviz.web.components.component import create_component

HTML = """
<div class="nv-twins">
  <div class="key" aria-hidden="true"></div>
  <div class="frame">
    <svg class="board" viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"></svg><output></output>
  </div>
  <div class="nv-bar"></div>
</div>
"""


def show_twin_curves(data: dict[str, Any], key: str) -> None:
    """Show the curves of network and twin as a plot that plays, in an element `st-key-{key}`.

    `data`: the `TwinsData` of twins.js.
    """
    show = create_component("twins", HTML, ("button", "player"))
    with st.container(key=key):
        show(key=f"{key} twins", data=data, on_theme_change=lambda: None)
