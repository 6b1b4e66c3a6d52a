"""Jobs on a Dask cluster of this machine: how many a second, and what one costs. See benchmarks/README.md."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

import paths
from clusters import cluster

from normviz.core.registry import SCHEMES
from normviz.jobs.cluster import Cluster
from normviz.jobs.executors import limit_to_one_core
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.spec import Job, run_to_end
from normviz.topics.table1.training import TableTrainingJob
from normviz.train.setting import Setting

sys.path.append(str(paths.ROOT / "tests" / "jobs"))

from work import Count

WAITS = 0.05
"""Seconds of a job that only waits, so that it scales beyond the cores of one machine."""

PATIENCE = 600.0
"""Seconds that all jobs of a row may take."""


def empty(number: int) -> list[Job[Any]]:
    """Jobs that do nothing; no two are the same, since the same job runs once."""
    return [Count(1, pause=1e-9 * n) for n in range(1, number + 1)]


def waiting(number: int) -> list[Job[Any]]:
    """Jobs that wait."""
    return [Count(1, pause=WAITS + 1e-9 * n) for n in range(number)]


def trainings(number: int) -> list[Job[Any]]:
    """Jobs that compute."""
    schemes = [SCHEMES["batch"], SCHEMES["layer"]]
    return [TableTrainingJob.of(schemes, Setting(steps=100, seed=n, device="cpu"), [0, 1]) for n in range(number)]


KINDS = {"empty jobs": empty, f"jobs of {1e3 * WAITS:g} ms": waiting, "trainings": trainings}


def seconds_on(queue: JobQueue, jobs: Sequence[Job[Any]]) -> float:
    """Return the seconds from handing in all jobs until they are done."""
    start = time.perf_counter()
    request = queue.submit(jobs, lambda job, result: None)
    if not request.wait(PATIENCE) or request.error is not None:
        raise RuntimeError("The jobs were not done.") from request.error
    return time.perf_counter() - start


def seconds_here(jobs: Sequence[Job[Any]]) -> float:
    """Return the seconds of the same jobs, called one after the other."""
    start = time.perf_counter()
    for job in jobs:
        run_to_end(job)
    return time.perf_counter() - start


def row(name: str, run: Any, one_by_one: Any, number: int) -> list[float | str]:
    """Measure a way to run jobs; the first job of each kind, which imports what it needs, does not count."""
    run(trainings(8))
    run(empty(8))
    alone = 1e3 * median(one_by_one([job]) for job in empty(number))
    return [name, alone, *(number / run(jobs(number)) for jobs in KINDS.values())]


def main() -> None:
    """Print a table for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=200)
    parser.add_argument("--smallest", action="store_true", help="one worker, 10 jobs: does it run to its end?")
    options = parser.parse_args()
    number, sizes = (10, [1]) if options.smallest else (options.jobs, [1, 2, 4])
    limit_to_one_core()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, {number} jobs of each kind\n")
    print("**how many a second**\n")
    print_row(["workers", "an empty job, ms", *(f"{kind} a second" for kind in KINDS)])
    print("|---|---|---|---|---|")
    print_row(row("none, called here", seconds_here, seconds_here, number))
    for size in sizes:
        with cluster(size) as address, Cluster(address) as executor:
            many = JobQueue(executor, lease=PATIENCE, jobs_per_request=2 * size)
            single = JobQueue(executor, lease=PATIENCE)
            print_row(
                row(str(size), lambda jobs, queue=many: seconds_on(queue, jobs),
                    lambda jobs, queue=single: seconds_on(queue, jobs), number)
            )  # fmt: skip


def print_row(cells: Sequence[float | str]) -> None:
    """One line of the table."""
    print("|", " | ".join(cell if isinstance(cell, str) else written(cell) for cell in cells), "|", flush=True)


def written(number: float) -> str:
    """Return a number in three digits, or with all digits before the point."""
    return f"{number:,.0f}" if number >= 100 else f"{number:.3g}"


if __name__ == "__main__":
    main()
