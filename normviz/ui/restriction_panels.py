"""Effects of a link's restrictions on the page: the locked controls in words, hidden parts, the cover."""

from collections.abc import Mapping
from typing import Any

import streamlit as st

from normviz.describe.markdown import escape_markdown
from normviz.ui.restrictions import build_restriction_style, find_covered_figures


def make_uncovered_key(page: str) -> str:
    """Return the session key of the flag that says if the visitor has uncovered the page's figure."""
    return f"{page} uncovered"


def show_restrictions(
    page: str, view: Mapping[str, Any], restrictions: Mapping[str, Any], lock_labels: Mapping[str, str]
) -> None:
    """Show which controls are locked, hide what the link hides, and cover the figure until "Show" is pressed.

    `lock_labels`: of what can be locked in this view, by its name in the link.
    """
    only, key = restrictions["only"], make_uncovered_key(page)
    covers = restrictions["cover"] and not st.session_state.get(key)
    covered = find_covered_figures(page, view, only) if covers else []
    style = build_restriction_style(page, only, restrictions["hide"], covered)
    if style:
        st.html(f"<style>{style}</style>")
    locked = [lock_labels[name] for name in restrictions["lock"] if name in lock_labels]
    if locked:
        with st.container(key="locks"):
            st.caption(f":material/lock: Locked by this link: {escape_markdown(', '.join(locked))}.")
    if covered:
        with st.container(key="cover", horizontal_alignment="center"):
            st.markdown("### What do you expect to see?", width="content")
            st.button("Show", key="cover show", type="primary", on_click=lambda: st.session_state.update({key: True}))
