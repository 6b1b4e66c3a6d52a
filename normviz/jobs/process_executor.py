"""Workers in processes of their own, so that the server's process stays free while they compute.

One thread here serves each worker: it passes on reports, tells it to stop, checks limits, and ends a worker that does
not answer. The pools of `concurrent.futures` and of loky fail all jobs when one worker dies, cannot end one job alone,
and need one more process to reach a running job; the former also import the main module of a page.
"""

import math
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from contextlib import suppress
from functools import partial
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any, Protocol

from normviz.jobs.executors import STOP_POLL_SECONDS, JobControl, limit_to_one_core
from normviz.jobs.failures import RemoteTraceback
from normviz.jobs.limits import NO_LIMITS, JobLimits, LimitExceeded, read_resident_memory
from normviz.jobs.worker import BEGUN, DONE, LOST, NICENESS, RAISED, REPORTED

GRACE_SECONDS = 5.0
"""Seconds for a job to end its step after a stop or an exceeded limit, before its worker is ended."""

IDLE_SECONDS = 300.0
"""Seconds after which an idle worker is ended, which frees its memory, also on a GPU."""

WORKER_VARIABLES = {
    "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
    "MALLOC_MMAP_THRESHOLD_": str(2**25), "MALLOC_TRIM_THRESHOLD_": str(2**28),
}  # fmt: skip
"""Environment variables of a worker. They limit libraries of linear algebra to one core, and let the allocator of Linux
keep memory between the steps of a job, which take a tenth to a quarter less time without its page faults."""


class WorkerLost(RuntimeError):  # noqa: N818 - the name says what it is
    """Error for a worker process that died while it ran a job."""


class RestartableControl(JobControl, Protocol):
    """Control of a job that may start again in another process."""

    def restart(self) -> None:
        """Reset the reported progress, since the job starts again."""


class IdleWorkerLost(WorkerLost):
    """Error for a worker process that died while idle, before it began its next job."""


