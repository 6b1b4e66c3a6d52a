"""Whether a session still shows a page: its browser is connected, and has not gone to another page.

A page that looks by itself is no sign of it: a browser lets a tab in the background look once a minute, and a busy
server lets every look come late.
"""

from dataclasses import dataclass

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import get_script_run_ctx

PRESENCE_KEY = "presence"
"""Where the session holds it."""


@dataclass
class Presence:
    """One session; to be asked from any thread.

    Attributes:
        session: its id at the server.
        page: the page on which it is.
    """

    session: str
    page: str = ""

    def on(self, page: str) -> bool:
        """Whether the session is connected and on this page. Without a server, as in a test, nobody is connected."""
        return self.page == page and runtime.exists() and runtime.get_instance().is_active_session(self.session)


def get_current_session() -> Presence:
    """That of the session whose script runs."""
    context = get_script_run_ctx()
    held: Presence | None = st.session_state.get(PRESENCE_KEY)
    if held is None:
        held = st.session_state[PRESENCE_KEY] = Presence("" if context is None else context.session_id)
    return held
