"""The runs of experiments and claims: their queue, their cached results, and their progress."""

import time
from collections.abc import Sequence
from typing import cast

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.jobs.default_queue import create_default_queue
from normviz.jobs.executors import count_workers
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ArrayJob, ResultArchive, Results, is_complete
from normviz.topics.experiments.state import PAGE
from normviz.ui.runs import PageRun, RunSource, get_spare_worker, get_speed_estimator, open_run

RUN_KEY = f"{PAGE} work"
"""Session key of an experiment's run."""

FIRST_REPORT_SECONDS = 0.3
"""Seconds that a page waits for the first report of a run, which arrives before the next refresh."""


@st.cache_resource(show_spinner=False)
def get_archive() -> ResultArchive:
    """Return the archive of results of experiments and claims, shared by all sessions and stored on disk."""
    return ResultArchive(ResultCache())


@st.cache_resource(show_spinner=False)
def get_experiment_queue() -> JobQueue:
    """Return the job queue of experiments and claims, shared by all sessions."""
    workers = count_workers()
    return create_default_queue(
        workers,
        jobs_per_request=workers,
        has_result=lambda job: not find_missing_jobs([job]),
        speed_estimator=get_speed_estimator(),
        spare_worker=get_spare_worker(),
    )


def find_missing_jobs(jobs: Sequence[ArrayJob]) -> list[ArrayJob]:
    """Return those of the jobs that have no complete result in the archive."""
    return get_archive().find_missing_jobs(jobs)


def are_jobs_in_progress(missing: Sequence[ArrayJob]) -> bool:
    """Return True if the queue already runs all of these jobs, for any session."""
    try:
        return get_experiment_queue().is_in_progress(missing)
    except InvalidInput:  # a cluster that cannot be reached, which a run says
        return False


SOURCE = RunSource(
    find_missing_jobs,
    lambda missing: get_experiment_queue(),
    lambda job, arrays: get_archive().store_result(job, arrays),
    is_automatic=are_jobs_in_progress,
)


def open_jobs_run(jobs: Sequence[ArrayJob], page: str = PAGE, key: str = RUN_KEY, wanted: bool = False) -> PageRun:
    """Return the session's run of these jobs on a page, as `open_run` does; `wanted` starts it at once."""
    return open_run(SOURCE, tuple(jobs), page, key, wanted)


def find_results(run: PageRun) -> Results:
    """Return a run's results by job so far; wait up to `FIRST_REPORT_SECONDS` for the first of a new run."""
    end = time.monotonic() + FIRST_REPORT_SECONDS
    while not (results := get_archive().find_results(run.shown)) and _is_next_in_queue(run) and time.monotonic() < end:
        time.sleep(0.02)
    return results


def _is_next_in_queue(run: PageRun) -> bool:
    request = run.request
    return request is not None and not request.is_over and not (request.is_waiting and request.jobs_ahead)


def compute_progress(run: PageRun, results: Results) -> float:
    """Return the finished share of all jobs, weighted by their seconds; 0 to 1.

    A running job counts with its current share, even if an older result of it has a larger one.
    """
    shares = {job: float(is_complete(arrays)) for job, arrays in results.items()}
    shares |= {cast(ArrayJob, each.job): each.share for each in ([*run.request.runs] if run.request else [])}
    total = sum(job.seconds for job in run.shown)
    return sum(job.seconds * shares.get(job, 0.0) for job in run.shown) / total