class WorkerProcess:
    """Worker process that runs one job at a time; it first calls `initializer`, and `preparations` while it has no job.

    Attributes:
        number: the id of the process.
        since: the monotonic time when its last job ended.
    """

    def __init__(self, initializer: Callable[[], object], preparations: Sequence[Callable[[], object]] = ()) -> None:
        paths = os.pathsep.join(filter(None, sys.path))
        self._process = subprocess.Popen(
            [sys.executable, "-m", "normviz.jobs.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | WORKER_VARIABLES | {"PYTHONPATH": paths},
        )  # fmt: skip
        self.number, self.since = self._process.pid, time.monotonic()
        self._messages: SimpleQueue[tuple[str, Any]] = SimpleQueue()
        self._ready, self._used = True, False
        Thread(target=self._read_messages, name="worker", daemon=True).start()
        self._send_message(pickle.dumps((initializer, preparations)))

    @property
    def is_ready(self) -> bool:
        """True if the process is alive and idle, so that it can take a job."""
        return self._ready and self._process.poll() is None

    def lower_priority(self, niceness: int) -> None:
        """Raise the niceness of the worker process above this process's by 0 to 19, which lowers its priority."""
        with suppress(AttributeError, OSError):  # Windows knows no niceness
            own = os.getpriority(os.PRIO_PROCESS, 0)
            os.setpriority(os.PRIO_PROCESS, self.number, min(own + niceness, 19))

    def perform(
        self, function: Callable[..., Any], job: Any, control: JobControl, limits: JobLimits = NO_LIMITS
    ) -> Any:
        """Call `function` on a job in the process; return the result, or None if `control` (told of progress) stops it.

        Raises the errors of the job, LimitExceeded, WorkerLost, or IdleWorkerLost if the worker died before the job.
        """
        task = pickle.dumps((function, job, limits))
        self._ready, over = False, None
        self._send_message(task)
        began, before, end = math.inf, 0, math.inf
        while time.monotonic() < end:
            kind, value = self._await_message()
            if kind == BEGUN:
                began, before, self._used = time.monotonic(), read_resident_memory(self.number), True
            elif kind == REPORTED:
                control.report_progress(*value)
            elif kind == LOST:
                # It may have died before it was chosen: a process exists until its parent waits for it.
                idle = self._used and began == math.inf
                raise (IdleWorkerLost if idle else WorkerLost)(self._kill_and_describe_end())
            elif kind in (DONE, RAISED):
                self._ready, self.since = True, time.monotonic()
                if kind == RAISED:
                    error, text = value
                    raise error from RemoteTraceback(text)
                return value
            if end == math.inf:
                if control.should_stop():
                    self._send_message(None)
                    end = time.monotonic() + GRACE_SECONDS
                try:
                    limits.check(time.monotonic() - began, read_resident_memory(self.number) - before)
                except LimitExceeded as error:  # the job checks this limit too after its step
                    over, end = error, time.monotonic() + GRACE_SECONDS
        self.kill()
        if over is not None:
            raise over
        return None

    def kill(self) -> None:
        """Kill the process."""
        assert self._process.stdin is not None
        self._process.kill()
        self._process.wait()
        with suppress(OSError):  # the rest of a message was not sent
            self._process.stdin.close()

    def _send_message(self, message: bytes | None) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, which _listen notices
            pickle.dump(message, self._process.stdin)
            self._process.stdin.flush()

    def _await_message(self) -> tuple[str, Any]:
        """Return the process's next message (kind, content), or ("", None) after STOP_POLL_SECONDS without one."""
        try:
            return self._messages.get(timeout=STOP_POLL_SECONDS)
        except Empty:
            return "", None

    def _read_messages(self) -> None:
        assert self._process.stdout is not None
        with suppress(Exception), self._process.stdout as out:  # until the worker ends, perhaps within a message
            while True:
                self._messages.put(pickle.load(out))
        self._messages.put((LOST, None))

    def _kill_and_describe_end(self) -> str:
        """Kill the process if it still runs, and return a sentence with its exit code or signal."""
        self._process.kill()  # it may only have closed its output
        code = self._process.wait()
        how = f"with exit code {code}" if code >= 0 else f"by signal {-code}"
        why = ", as when memory runs out" if code == -9 else ""
        return f"The job's process was ended in the middle of it, {how}{why}. Started again, the job gets a new one."


class SpareWorker:
    """Worker process without a job, ready for the next executor that needs one; safe in threads."""

    def __init__(self, preparations: Sequence[Callable[[], object]] = ()) -> None:
        self._start, self._lock = partial(WorkerProcess, limit_to_one_core, preparations), Lock()
        self._worker = self._start()

    def take(self) -> WorkerProcess:
        """Return the spare worker, or a new one if it has died, and start another as the next spare."""
        with self._lock:
            worker, self._worker = self._worker, self._start()
        if worker.is_ready:
            return worker
        worker.kill()
        return self._start()


class ProcessExecutor(Executor):
    """Executor that runs jobs in a bounded number of worker processes; further jobs wait.

    A job whose process dies starts once more in another process. A `JobQueue` calls
    `submit(function, job, control, limits)`; the control stays in this process.

    Args:
        workers: the maximal number of processes; the first jobs start them.
        idle_seconds: time after which an idle worker is ended; it may take twice as long.
        initializer: a function that each process calls first.
        spare: gives the processes, in place of new ones with the initializer.
        niceness: of the processes, 0 to 19.
    """

    def __init__(
        self,
        workers: int,
        idle_seconds: float = IDLE_SECONDS,
        initializer: Callable[[], object] = limit_to_one_core,
        spare: SpareWorker | None = None,
        niceness: int = NICENESS,
    ) -> None:
        self._tasks: SimpleQueue[tuple[Any, ...] | None] = SimpleQueue()
        self._idle, self._niceness, self._closed = idle_seconds, niceness, False
        self._start_process = partial(WorkerProcess, initializer) if spare is None else spare.take
        self._free: list[WorkerProcess] = []
        self._lock = Lock()
        self._threads = [Thread(target=self._serve_tasks, name="job", daemon=True) for _ in range(workers)]
        for thread in self._threads:
            thread.start()

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Submit a job; return the future of the function's result. Raises RuntimeError after `shutdown`."""
        if self._closed:
            raise RuntimeError("no job is taken after shutdown")
        future: Future[Any] = Future()
        self._tasks.put((future, function, *arguments))
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuse further jobs, and end the workers after their current jobs."""
        self._closed = True
        while cancel_futures and not self._tasks.empty():
            with suppress(Empty):
                if task := self._tasks.get_nowait():
                    task[0].cancel()
        for _ in self._threads:
            self._tasks.put(None)
        for thread in self._threads if wait else ():
            thread.join()

    def _serve_tasks(self) -> None:
        while (task := self._await_task()) is not None:
            future, function, job, control, *limits = task
            if future.set_running_or_notify_cancel():
                try:
                    future.set_result(self._perform_or_retry(function, job, control, *limits))
                except BaseException as error:
                    future.set_exception(error)
            del task, future, job, control  # an idle thread holds no memory of a job
        self._end_idle_workers(0.0)

    def _await_task(self) -> tuple[Any, ...] | None:
        """Wait for the next task, ending workers idle for too long; return the task, or None after `shutdown`."""
        while True:
            try:
                return self._tasks.get(timeout=self._idle)
            except Empty:
                self._end_idle_workers(self._idle)

    def _end_idle_workers(self, seconds: float) -> None:
        with self._lock:
            since = time.monotonic() - seconds
            old = [worker for worker in self._free if worker.since <= since]
            self._free = [worker for worker in self._free if worker.since > since]
        for worker in old:
            worker.kill()

    def _take_worker(self) -> WorkerProcess:
        """Take an idle worker from the free ones, or start a new one; return it."""
        with self._lock:
            while self._free and not self._free[-1].is_ready:
                self._free.pop().kill()  # it has died meanwhile
            if self._free:
                return self._free.pop()
        worker = self._start_process()
        worker.lower_priority(self._niceness)
        return worker

    def _perform_or_retry(
        self, function: Callable[..., Any], job: Any, control: RestartableControl, *limits: JobLimits
    ) -> Any:
        """Call `function` on a job in a worker process, once more if it dies; return the result, or None if stopped."""
        died = False
        while not control.should_stop():
            try:
                return self._perform_by_worker(self._take_worker(), function, job, control, *limits)
            except IdleWorkerLost:
                pass
            except WorkerLost:
                if died:
                    raise
                died = True
                control.restart()
        return None

    def _perform_by_worker(
        self, worker: WorkerProcess, function: Callable[..., Any], job: Any, control: JobControl, *limits: JobLimits
    ) -> Any:
        try:
            return worker.perform(function, job, control, *limits)
        finally:
            with self._lock:
                keep = worker.is_ready
                self._free += [worker] * keep
            if not keep:
                worker.kill()
