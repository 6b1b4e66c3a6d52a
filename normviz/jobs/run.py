"""Runs of jobs in a command: wait for all results, with a progress bar."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from tqdm import tqdm

from normviz.data.output import print_message
from normviz.jobs.default_queue import create_default_queue
from normviz.jobs.executors import count_workers
from normviz.jobs.failures import describe_error
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.results import Archive, Part

POLL_SECONDS = 0.2
"""Seconds between two updates of the progress bar."""


class JobsFailed(RuntimeError):  # noqa: N818 - a run of jobs that failed
    """The error for a run of jobs that ended early; its message is the reason."""


def run_missing(
    parts: Sequence[Part], archive: Archive, make_queue: Callable[[int], JobQueue], show_progress: bool
) -> None:
    """Run the parts that have no result yet.

    Args:
        parts: the jobs.
        archive: stores the results, also the finished parts of an interrupted run.
        make_queue: returns a queue for a number of jobs.
        show_progress: True to show a progress bar on stderr.

    Raises:
        JobsFailed: a job failed.
    """
    missing = archive.find_missing(parts)
    if not missing:
        return
    request = make_queue(len(missing)).submit(missing, archive.keep, lambda: True)
    try:
        with tqdm(
            total=100, disable=not show_progress, bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        ) as bar:
            while not request.wait(POLL_SECONDS):
                bar.update(100 * request.progress - bar.n)
    finally:
        request.cancel()
    if request.error is not None:
        raise JobsFailed(describe_error(request.error)) from request.error


def create_queue(archive: Archive, job_count: int) -> JobQueue:
    """Return a queue for this number of jobs, which skips the jobs with a result in the archive."""
    workers = min(count_workers(), job_count)
    return create_default_queue(workers, workers, lambda part: not archive.find_missing([part]))


@contextmanager
def catch_job_failures() -> Iterator[list[int]]:
    """Print on stderr why a run of jobs ended early, and append the exit code to the yielded list."""
    code: list[int] = []
    try:
        yield code
    except JobsFailed as error:
        print_message(str(error))
        code.append(1)
    except KeyboardInterrupt:
        print_message("interrupted; what is done is kept, and the same command goes on from there.")
        code.append(130)
