"""Workers in processes of their own, so that the page's process stays free while they compute.

A thread here stands for the job that its worker does: it passes on reports, says stop, holds the limits, and ends a
worker that does not answer. The pools of `concurrent.futures` and of loky fail all jobs when one worker dies, cannot
end one job alone, and need one more process to reach a job at work; the former also import the main module of a page.
"""

import math
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol

from normviz.jobs.executors import STOP_POLL_SECONDS, Control, limit_to_one_core
from normviz.jobs.failures import RemoteTraceback
from normviz.jobs.limits import NO_LIMITS, LimitExceeded, Limits, read_resident_memory
from normviz.jobs.worker import BEGUN, DONE, LOST, RAISED, TOLD

GRACE_SECONDS = 5.0
"""Seconds that a job has to end its step once it is to stop or is over a limit; then its worker is ended."""

IDLE_SECONDS = 300.0
"""Seconds after which a worker with nothing to do is ended, and gives back its memory, also that of a GPU."""

ONE_CORE_VARIABLES = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""What libraries of linear algebra read when they are loaded."""


class WorkerLost(RuntimeError):  # noqa: N818 - the name says what it is
    """The process of a job has ended in the middle of it."""


class RestartableControl(Control, Protocol):
    """The control of a job that another process may begin anew."""

    def restart(self) -> None:
        """Forget how far the job has come."""


class IdleWorkerLost(WorkerLost):
    """The process of earlier jobs had ended before it began this one, which another may do."""


class Worker:
    """One process, which does one job at a time.

    Attributes:
        number: of the process; since: when it had its last job, on the monotonic clock.
    """

    def __init__(self, initializer: Callable[[], object]) -> None:
        paths = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "normviz.jobs.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | ONE_CORE_VARIABLES | {"PYTHONPATH": paths},
        )  # fmt: skip
        self.number, self.since = self._process.pid, time.monotonic()
        self._heard: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._ready, self._used = True, False
        Thread(target=self._listen, name="worker", daemon=True).start()
        self._send(pickle.dumps(initializer))

    @property
    def ready(self) -> bool:
        """Whether it can take a job: not while it has one, nor after one that did not end."""
        return self._ready and self._process.poll() is None

    def perform(self, function: Callable[..., Any], job: Any, control: Control, limits: Limits = NO_LIMITS) -> Any:
        """What the function makes of the job there; None where the job was to stop, did not, and was ended.

        Raises what the job raises, OverLimit, or WorkerLost; LostBefore where it died while it had nothing to do.
        """
        task = pickle.dumps((function, job, limits))
        self._ready, over = False, None
        self._send(task)
        began, before, end = math.inf, 0, math.inf
        while time.monotonic() < end:
            kind, value = self._next()
            if kind == BEGUN:
                began, before, self._used = time.monotonic(), read_resident_memory(self.number), True
            elif kind == TOLD:
                control.tell(*value)
            elif kind == LOST:
                # Its end may not have been known when it was chosen: a process is there until it is waited for.
                idle = self._used and began == math.inf
                raise (IdleWorkerLost if idle else WorkerLost)(self._ended())
            elif kind in (DONE, RAISED):
                self._ready, self.since = True, time.monotonic()
                if kind == RAISED:
                    error, text = value
                    raise error from RemoteTraceback(text)
                return value
            if end == math.inf:
                if control.stopped():
                    self._send(None)
                    end = time.monotonic() + GRACE_SECONDS
                try:
                    limits.check(time.monotonic() - began, read_resident_memory(self.number) - before)
                except LimitExceeded as error:  # which the job sees by itself, if its step ends
                    over, end = error, time.monotonic() + GRACE_SECONDS
        self.end()
        if over is not None:
            raise over
        return None

    def end(self) -> None:
        """End the process, whatever it does."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        with suppress(OSError):  # what was not sent any more
            self._process.stdin.close()

    def _send(self, message: bytes | None) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has gone, which is also heard
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()

    def _next(self) -> tuple[str, Any]:
        """What it tells next; nothing where it is silent for a while."""
        try:
            return self._heard.get(timeout=STOP_POLL_SECONDS)
        except Empty:
            return "", None

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with suppress(Exception), self._process.stdout as out:  # until it is cut off, wherever that is
            while True:
                self._heard.put(pickle.load(out))
        self._heard.put((LOST, None))

    def _ended(self) -> str:
        """That it has ended and how, in words."""
        self._process.kill()  # where it only closed its output
        code = self._process.wait()
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        why = ", as when memory runs out" if code == -9 else ""
        return f"The job's process was ended in the middle of it, {how}{why}. Started again, the job gets a new one."


