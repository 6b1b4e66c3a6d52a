"""The runs behind pages: hand in missing jobs, show their progress, pause, cancel and resume them."""

import time
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.describe.wording import format_duration
from normviz.jobs.failures import describe_error
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.process_executor import SpareWorker
from normviz.jobs.requests import JobRequest, ResultCallback
from normviz.jobs.speed import SpeedEstimator, estimate_slowdown
from normviz.train.preparations import PREPARATIONS
from normviz.ui.sessions import get_current_session

WAIT_SECONDS = 0.25
"""Seconds that a page waits for its jobs before it shows the results so far."""

PAGE_POLL_SECONDS = 0.5
"""Seconds between two looks of a page at its jobs."""

MIN_SECONDS_SHOWN = 10.0
"""Seconds from which a page says how long the rest takes."""


@st.cache_resource(show_spinner=False)
def get_speed_estimator() -> SpeedEstimator:
    """Return the estimator of this server's speed, which all of its job queues share."""
    return SpeedEstimator(estimate_slowdown)


@st.cache_resource(show_spinner=False)
def get_spare_worker() -> SpareWorker:
    """Return the server's `SpareWorker`, which keeps an idle process ready for the next job of any page."""
    return SpareWorker(PREPARATIONS)


@dataclass(frozen=True)
class RunSource:
    """Source of the jobs of one kind of page: functions that list them, queue them and store their results.

    Attributes:
        find_missing_jobs: returns the jobs without a complete result, for the value that a page shows.
        get_queue: returns the queue that runs these jobs. Raises InvalidInput for a cluster that cannot be reached.
        store_result: takes a job and its result so far.
        is_automatic: returns True if these jobs start without a click.
    """

    find_missing_jobs: Callable[[Any], Sequence[Any]]
    get_queue: Callable[[Sequence[Any]], JobQueue]
    store_result: ResultCallback
    is_automatic: Callable[[Sequence[Any]], bool] = lambda jobs: True


@dataclass
class PageRun:
    """The running jobs whose results one session shows on a page.

    Attributes:
        shown: the value whose jobs these are.
        request: the latest request for the missing jobs.
        is_wanted: True from the start of the run until it is complete, cancelled or failed.
        is_confirmed: True after a click started it.
        is_stopped: True after the visitor or an error ended it.
        error: words of that error.
    """

    source: RunSource
    shown: Any
    page: str
    request: JobRequest | None = None
    is_wanted: bool = False
    is_confirmed: bool = False
    is_stopped: bool = False
    error: str = ""

    def find_missing_jobs(self) -> Sequence[Any]:
        """Return the jobs without a complete result."""
        return self.source.find_missing_jobs(self.shown)

    def estimate_seconds(self) -> float:
        """Estimate the seconds until all jobs are done; once submitted, including others' jobs that run before."""
        if self.request is not None and not self.request.is_over:
            return self.request.displayed_seconds_left
        missing = self.find_missing_jobs()
        try:
            return self.source.get_queue(missing).estimate_seconds(missing)
        except InvalidInput:  # starting the run shows this error
            return sum(job.seconds for job in missing)

    def poll(self) -> bool:
        """Stop the run if a job has failed; return True if a job still runs, waits or is paused."""
        if self.request is not None and self.request.error is not None:
            self.stop(describe_error(self.request.error))
        return self.request is not None and not self.request.is_over

    def start(self) -> None:
        """Run the missing jobs, also after a pause or an end."""
        self.is_wanted, self.is_confirmed, self.is_stopped, self.error = True, True, False, ""
        if self.request is not None and self.request.paused:
            self.request.resume()
        self.submit()

    def pause(self) -> None:
        """Start no further job; running jobs go on to their end."""
        if self.request is not None:
            self.request.pause()

    def stop(self, error: str = "") -> None:
        """Cancel the request and keep its results, and `error` for the page to show; only a click starts it again."""
        self._cancel(self.request)
        self.is_wanted, self.is_stopped, self.error = False, True, error

    def submit(self, previous: JobRequest | None = None) -> None:
        """Submit missing jobs if wanted, also after the request's lease ended; jobs that `previous` runs, too, go on.

        `previous`: the request of the view before this one.
        """
        if self.request is not None and self.request.paused and self.request.is_over:
            self.stop()  # the lease ended in a pause: nothing starts without a click
        missing = [] if self.is_stopped else self.find_missing_jobs()
        # Complete results that are dropped later are not computed again by this.
        self.is_wanted = bool(missing) and (self.is_wanted or self.source.is_automatic(missing))
        if not self.is_wanted:
            self._cancel(self.request, previous)
            return
        try:
            queue, store = self.source.get_queue(missing), self.source.store_result
            self.request = submit_or_reuse(self.request or previous, missing, queue, store, self.page)
        except InvalidInput as error:  # a cluster that cannot be reached
            self.stop(str(error))

    def _cancel(self, *requests: JobRequest | None) -> None:
        self.request = None
        for request in requests:
            if request is not None:
                request.cancel()


