"""Jobs of a session: submit them once, wait for a moment, release them."""

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
"""Seconds that a page waits for its jobs before it shows the results so far."""

PAGE_POLL_SECONDS = 0.5
"""Seconds between two checks of the jobs."""


MIN_SECONDS_SHOWN = 10.0
"""Remaining seconds from which a page shows the remaining time."""


@st.cache_resource
def get_server_speed() -> SpeedEstimator:
    """Return the speed that all queues of this server have measured."""
    return SpeedEstimator(guess_factor)


def format_waiting(request: JobRequest) -> str:
    """Return a sentence on a waiting request: the time until it is done, and the number of jobs of others before it."""
    ahead = request.position
    if not ahead:
        return "Waiting for a worker"
    jobs = "1 job is" if ahead == 1 else f"{ahead} jobs are"
    return f"Waiting: done in about {format_duration(request.seconds_left)} ({jobs} ahead of yours)"


def format_progress(request: JobRequest, name: str) -> str:
    """Return the progress of `name` and the remaining time, or the sentence on a waiting request."""
    if request.waits:
        return format_waiting(request)
    left = request.seconds_left
    return f"{name}: {request.progress:.0%}" + (
        f", about {format_duration(left)} to go" if left > MIN_SECONDS_SHOWN else ""
    )


def submit_or_reuse(
    current_request: JobRequest | None, jobs: Sequence[Any], queue: JobQueue, keep: ResultCallback, page: str
) -> JobRequest | None:
    """Return the page's request for these jobs: the current one if it holds them, otherwise a new one.

    The current request is cancelled last, so that jobs of both keep running.
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
    """Return True if a request is still unfinished after a moment."""
    end = time.monotonic() + WAIT_SECONDS
    over = [ticket is None or ticket.wait(max(end - time.monotonic(), 0.0)) for ticket in requests]
    return not all(over)
