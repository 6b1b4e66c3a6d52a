"""A custom component: markup, and the module and styles of its name in normviz/web."""

import struct
import time
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import streamlit as st

from normviz.charts.packing import pack_message
from normviz.web.modules import read_styles
from normviz.web.script_routes import get_module_url

LOADER_TEMPLATE = """const {{ default: run }} = await import(new URL("{url}", location.origin).href);
export default (given) => {{
  const end = run(given);
  (given.parentElement.host ?? given.parentElement).dataset.shown = "";
  return end;
}};
"""
"""Script that fetches and runs a component's module, then marks the element as filled for opening.js."""


def create_component(
    name: str, html: str, style_modules: Sequence[str] = (), isolate_styles: bool = True
) -> Callable[..., Any]:
    """Create the function that shows a browser component, given a key, its data and callbacks for sent values.

    Its module, `name.js`, reads the data with `readLatest` of data.js, after a version number that rises with every
    change. `style_modules`: imported modules whose styles it needs besides `name.css`. `isolate_styles`: False for a
    component whose styles apply to the page.
    """
    mount = _register_component(name, html, tuple(style_modules), isolate_styles)

    def show(key: str, data: dict[str, Any], **callbacks: Callable[[], Any]) -> None:
        content = pack_message(data)
        mount(key=key, data=struct.pack("<d", _get_data_version(key, content)) + content, **callbacks)

    return show


@cache
def _register_component(name: str, html: str, parts: tuple[str, ...], isolate_styles: bool) -> Callable[..., Any]:
    """Register a component with Streamlit, once for all sessions.

    Streamlit resends a component's script with every change of its data, so the script is only a loader.
    """
    js = LOADER_TEMPLATE.format(url=get_module_url(f"{name}.js"))
    css = read_styles((*parts, name))
    return st.components.v2.component(f"normviz_{name}", html=html, css=css, js=js, isolate_styles=isolate_styles)


def _get_data_version(key: str, content: bytes) -> int:
    """Return the version number of these data in the session, so that the browser notes changed data.

    So it is higher than any number that the page saw before the server restarted.
    """
    digest, held = hash(content), st.session_state.get(f"{key} turn")
    if held is None or held[0] != digest:
        turn = int(time.time() * 1000) if held is None else held[1] + 1
        held = st.session_state[f"{key} turn"] = digest, turn
    return held[1]
