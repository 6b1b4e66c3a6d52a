"""The work of a worker: run the steps of a job, report its progress, and stop when its control says so.

A job's own code knows nothing of this. `perform_job` takes its steps, and between them calls a `JobControl`. For jobs
in threads this is the queue's own `JobRun`.
"""

import ctypes
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, Protocol

from normviz.core.errors import InvalidInput
from normviz.jobs import gpu
from normviz.jobs.fallback import run_with_cpu_fallback
from normviz.jobs.gpu import get_peak_gpu_share
from normviz.jobs.limits import NO_LIMITS, JobLimits, read_resident_memory
from normviz.jobs.spec import Job, JobStep, Result

REPORT_SECONDS = 0.2
"""Seconds between two reports of a job on its result so far."""

STOP_POLL_SECONDS = 0.05
"""Seconds between two checks whether a job in another process should stop."""

WORKERS_VARIABLE = "NORMVIZ_WORKERS"
"""The environment variable that holds the number of jobs at a time."""

MAX_SHORT_JOBS = 4
"""The maximal number of short jobs of a page at a time: threads share the interpreter, a process takes 150 MB."""

MAX_WORKERS = 256
"""The maximal number of jobs at a time."""


def count_workers(environment: Mapping[str, str] = os.environ) -> int:
    """Return the number of jobs to run at a time: the variable NORMVIZ_WORKERS, or the cores of this process.

    Raises InvalidInput if the variable holds anything but a whole number from 1 to MAX_WORKERS.
    """
    given = environment.get(WORKERS_VARIABLE, "").strip()
    if not given:
        # On Linux a container may have fewer cores than the machine.
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not (given.isdecimal() and len(given) <= 4 and 1 <= int(given) <= MAX_WORKERS):
        raise InvalidInput(f"{WORKERS_VARIABLE} is {given[:40]!r}; a whole number from 1 to {MAX_WORKERS} would do.")
    return int(given)


def count_short_jobs() -> int:
    """Return the number of short jobs to run at a time: `count_workers()`, at most `MAX_SHORT_JOBS`."""
    return min(count_workers(), MAX_SHORT_JOBS)


class JobControl(Protocol):
    """Interface through which a running job learns whether to stop, and reports its progress."""

    def should_stop(self) -> bool:
        """Return True if no request wants the job any more."""

    def report_progress(self, share: float, result: Any) -> None:
        """Report the finished share, 0 to 1, and the partial result."""


def perform_job(job: Job[Result], control: JobControl, limits: JobLimits = NO_LIMITS) -> Result | None:
    """Run a job until it ends or its control says stop; return its last result, or None before the first one.

    The first step is reported at once, the others at intervals. A job whose GPU fails starts again on the CPU. Raises
    LimitExceeded if the job exceeds a limit.
    """
    start, before = time.monotonic(), read_resident_memory()
    return run_with_cpu_fallback(lambda steps: _perform_steps(steps, control, limits, start, before), job)


def _perform_steps(
    steps: Iterator[JobStep[Result]], control: JobControl, limits: JobLimits, started_at: float, memory_before: int
) -> Result | None:
    reported, last = -math.inf, None
    while not control.should_stop():
        step = next(steps, None)
        if step is None:
            break
        last, now = step, time.monotonic()
        if step.share < 1 and now - reported > REPORT_SECONDS:
            control.report_progress(step.share, step.result())
            reported = time.monotonic()
        if limits is not NO_LIMITS:
            limits.check(now - started_at, read_resident_memory() - memory_before, get_peak_gpu_share())
    return None if last is None else last.result()


def limit_to_one_core() -> None:
    """Make torch use one core in this process, since workers run many small jobs side by side.

    All workers do so, since a sum over several cores differs in its last digits.
    """
    with suppress(ImportError):  # the first training reports it
        import torch

        torch.set_num_threads(1)


def initialize_cuda(job: object) -> None:
    """Initialize CUDA if the job uses it, so that its 1 to 2 GB do not count against the job's memory limit.

    Errors are ignored: the job meets them again.
    """
    if gpu.uses_gpu(job) and gpu.get_gpu_memory() > 0:
        import torch

        with suppress(RuntimeError):
            square = torch.ones(8, 8, device="cuda")
            (square @ square).sum().item()  # loads cuBLAS, and waits
            torch.cuda.reset_peak_memory_stats()


def release_memory() -> None:
    """Return memory that allocators keep after a large job to the system (Linux) and to the GPU."""
    with suppress(OSError, AttributeError, TypeError):  # other systems lack the function or the library
        ctypes.CDLL(None).malloc_trim(0)
    gpu.release_gpu_memory()


def create_thread_pool(workers: int, initializer: Callable[[], object] | None = None) -> ThreadPoolExecutor:
    """Create a pool of threads, each of which calls the initializer before its first job."""
    return ThreadPoolExecutor(workers, thread_name_prefix="job", initializer=initializer)
