"""A worker: a process that takes one job after the other from its standard input, and tells on its standard output.

Messages are pickled, and go only between the process that started this one and itself. In come what to do first,
then jobs, and None where the one at work is to stop; when the input ends, as its parent has gone, so does the worker.
Out go kinds with values.
"""

import os
import pickle
import signal
from contextlib import suppress
from queue import SimpleQueue
from threading import Event, Thread
from traceback import format_exception
from typing import Any, BinaryIO

from normviz.jobs.executors import initialize_cuda, release_memory

BEGUN, TOLD, DONE, RAISED, LOST = "begun", "told", "done", "raised", "lost"
"""What is told: a job was taken, and again once the GPU is set up for it; its result so far and share, its result, its
error; and, by the parent, its end."""

NICENESS = 10
"""How far a worker stands back when the processor is wanted by who serves pages; 0 to 19."""

OOM_SCORE = 500
"""How much sooner than others the kernel ends a worker when memory runs out; -1000 to 1000."""


class PipeControl:
    """The control of the job at work: hears that it is to stop, and writes what it is told."""

    def __init__(self, out: BinaryIO) -> None:
        self.stop, self._out = Event(), out

    def stopped(self) -> bool:
        """Whether the work is to end."""
        return self.stop.is_set()

    def tell(self, share: float, result: Any) -> None:
        """The share that is done, and the result so far."""
        self.write(pickle.dumps((TOLD, (share, result))))

    def write(self, message: bytes) -> None:
        """One message, whole."""
        self._out.write(message)
        self._out.flush()


def run_worker() -> None:
    """Do one job after the other, until the input ends."""
    source, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a job prints is no message
    control, tasks = PipeControl(out), SimpleQueue[bytes]()
    Thread(target=_listen, args=(source, tasks, control.stop), daemon=True).start()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the parent, with whom it ends
    _stand_back()
    pickle.loads(tasks.get())()
    while True:
        task = tasks.get()
        control.write(pickle.dumps((BEGUN, None)))
        control.write(_answer(task, control))
        release_memory()


def _listen(source: BinaryIO, tasks: SimpleQueue[bytes], stop: Event) -> None:
    while True:
        try:
            message = pickle.load(source)
        except (EOFError, pickle.UnpicklingError):
            os._exit(0)  # also in the middle of a step
        if message is None:
            stop.set()
        else:
            stop.clear()  # which was meant for the job before
            tasks.put(message)


def _answer(task: bytes, control: PipeControl) -> bytes:
    """Do a job; its result or its error, pickled."""
    try:
        function, job, limits = pickle.loads(task)
        initialize_cuda(job)
        control.write(pickle.dumps((BEGUN, None)))  # once more: memory and time count from here
        return pickle.dumps((DONE, function(job, control, limits)))
    except Exception as error:
        return pickle.dumps((RAISED, (_travelling(error), "".join(format_exception(error)))))


def _travelling(error: Exception) -> Exception:
    """The error, or one of the same words where it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _stand_back() -> None:
    """Let pages go first, and be the one that is ended when memory runs out."""
    with suppress(AttributeError, OSError):
        os.nice(NICENESS)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:
        file.write(str(OOM_SCORE))


if __name__ == "__main__":
    run_worker()
