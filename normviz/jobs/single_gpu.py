"""An executor that runs all GPU jobs in one process, beside the processes of the other jobs.

A CUDA context takes half a gigabyte of the GPU and one or two of main memory, and contexts take turns on the GPU
instead of sharing it. With one context in every worker, many contexts would fill the memory and no job would end
sooner. So GPU jobs wait for each other: a job that ran on the CPU meanwhile would end later.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future
from typing import Any

from normviz.jobs.gpu import has_gpu, uses_gpu
from normviz.jobs.process_executor import NICENESS, ProcessExecutor


class SingleGpuExecutor(Executor):
    """Executor for a machine with one GPU: one worker process has the GPU, the others use the CPU.

    Args:
        workers: the number of processes for jobs that use no GPU.
        preparations: functions that each process calls while it has no job.
        spare: True to have a process of those that the next job is likely to need ready at any time.
        niceness: of the processes, 0 to 19.
    """

    def __init__(
        self,
        workers: int,
        preparations: Sequence[Callable[[], object]] = (),
        spare: bool = False,
        niceness: int = NICENESS,
    ) -> None:
        on_gpu = spare and has_gpu()
        self._others = ProcessExecutor(
            workers, preparations=preparations, spare=spare and not on_gpu, niceness=niceness
        )
        self._gpu = ProcessExecutor(1, preparations=preparations, spare=on_gpu, niceness=niceness)

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Submit a job, the first argument, to a suitable process; return the future of the function's result."""
        pool = self._gpu if uses_gpu(arguments[0]) else self._others
        return pool.submit(function, *arguments, **named)

    def start_workers(self) -> None:
        """Start the processes that the next jobs are likely to need, without waiting for them."""
        (self._gpu if has_gpu() else self._others).start_workers()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Refuse further jobs, and end the processes after their current jobs."""
        for pool in (self._others, self._gpu):
            pool.shutdown(wait, cancel_futures=cancel_futures)
