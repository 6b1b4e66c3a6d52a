"""An executor that runs all GPU jobs in one process, beside the processes of the other jobs.

A CUDA context takes half a gigabyte of the GPU and one or two of main memory, and contexts take turns on the GPU
instead of sharing it. With one context in every worker, many contexts would fill the memory and no job would end
sooner. So GPU jobs wait for each other: a job that ran on the CPU meanwhile would end later.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from normviz.jobs.gpu import uses_gpu
from normviz.jobs.process_executor import ProcessExecutor, SpareWorker
from normviz.jobs.worker import NICENESS


class SingleGpuExecutor(Executor):
    """Executor for a machine with one GPU: one worker process has the GPU, the others use the CPU.

    Args:
        workers: the number of processes for jobs that use no GPU.
        spare: gives the processes; without it, new ones are started.
        niceness: of the processes, 0 to 19.
    """

    def __init__(self, workers: int, spare: SpareWorker | None = None, niceness: int = NICENESS) -> None:
        self._others, self._gpu = (ProcessExecutor(number, spare=spare, niceness=niceness) for number in (workers, 1))

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Submit a function and its job to the process for its device; return the future of the function's result."""
        pool = self._gpu if uses_gpu(arguments[0]) else self._others
        return pool.submit(function, *arguments, **named)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuse further jobs, and end the processes after their current jobs."""
        for pool in (self._others, self._gpu):
            pool.shutdown(wait, cancel_futures=cancel_futures)
