"""What a session asks to have done outside of its page: handed in once, waited for a moment, and let go of."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

import streamlit as st

from normviz.describe.wording import format_duration
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.requests import JobRequest, ResultCallback
from normviz.jobs.speed import SpeedEstimator, guess_factor
from normviz.ui.sessions import get_current_session

WAIT_SECONDS = 0.25
"""Seconds that a page waits for what it asks for before it shows what is there."""

PAGE_POLL_SECONDS = 0.5
"""Seconds between two looks at it."""


MIN_SECONDS_SHOWN = 10.0
"""Seconds from which a page says how long the rest takes."""


@st.cache_resource
def get_server_speed() -> SpeedEstimator:
    """Return what all desks of this server measure of its speed."""
    return SpeedEstimator(guess_factor)


def format_waiting(request: JobRequest) -> str:
    """Return a sentence on a ticket that waits: when all of it is done, and how many jobs of others come before."""
    ahead = request.position
    if not ahead:
        return "Waiting for a worker"
    jobs = "1 job is" if ahead == 1 else f"{ahead} jobs are"
    return f"Waiting: done in about {format_duration(request.seconds_left)} ({jobs} ahead of yours)"


def format_progress(request: JobRequest, name: str) -> str:
    """Return how far `name` is and how long the rest takes, or the sentence on a ticket that waits."""
    if request.waits:
        return format_waiting(request)
    left = request.seconds_left
    return f"{name}: {request.progress:.0%}" + (
        f", about {format_duration(left)} to go" if left > MIN_SECONDS_SHOWN else ""
    )


def submit_or_reuse(
    current_request: JobRequest | None, jobs: Sequence[Any], queue: JobQueue, keep: ResultCallback, page: str
) -> JobRequest | None:
    """The ticket of a page for these jobs: that which is held where they are among its own, otherwise a new one.

    The old one is dropped last: a job of both goes on.
    """
    if (
        current_request is not None
        and {*jobs} <= {job for _, job in current_request.jobs}
        and (current_request.error or (jobs and not current_request.over))
    ):
        current_request.renew()
        return current_request
    ticket = queue.submit(jobs, keep, partial(get_current_session().on, page)) if jobs else None
    if current_request is not None:
        current_request.cancel()
    return ticket


def is_still_running(*requests: JobRequest | None) -> bool:
    """Whether anything is still at work after a moment."""
    end = time.monotonic() + WAIT_SECONDS
    over = [ticket is None or ticket.wait(max(end - time.monotonic(), 0.0)) for ticket in requests]
    return not all(over)
