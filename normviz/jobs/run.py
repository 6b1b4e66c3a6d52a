"""Runs of jobs in a command: wait for all results, with a progress bar."""

from collections.abc import Callable, Sequence

from tqdm import tqdm

from normviz.jobs.default_queue import create_default_queue
from normviz.jobs.executors import count_workers
from normviz.jobs.failures import JobsFailed, describe_error
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.results import ArrayJob, ResultArchive

POLL_SECONDS = 0.2
"""Seconds between two updates of the progress bar."""


def run_missing_jobs(
    jobs: Sequence[ArrayJob], archive: ResultArchive, make_queue: Callable[[int], JobQueue], show_progress: bool
) -> None:
    """Run the jobs that have no complete result in the archive, store their results there, and wait for all.

    `make_queue` returns a queue for a number of jobs. The progress bar is on stderr. Raises JobsFailed if a job failed,
    and KeyboardInterrupt with words on the finished jobs, which the archive keeps.
    """
    missing = archive.find_missing_jobs(jobs)
    if not missing:
        return
    request = make_queue(len(missing)).submit(missing, archive.store_result, lambda: True)
    try:
        with tqdm(
            total=100, disable=not show_progress, bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        ) as bar:
            while not request.wait(POLL_SECONDS):
                bar.update(100 * request.progress - bar.n)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("interrupted; finished jobs are cached, and the same command continues.") from None
    finally:
        request.cancel()
    if request.error is not None:
        raise JobsFailed(describe_error(request.error)) from request.error


def create_queue(archive: ResultArchive, job_count: int) -> JobQueue:
    """Create a queue for `job_count` jobs that skips those with a complete result in the archive."""
    workers = min(count_workers(), job_count)
    return create_default_queue(workers, workers, lambda job: not archive.find_missing_jobs([job]))
