"""An executor that gives all jobs of a GPU to one process, beside the processes of the other jobs.

A CUDA context takes half a gigabyte of the GPU and one or two of main memory, and contexts take turns on the GPU
instead of sharing it. With a context in every worker a machine of many cores would hold many, and no job would be done
sooner. Jobs of a GPU wait for each other instead: a job that ran on the CPU meanwhile would end later.
"""

from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from normviz.jobs.gpu import has_gpu, uses_gpu
from normviz.jobs.process_executor import ProcessExecutor


class SingleGpuExecutor(Executor):
    """ProcessExecutor for jobs, of which one has the GPU; takes what a `JobQueue` hands in, as `ProcessExecutor` does.

    Args:
        workers: processes for the jobs that use no GPU.
    """

    def __init__(self, workers: int) -> None:
        self._others, self._gpu = ProcessExecutor(workers), ProcessExecutor(1)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Return the future of what the function makes of a job, the first of the arguments."""
        pool = self._gpu if uses_gpu(arguments[0]) else self._others
        return pool.submit(function, *arguments, **named)

    def warm(self) -> None:
        """Start the processes that the next jobs are likely to need, and do not wait for them."""
        (self._gpu if has_gpu() else self._others).warm()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more jobs, and end the processes after what they have."""
        for pool in (self._others, self._gpu):
            pool.shutdown(wait, cancel_futures=cancel_futures)
