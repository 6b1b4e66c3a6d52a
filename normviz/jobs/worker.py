"""A worker: a process that reads jobs from its standard input and writes messages to its standard output.

Messages are pickled, and go only between this process and its parent. The input is an initializer with preparations,
then jobs, and None to stop the current job; when the input ends, as the parent has ended, so does the worker. The
output is pairs of a kind and a value.
"""

import os
import pickle
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from traceback import format_exception
from typing import Any, BinaryIO

from normviz.jobs.executors import initialize_cuda, release_memory

BEGUN, REPORTED, DONE, RAISED, LOST = "begun", "reported", "done", "raised", "lost"
"""Kinds of messages: a job was taken, and again once the GPU is ready for it; its share and result so far; its result;
its error; and, put there by the parent, the end of the worker."""

NICENESS = 10
"""The niceness of a worker for long jobs, and of any while it prepares for its first one: the server comes first."""

OOM_SCORE = 500
"""The kernel's preference to end a worker when memory runs out, -1000 to 1000."""


class PipeControl:
    """Control of the current job in a worker process, which writes reports to a pipe and knows when to stop."""

    def __init__(self, out: BinaryIO) -> None:
        self.stop, self._out = Event(), out

    def should_stop(self) -> bool:
        """Return True if the server has asked the job to stop."""
        return self.stop.is_set()

    def report_progress(self, share: float, result: Any) -> None:
        """Write the finished share, 0 to 1, and the partial result to the pipe."""
        self.write(pickle.dumps((REPORTED, (share, result))))

    def write(self, message: bytes) -> None:
        """Write a whole message to the pipe."""
        self._out.write(message)
        self._out.flush()


def run_worker() -> None:
    """Run the jobs that arrive on standard input, one after the other, until the input ends."""
    source, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # the output of a job is no message
    control, tasks = PipeControl(out), SimpleQueue[bytes]()
    Thread(target=_read_tasks, args=(source, tasks, control.stop), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles it, and ends this process
    _volunteer_for_memory_killer()
    initialize, preparations = pickle.loads(tasks.get())
    _run_at_low_priority(initialize)
    while True:
        while preparations and tasks.empty():
            prepare, *preparations = preparations
            _run_at_low_priority(prepare)
        task = tasks.get()
        control.write(pickle.dumps((BEGUN, None)))
        control.write(_perform_pickled_task(task, control))
        release_memory()


def _run_at_low_priority(prepare: Callable[[], object]) -> None:
    """Call a preparation in a thread of low priority and wait for its end; ignore errors, which a job meets again."""

    def run() -> None:
        if sys.platform == "linux":  # where a thread has a niceness of its own; a process could not take it back
            server = os.getpriority(os.PRIO_PROCESS, os.getppid())
            with suppress(OSError):  # it is lower: the server has given this worker to long jobs
                os.setpriority(os.PRIO_PROCESS, 0, min(server + NICENESS, 19))
        with suppress(Exception):
            prepare()

    thread = Thread(target=run)
    thread.start()
    thread.join()


def _read_tasks(source: BinaryIO, tasks: SimpleQueue[bytes], stop_event: Event) -> None:
    while True:
        try:
            message = pickle.load(source)
        except (EOFError, pickle.UnpicklingError):
            os._exit(0)  # also in the middle of a step
        if message is None:
            stop_event.set()
        else:
            stop_event.clear()  # it was set for the job before
            tasks.put(message)


def _perform_pickled_task(task: bytes, control: PipeControl) -> bytes:
    """Run a pickled task; return the pickled message with its result or error."""
    try:
        function, job, limits = pickle.loads(task)
        initialize_cuda(job)
        control.write(pickle.dumps((BEGUN, None)))  # once more: memory and time count from here
        return pickle.dumps((DONE, function(job, control, limits)))
    except Exception as error:
        return pickle.dumps((RAISED, (_make_picklable(error), "".join(format_exception(error)))))


def _make_picklable(error: Exception) -> Exception:
    """Return the error, or a RuntimeError with the same message if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _volunteer_for_memory_killer() -> None:
    """Have the Linux kernel kill this process before the server when memory runs out."""
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(OOM_SCORE))


if __name__ == "__main__":
    run_worker()
