"""Where jobs run: anything shaped like an executor of `concurrent.futures`, and how a job there is heard and stopped.

A job's function knows nothing of this. `perform` takes its steps, and between them asks and tells a `Control`. In
threads the control is the desk's own `Run`; for a pool of processes a `Relay` makes one that can be pickled. On a
cluster it would hold a `distributed.Event` and call `worker.log_event`.
"""

import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from multiprocessing.managers import SyncManager
from queue import Empty, Queue
from threading import Event, Thread
from typing import Any, Protocol

from normviz.jobs.limits import NO_LIMITS, Limits, resident
from normviz.jobs.spec import Job, Result

TELL = 0.2
"""Seconds between two reports of a job on what it has so far."""

ASK = 0.05
"""Seconds between two questions of a job in another process whether it is to stop."""

WORKERS = 2
"""Jobs that run at a time on one server; the others wait."""


class Control(Protocol):
    """What a job's worker asks and tells."""

    def stopped(self) -> bool:
        """Whether the work is to end, as nobody wants it any more."""

    def tell(self, share: float, result: Any) -> None:
        """The share that is done, and the result so far."""


class Source(Control, Protocol):
    """A control at the desk, for which another one stands in elsewhere."""

    @property
    def over(self) -> bool:
        """Whether the work has ended, so that there is nothing more to pass on."""


def perform(job: Job[Result], control: Control, limits: Limits = NO_LIMITS) -> Result | None:
    """Take the steps of a job until its end, or until the control says stop; the result so far, None before any.

    The first step is told at once, the others at intervals. Raises OverLimit where the job takes more than it may.
    """
    start, before, told = time.monotonic(), resident(), -math.inf
    steps, last = job.steps(), None
    while not control.stopped():
        step = next(steps, None)
        if step is None:
            break
        last, now = step, time.monotonic()
        if step.share < 1 and now - told > TELL:
            control.tell(step.share, step.result())
            told = time.monotonic()
        if limits is not NO_LIMITS:
            limits.check(now - start, resident() - before)
    return None if last is None else last.result()


def on_one_core() -> None:
    """What a worker of a server does first: its jobs are many and small, and would only wait for each other.

    The same for all, since a sum over several cores is not the same to the last digit.
    """
    with suppress(ImportError):  # which the first training tells
        import torch

        torch.set_num_threads(1)


def threads(workers: int = WORKERS, initializer: Callable[[], object] | None = None) -> ThreadPoolExecutor:
    """A pool of threads; each calls the initializer before its first job."""
    return ThreadPoolExecutor(workers, thread_name_prefix="job", initializer=initializer)


@dataclass
class Remote:
    """The control of one job in another process: asks an event and tells a queue, which a manager serves."""

    number: int
    stop: Event
    told: "Queue[tuple[int, float, Any]]"
    asked: float = 0.0
    heard: bool = False

    def stopped(self) -> bool:
        """Whether the work is to end; asked at intervals, since every question goes to the manager's process."""
        if not self.heard and time.monotonic() - self.asked > ASK:
            self.heard, self.asked = self.stop.is_set(), time.monotonic()
        return self.heard

    def tell(self, share: float, result: Any) -> None:
        """Put it into the queue, which the desk's process reads."""
        self.told.put((self.number, share, result))


class Relay:
    """Makes the controls of jobs in other processes, and passes on between them and the desk in a thread of its own.

    Args:
        manager: a started `multiprocessing.Manager()`; when it is shut down the relay ends.
    """

    def __init__(self, manager: SyncManager) -> None:
        self._manager, self._numbers = manager, count()
        self._told: Queue[tuple[int, float, Any]] = manager.Queue()
        self._open: dict[int, tuple[Source, Event]] = {}
        Thread(target=self._pass_on, name="relay", daemon=True).start()

    def __call__(self, run: Source) -> Control:
        """A control that can be pickled, for this run."""
        number, stop = next(self._numbers), self._manager.Event()
        self._open[number] = run, stop
        return Remote(number, stop, self._told)

    def _pass_on(self) -> None:
        while True:
            try:
                number, share, result = self._told.get(timeout=ASK)
                if number in self._open:
                    self._open[number][0].tell(share, result)
            except Empty:
                pass
            except (EOFError, OSError):
                return  # the manager has gone
            except Exception:
                logging.getLogger(__name__).exception("A report of a job could not be kept.")
            for number, (run, stop) in list(self._open.items()):
                if run.over:
                    del self._open[number]
                elif run.stopped():
                    stop.set()
