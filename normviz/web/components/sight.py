"""Content below the first screen that is computed only after it was scrolled into view."""

import streamlit as st

from normviz.web.components.component import create_component

HTML = '<div class="nv-sight" aria-hidden="true"></div>'


def has_been_seen(key: str) -> bool:
    """Return True if this place of the page has been in view in this session; until then, show an empty space.

    The page runs again when the place comes into view. `key`: of the place, and of the answer in the session.
    """
    if not st.session_state.get(key):
        create_component("sight", HTML)(
            key=f"{key} watch", data={}, on_seen_change=lambda: st.session_state.update({key: True})
        )
    return bool(st.session_state.get(key))
