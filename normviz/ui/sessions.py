"""Presence of sessions: a browser is connected and still shows the page.

Polling by the page is no sign of presence: a browser lets a background tab poll once a minute, and a busy server
answers late.
"""

from dataclasses import dataclass

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

PRESENCE_KEY = "presence"
"""Session key of its `SessionPresence`."""


@dataclass
class SessionPresence:
    """Presence of one session: if it is connected, and on which page; safe in threads.

    Attributes:
        session: its id at the server.
        page: its current page.
    """

    session: str
    page: str = ""

    def is_on_page(self, page: str) -> bool:
        """Return True if the session is connected and on this page; False without a server, as in a test."""
        return self.page == page and runtime.exists() and runtime.get_instance().is_active_session(self.session)


def get_current_session() -> SessionPresence:
    """Return the presence of the session whose script runs."""
    context = get_script_run_ctx()
    held: SessionPresence | None = st.session_state.get(PRESENCE_KEY)
    if held is None:
        held = st.session_state[PRESENCE_KEY] = SessionPresence("" if context is None else context.session_id)
    return held
