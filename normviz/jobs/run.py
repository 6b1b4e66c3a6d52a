"""Run jobs to their end with a progress bar, as commands do."""

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
    """The reason why a run of jobs ended early, in words."""


def run_missing(
    parts: Sequence[Part], archive: Archive, make_queue: Callable[[int], JobQueue], show_progress: bool
) -> None:
    """Run the parts that have no result yet.

    Args:
        parts: the jobs.
        archive: takes the results, also of finished parts of an interrupted run.
        desk: makes a queue for a number of jobs.
        shown: shows a progress bar on stderr.

    Raises:
        JobsFailed: a job failed.
    """
    missing = archive.missing(parts)
    if not missing:
        return
    ticket = make_queue(len(missing)).submit(missing, archive.keep, lambda: True)
    try:
        with tqdm(
            total=100, disable=not show_progress, bar_format="{percentage:3.0f}%|{bar}| {elapsed}<{remaining}"
        ) as bar:
            while not ticket.wait(POLL_SECONDS):
                bar.update(100 * ticket.progress - bar.n)
    finally:
        ticket.cancel()
    if ticket.error is not None:
        raise JobsFailed(describe_error(ticket.error)) from ticket.error


def create_queue(archive: Archive, job_count: int) -> JobQueue:
    """Where so many jobs run, whose results go into the archive."""
    workers = min(count_workers(), job_count)
    return create_default_queue(workers, workers, lambda part: not archive.missing([part]))


@contextmanager
def catch_job_failures() -> Iterator[list[int]]:
    """The exit code of a run of jobs inside, where it does not come to its end: that is said on stderr then."""
    code: list[int] = []
    try:
        yield code
    except JobsFailed as error:
        print_message(str(error))
        code.append(1)
    except KeyboardInterrupt:
        print_message("interrupted; what is done is kept, and the same command goes on from there.")
        code.append(130)
