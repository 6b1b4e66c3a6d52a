"""A component of the app's own: markup, and the style and the script of its name beside this module."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st


@cache
def component(name: str, html: str, isolate_styles: bool = True) -> Callable[..., Any]:
    """What shows `html` with {name}.css and {name}.js: read and registered once, for all runs of all sessions."""
    css, js = (Path(__file__).with_name(f"{name}.{suffix}").read_text() for suffix in ("css", "js"))
    return st.components.v2.component(f"normviz_{name}", html=html, css=css, js=js, isolate_styles=isolate_styles)