class ProcessExecutor(Executor):
    """An executor whose jobs run in processes of their own, a bounded number at a time; the others wait.

    A job whose process dies is begun once more, in another process.

    It takes what a `JobQueue` hands in: `submit(function, job, control, limits)`, where the control stays here.

    Args:
        workers: how many processes there are at most; the first jobs start them.
        idle: seconds after which a worker with nothing to do is ended, at twice that at the latest.
        initializer: what each does first.
    """

    def __init__(
        self, workers: int, idle_seconds: float = IDLE_SECONDS, initializer: Callable[[], object] = limit_to_one_core
    ) -> None:
        self._tasks: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._workers, self._idle, self._initializer, self._closed = workers, idle_seconds, initializer, False
        self._free: list[Worker] = []
        self._busy, self._lock = 0, Lock()
        self._threads = [Thread(target=self._serve, name="job", daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """The future of what the function makes of a job; raises RuntimeError after `shutdown`."""
        if self._closed:
            raise RuntimeError("no job is taken after shutdown")
        future: Future[Any] = Future()
        self._tasks.put((future, function, *arguments))
        return future

    def warm(self) -> None:
        """Start the workers that are not there yet, and do not wait until they have imported what they need."""
        with self._lock:
            while not self._closed and self._busy + len(self._free) < self._workers:
                self._free.append(Worker(self._initializer))

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs, and end the workers after what they have."""
        self._closed = True
        while cancel_futures and not self._tasks.empty():
            with suppress(Empty):
                if task := self._tasks.get_nowait():
                    task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _serve(self) -> None:
        while (task := self._next()) is not None:
            future, function, job, control, *limits = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._perform(function, job, control, *limits))
                except BaseException as error:
                    future.set_exception(error)
            del task, future, job, control  # nothing of a job is held while none is there
        self._end_older_than(0.0)

    def _next(self) -> tuple[Any, ...] | None:
        """The next task, None at the end."""
        while True:
            try:
                return self._tasks.get(timeout=self._idle)
            except Empty:
                self._end_older_than(self._idle)

    def _end_older_than(self, seconds: float) -> None:
        """End the workers that had nothing to do for so long."""
        with self._lock:
            since = time.monotonic() - seconds
            old = [worker for worker in self._free if worker.since <= since]
            self._free = [worker for worker in self._free if worker.since > since]
        for worker in old:
            worker.end()

    def _take(self) -> Worker:
        """A worker that is there, or a new one."""
        with self._lock:
            while self._free and not self._free[-1].ready:
                self._free.pop().end()  # it has died of something else
            worker = self._free.pop() if self._free else Worker(self._initializer)
            self._busy += 1
            return worker

    def _perform(self, function: Callable[..., Any], job: Any, control: RestartableControl, *limits: Limits) -> Any:
        """Do a job; once more, in another process, where the first one died in the middle of it."""
        died = False
        while not control.stopped():
            try:
                return self._perform_by(self._take(), function, job, control, *limits)
            except IdleWorkerLost:
                pass
            except WorkerLost:
                if died:
                    raise
                died = True
                control.restart()
        return None

    def _perform_by(
        self, worker: Worker, function: Callable[..., Any], job: Any, control: Control, *limits: Limits
    ) -> Any:
        try:
            return worker.perform(function, job, control, *limits)
        finally:
            with self._lock:
                self._busy -= 1
                keep = worker.ready
                self._free += [worker] * keep
            if not keep:
                worker.end()
