"""What a session asks to have done outside of its page: handed in once, waited for a moment, and let go of."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from normviz.describe.wording import format_duration
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.requests import JobRequest, Keep
from normviz.jobs.speed import Speed, guess_factor
from normviz.ui.sessions import current_session

AT_ONCE = 0.25
"""Seconds that a page waits for what it asks for before it shows what is there."""

POLL = 0.5
"""Seconds between two looks at it."""


LONG = 10.0
"""Seconds from which a page says how long the rest takes."""


@st.cache_resource
def speed() -> Speed:
    """Return what all desks of this server measure of its speed."""
    return Speed(guess_factor)


def waiting_words(ticket: JobRequest) -> str:
    """Return a sentence on a ticket that waits: when all of it is done, and how many jobs of others come before."""
    ahead = ticket.position
    if not ahead:
        return "Waiting for a worker"
    jobs = "1 job is" if ahead == 1 else f"{ahead} jobs are"
    return f"Waiting: done in about {format_duration(ticket.seconds_left)} ({jobs} ahead of yours)"


def progress_words(ticket: JobRequest, name: str) -> str:
    """Return how far `name` is and how long the rest takes, or the sentence on a ticket that waits."""
    if ticket.waits:
        return waiting_words(ticket)
    left = ticket.seconds_left
    return f"{name}: {ticket.progress:.0%}" + (f", about {format_duration(left)} to go" if left > LONG else "")


def submit_or_reuse(
    held: JobRequest | None, jobs: Sequence[Any], where: JobQueue, keep: Keep, page: str
) -> JobRequest | None:
    """The ticket of a page for these jobs: that which is held where they are among its own, otherwise a new one.

    The old one is dropped last: a job of both goes on.
    """
    if held is not None and {*jobs} <= {job for _, job in held.jobs} and (held.error or (jobs and not held.over)):
        held.renew()
        return held
    ticket = where.submit(jobs, keep, partial(current_session().on, page)) if jobs else None
    if held is not None:
        held.cancel()
    return ticket


def still_running_after(*tickets: JobRequest | None) -> bool:
    """Whether anything is still at work after a moment."""
    end = time.monotonic() + AT_ONCE
    over = [ticket is None or ticket.wait(max(end - time.monotonic(), 0.0)) for ticket in tickets]
    return not all(over)