def open_run(source: RunSource, shown: Hashable, page: str, key: str, wanted: bool = False) -> PageRun:
    """Return the session's run of the jobs of `source` for the value `shown`; submit missing jobs if they are wanted.

    A new run replaces that of another value, at `key` in the session; `wanted` starts it at once. Sessions on `page`
    extend the lease.
    """
    held: PageRun | None = st.session_state.get(key)
    if held is not None and held.shown == shown:
        held.submit()
        return held
    run = st.session_state[key] = PageRun(source, shown, page, is_wanted=wanted)
    run.submit(None if held is None else held.request)
    return run


def submit_or_reuse(
    current_request: JobRequest | None, jobs: Sequence[Any], queue: JobQueue, store_result: ResultCallback, page: str
) -> JobRequest:
    """Return the current request if it contains all these jobs, otherwise submit a new one and return it.

    The current one is cancelled after the new one is handed in, so that shared jobs go on.
    """
    if (
        current_request is not None
        and {*jobs} <= {job for _, job in current_request.jobs}
        and (current_request.error or not current_request.is_over)
    ):
        current_request.renew()
        return current_request
    request = queue.submit(jobs, store_result, partial(get_current_session().is_on_page, page))
    if current_request is not None:
        current_request.cancel()
    return request


def are_running_after_wait(*runs: PageRun) -> bool:
    """Wait up to WAIT_SECONDS for runs to end; return True if one is still active."""
    end = time.monotonic() + WAIT_SECONDS
    requests = [run.request for run in runs if run.request is not None]
    return not all(request.wait(max(end - time.monotonic(), 0.0)) for request in requests)


def rerun_on_change(get_version: Callable[[], object], *runs: PageRun) -> None:
    """Rerun the page's script when the value of `get_version()` changes or all of the runs have ended."""
    version, looked = get_version(), time.monotonic()

    @st.fragment(run_every=PAGE_POLL_SECONDS)
    def look() -> None:
        news = get_version() != version or all(run.request is None or run.request.is_over for run in runs)
        if news and time.monotonic() - looked > PAGE_POLL_SECONDS / 2:
            st.rerun()

    look()


def show_progress(run: PageRun, name: str, key: str) -> None:
    """Show a run's progress, called `name`, with a button (session key `key`) that cancels it."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Cancel", on_click=run.stop, key=key)  # first, where nothing that grows can push it aside
        if run.request is not None:
            st.progress(run.request.progress, format_progress(run.request, name), width="stretch")


def show_restart(run: PageRun, words: str, label: str, key: str) -> None:
    """Show `words` on a run that ended, beside a button (`label`, session key `key`) that starts it again."""
    with st.container(horizontal=True, vertical_alignment="center"):
        st.markdown(words, width="content")
        st.button(label, on_click=run.start, key=key)


def format_waiting(request: JobRequest) -> str:
    """Return a sentence on a waiting request: when it will be done, and how many other jobs run before it."""
    ahead = request.jobs_ahead
    if not ahead:
        return "Waiting for a worker"
    jobs = "1 job is" if ahead == 1 else f"{ahead} jobs are"
    return f"Waiting: done in about {format_duration(request.displayed_seconds_left)} ({jobs} ahead of yours)"


def format_progress(request: JobRequest, name: str) -> str:
    """Return progress and time left of a request in words, after `name`; if it waits, `format_waiting`."""
    if request.is_waiting:
        return format_waiting(request)
    left = request.displayed_seconds_left
    rest = f", about {format_duration(left)} to go" if left > MIN_SECONDS_SHOWN else ""
    return f"{name}: {request.progress:.0%}{rest}"
