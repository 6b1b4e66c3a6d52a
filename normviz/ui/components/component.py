"""A component of the app's own: markup, and the style and the script of its name beside this module."""

import struct
import time
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import streamlit as st

from normviz.ui.packed import packed


def component(name: str, html: str, isolate_styles: bool = True, parts: Sequence[str] = ()) -> Callable[..., Any]:
    """What shows `html` with {name}.css and {name}.js, for a key, data and the callbacks of what it sends.

    Before its script stand data.js and those of its `parts`.
    Its script reads the data with `latest` of data.js: behind the number of their turn, which rises with every change.
    """
    mount = _registered(name, html, isolate_styles, tuple(parts))

    def show(key: str, data: dict[str, Any], **callbacks: Callable[[], Any]) -> None:
        content = packed(data)
        mount(key=key, data=struct.pack("<d", _turn(key, content)) + content, **callbacks)

    return show


def script(name: str, parts: Sequence[str] = ()) -> str:
    """The JavaScript of a component: that of its name, behind what all of them share and its parts."""
    return "".join(_read(each, "js") for each in ("data", *parts, name))


@cache
def _registered(name: str, html: str, isolate_styles: bool, parts: Sequence[str]) -> Callable[..., Any]:
    """Read and registered once, for all runs of all sessions."""
    css, js = _read(name, "css"), script(name, parts)
    return st.components.v2.component(f"normviz_{name}", html=html, css=css, js=js, isolate_styles=isolate_styles)


def _read(name: str, suffix: str) -> str:
    return Path(__file__).with_name(f"{name}.{suffix}").read_text()


def _turn(key: str, content: bytes) -> int:
    """The number of these data in the session. The first is the time in milliseconds: a page that the server has
    forgotten, as after a restart, has seen a lower one."""
    digest, held = hash(content), st.session_state.get(f"{key} turn")
    if held is None or held[0] != digest:
        turn = int(time.time() * 1000) if held is None else held[1] + 1
        held = st.session_state[f"{key} turn"] = digest, turn
    return held[1]
