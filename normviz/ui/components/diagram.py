"""A diagram of cards and lines between them; one card is chosen. Redrawn in place."""

from collections.abc import Callable
from typing import Any

import streamlit as st

from normviz.ui.components.component import component
from normviz.ui.palette import VERMILION

HTML = '<div class="nv-diagram"><div class="nv-scroll"></div></div>'


def diagram(data: dict[str, Any], key: str, alt: str, on_choose: Callable[[], Any]) -> None:
    """Show a diagram in an element of the class `st-key-{key}`.

    Args:
        data: width and height of all; mark, the size of a mark; chosen, a card's code; key, what stands above: marks
            and texts; levels (x, y, text) left of the rows; lines (low, high: codes of cards, path); and cards, from
            the lowest row (code, x, y, width, height; title, which is read aloud; alert; marks, texts, and a bar with
            a share or None, from the card's corner). Marks have x, y, text, on; texts x, y, text, kind.
        key: of the element, and of its state in the session: `st.session_state[f"{key} diagram"].chosen`.
        alt: the diagram in a sentence.
        on_choose: called when a card is chosen.
    """
    show = component("diagram", HTML, ("saving",))
    with st.container(key=key):
        show(
            key=f"{key} diagram",
            data=data | {"name": key, "alt": alt, "alarm": VERMILION},
            on_chosen_change=on_choose,
        )
