"""Jobs whose GPU fails start again on the CPU, and their results say so.

A failure is any error that a job raises while it uses a GPU, except for those that say what a user may change. If the
CPU raises as well, that error is the job's. Out of memory leaves the GPU usable for other jobs. After any other failure
this process leaves it alone: a CUDA context that has failed fails at every later call. A worker ends when it is idle,
and the next one tries anew.
"""

import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.jobs.failures import clear_error_frames
from normviz.jobs.gpu import has_gpu, move_to_cpu, release_gpu_memory
from normviz.jobs.limits import LimitExceeded

if TYPE_CHECKING:
    from normviz.jobs.spec import Job, JobStep

Result = TypeVar("Result")
Outcome = TypeVar("Outcome")

MAX_REASON_LENGTH = 80
"""Characters of an error's first line that are shown."""


class GpuFailures:
    """What has failed in this process.

    Attributes:
        reason: why the GPU is not used any more, in words; empty while it is.
        said: reasons that are on stderr.
    """

    def __init__(self) -> None:
        self.reason, self.said, self._lock = "", set[str](), Lock()

    def report_once(self, reason: str) -> None:
        """Say on stderr, once for each reason, what trained on the CPU and why."""
        with self._lock:
            new = reason not in self.said
            self.said.add(reason)
        if new:
            print(f"normviz: Trained on the {describe_fallback_device(reason)}.", file=sys.stderr)


GPU_FAILURES = GpuFailures()


def describe_fallback_device(reason: str) -> str:
    """Return the device of a result that a GPU failed to give, in words."""
    return f"CPU: the GPU failed ({reason})"


def join_devices(devices: Iterable[str]) -> str:
    """Return the different ones of these devices in words, to follow "on the"."""
    return " and the ".join(dict.fromkeys(filter(None, devices)))


def run_or_fall_back(run: "Callable[[Iterator[JobStep[Result]]], Outcome]", job: "Job[Result]") -> Outcome:
    """Return what `run` makes of the steps of a job; of its steps on the CPU, where the GPU fails.

    Raises what the job raises, where that is no failure of a GPU, and what `run` itself raises.
    """
    moved = move_to_cpu(job)
    if moved is job:
        return run(job.steps())
    reason, raised = GPU_FAILURES.reason, list[Exception]()
    if not reason:
        try:
            return run(_noting(job.steps(), raised))
        except (InvalidInput, LimitExceeded):
            raise
        except Exception as error:
            if error not in raised or not has_gpu():
                raise
            reason = summarize_error(error)
            if isinstance(error, RuntimeError) and not is_out_of_memory(error):  # as all errors of torch are
                GPU_FAILURES.reason = reason
            clear_error_frames(error)
        raised.clear()
        release_gpu_memory()
    outcome = run(_renamed(moved.steps(), describe_fallback_device(reason)))
    GPU_FAILURES.report_once(reason)
    return outcome


def _noting(steps: "Iterator[JobStep[Result]]", raised: list[Exception]) -> "Iterator[JobStep[Result]]":
    """Yield the steps, and note what they and their results raise: a caller may raise errors of its own."""

    def noted(call: Callable[[], Outcome]) -> Outcome:
        try:
            return call()
        except Exception as error:
            raised.append(error)
            raise

    while (step := noted(lambda: next(steps, None))) is not None:
        yield replace(step, result=partial(noted, step.result))


def summarize_error(error: BaseException) -> str:
    """Return an error in a few words."""
    if is_out_of_memory(error):
        return "out of memory"
    first = (str(error).splitlines() or [""])[0].strip().rstrip(".")
    return (first or type(error).__name__)[:MAX_REASON_LENGTH]


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if a GPU had too little memory, as the allocator or a library says it."""
    return isinstance(error, RuntimeError) and any(
        text in str(error) for text in ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    )


def _renamed(steps: "Iterator[JobStep[Result]]", device: str) -> "Iterator[JobStep[Result]]":
    """Yield the steps with results that name a device."""
    for step in steps:
        yield replace(step, result=partial(_on, step.result, device))


def _on(result: Callable[[], Any], device: str) -> Any:
    """Return a result with another device: a mapping with arrays, or a named tuple."""
    found = result()
    if isinstance(found, dict) and "device" in found:
        return found | {"device": np.array(device)}
    return found._replace(device=device) if hasattr(found, "device") else found
