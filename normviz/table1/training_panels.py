"""The page's trainings: what is missing is trained outside of the script, and shown as it comes."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

import streamlit as st

from normviz.core.schemes import Scheme
from normviz.jobs.desk import Desk, Ticket
from normviz.jobs.executors import threads
from normviz.networks.setting import Setting
from normviz.table1.results import Results
from normviz.table1.training import Training, on_one_core
from normviz.ui.link import up_to_date

AT_ONCE = 0.25
"""Seconds that the page waits for a training before it shows what is there."""

POLL = 0.5
"""Seconds between two looks at a training."""

PATIENCE = 160.0
"""The longest lease of a page that is slow, in seconds."""

KEY = "table training"
"""Where the session holds what it asks for."""


@dataclass
class Asked:
    """What a session's page shows, and what it has done to get it trained.

    Attributes:
        schemes, settings: what is shown.
        ticket: the last one for what was missing of it.
        stopped: whether nothing more is to be trained of it, as the user or an error has stopped it.
        error: that error, in words; empty where it was the user.
        looked: when the page last ran while something trained, on the monotonic clock.
    """

    schemes: tuple[Scheme, ...]
    settings: tuple[Setting, ...]
    ticket: Ticket | None = None
    stopped: bool = False
    error: str = ""
    looked: float = 0.0

    def missing(self) -> list[Training]:
        """What is still to be trained."""
        return [job for setting in self.settings for job in results().missing(self.schemes, setting)]

    def drop(self) -> None:
        """Want no more of what is at work."""
        if self.ticket is not None:
            self.ticket.cancel()
        self.ticket = None

    def stop(self, error: str = "") -> None:
        """Train no more of it, until that is asked for or something is changed."""
        self.drop()
        self.stopped, self.error = True, error

    def again(self) -> None:
        """Train the rest after all."""
        self.stopped = False


@st.cache_resource
def results() -> Results:
    """All that has been trained on this server; a class that opens one link trains once."""
    return Results()


@st.cache_resource
def desk() -> Desk:
    """Where all sessions hand in their jobs."""
    return Desk(threads(initializer=on_one_core))


def start(schemes: Sequence[Scheme], settings: Sequence[Setting]) -> Asked:
    """See to it that what the page shows is trained: what is missing is handed in, unless it is at work already.

    A training that ended early, as its ticket lapsed while the page was merely slow, is handed in again with a longer
    lease: on a machine so busy that every look comes late, none would end otherwise.
    """
    held: Asked | None = st.session_state.get(KEY)
    asked = Asked(tuple(schemes), tuple(settings))
    if held is not None and (held.schemes, held.settings) == (asked.schemes, asked.settings):
        asked = held
    elif held is not None:
        held.drop()
    st.session_state[KEY] = asked
    jobs = asked.missing()
    if asked.stopped or not jobs:
        asked.drop()
    elif asked.ticket is None:
        asked.ticket = desk().submit(jobs, results().keep)
    elif asked.ticket.over:
        asked.ticket = desk().submit(jobs, results().keep, min(2 * asked.ticket.lease, PATIENCE))
    return asked


def under_way(asked: Asked) -> bool:
    """Whether something is still being trained after a moment."""
    return asked.ticket is not None and not asked.ticket.wait(AT_ONCE)


def status(asked: Asked, training: bool) -> None:
    """How far the training is, with a button that ends it; or that it was stopped; or what went wrong.

    As long as something is missing that nobody has stopped, the page looks again by itself.
    """
    if asked.ticket is not None and asked.ticket.error is not None:
        asked.stop(str(asked.ticket.error))
    if not training and not asked.missing():
        return
    if not asked.stopped:
        share = 0.0 if asked.ticket is None else asked.ticket.progress
        with st.container(horizontal=True, vertical_alignment="center"):
            st.progress(share, f"Training: {share:.0%}", width="stretch")
            st.button("Cancel", on_click=asked.stop, key="cancel")
        asked.looked = time.monotonic()
        _watch(asked)
    elif asked.error:
        st.error(asked.error)
    else:
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown("Training was stopped; the gaps are those of the steps so far.", width="content")
            st.button("Train again", on_click=asked.again, key="again")


@st.fragment(run_every=POLL)
def _watch(asked: Asked) -> None:
    """Renew the ticket as long as the page is open, and show the page anew."""
    if asked.ticket is not None:
        asked.ticket.renew()
    if time.monotonic() - asked.looked > POLL / 2 and up_to_date("table"):
        st.rerun()
