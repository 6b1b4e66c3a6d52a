"""Where jobs run: anything shaped like an executor of `concurrent.futures`, and how a job there is heard and stopped.

A job's function knows nothing of this. `perform` takes its steps, and between them asks and tells a `Control`, which
is the desk's own `Run` for jobs in threads.
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
from normviz.jobs.fallback import run_or_fall_back
from normviz.jobs.gpu import get_peak_gpu_share
from normviz.jobs.limits import NO_LIMITS, Limits, read_resident_memory
from normviz.jobs.spec import Job, JobStep, Result

REPORT_SECONDS = 0.2
"""Seconds between two reports of a job on what it has so far."""

STOP_POLL_SECONDS = 0.05
"""Seconds between two questions whether a job in another process is to stop."""

WORKERS_VARIABLE = "NORMVIZ_WORKERS"
"""The environment variable that holds how many jobs run at a time."""

MAX_THREADS = 4
"""Most jobs at a time in threads of the server, which share one interpreter with all pages."""

MAX_WORKERS = 256
"""The most jobs that may run at a time."""


def count_workers(environment: Mapping[str, str] = os.environ) -> int:
    """Return how many jobs run at a time on this machine: NORMVIZ_WORKERS, or the cores that this process may use.

    Raises InvalidInput where the variable holds anything but a whole number from 1 to MAX_WORKERS.
    """
    given = environment.get(WORKERS_VARIABLE, "").strip()
    if not given:
        return _count_cores()
    if not (given.isdecimal() and len(given) <= 4 and 1 <= int(given) <= MAX_WORKERS):
        raise InvalidInput(f"{WORKERS_VARIABLE} is {given[:40]!r}; a whole number from 1 to {MAX_WORKERS} would do.")
    return int(given)


def count_threads() -> int:
    """Return how many jobs run at a time in threads of the server: `count_workers`, but at most `MAX_THREADS`."""
    return min(count_workers(), MAX_THREADS)


def _count_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # Linux; a container may have fewer than the machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Control(Protocol):
    """What a job's worker asks and tells."""

    def stopped(self) -> bool:
        """Whether the work is to end, as nobody wants it any more."""

    def tell(self, share: float, result: Any) -> None:
        """The share that is done, and the result so far."""


def perform(job: Job[Result], control: Control, limits: Limits = NO_LIMITS) -> Result | None:
    """Take the steps of a job until its end, or until the control says stop; the result so far, None before any.

    The first step is told at once, the others at intervals. A job whose GPU fails starts again on the CPU. Raises
    OverLimit where the job takes more than it may.
    """
    start, before = time.monotonic(), read_resident_memory()
    return run_or_fall_back(lambda steps: _perform(steps, control, limits, start, before), job)


def _perform(
    steps: Iterator[JobStep[Result]], control: Control, limits: Limits, start: float, before: int
) -> Result | None:
    told, last = -math.inf, None
    while not control.stopped():
        step = next(steps, None)
        if step is None:
            break
        last, now = step, time.monotonic()
        if step.share < 1 and now - told > REPORT_SECONDS:
            control.tell(step.share, step.result())
            told = time.monotonic()
        if limits is not NO_LIMITS:
            limits.check(now - start, read_resident_memory() - before, get_peak_gpu_share())
    return None if last is None else last.result()


def limit_to_one_core() -> None:
    """What a worker of a server does first: its jobs are many and small, and would only wait for each other.

    The same for all, since a sum over several cores is not the same to the last digit.
    """
    with suppress(ImportError):  # which the first training tells
        import torch

        torch.set_num_threads(1)


def initialize_cuda(job: object) -> None:
    """Let CUDA set itself up for a job that will use it: one or two gigabytes of main memory that are not the job's.

    An error is the job's to meet.
    """
    if gpu.uses_gpu(job) and gpu.get_gpu_memory() > 0:
        import torch

        with suppress(RuntimeError):
            square = torch.ones(8, 8, device="cuda")
            (square @ square).sum().item()  # loads cuBLAS, and waits
            torch.cuda.reset_peak_memory_stats()


def release_memory() -> None:
    """Return to the system what allocators keep after a large job: on Linux half a gigabyte, and a GPU's memory."""
    with suppress(OSError, AttributeError, TypeError):  # elsewhere there is no such function, or no such library
        ctypes.CDLL(None).malloc_trim(0)
    gpu.release_gpu_memory()


def create_thread_pool(workers: int, initializer: Callable[[], object] | None = None) -> ThreadPoolExecutor:
    """A pool of threads; each calls the initializer before its first job."""
    return ThreadPoolExecutor(workers, thread_name_prefix="job", initializer=initializer)
