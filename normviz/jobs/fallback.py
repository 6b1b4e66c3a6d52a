"""Jobs whose GPU fails start again on the CPU, and their results name that device.

A failure is any error that a job raises while it uses a GPU, except for errors that say what a user may change. If the
CPU raises as well, that error is the job's. Out of memory leaves the GPU usable for other jobs. After any other failure
this process no longer uses it: a CUDA context that has failed fails at every later call. An idle worker ends, and the
next one tries the GPU again.
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
"""The maximal number of characters of an error that a reason shows."""


class GpuFailures:
    """Record of the GPU failure in this process, after which all jobs run on the CPU.

    Attributes:
        reason: why the GPU is no longer used, in words; empty while it is used.
        reported: the reasons printed on stderr so far.
    """

    def __init__(self) -> None:
        self.reason, self.reported, self._lock = "", set[str](), Lock()

    def report_once(self, reason: str) -> None:
        """Print on stderr, once for each reason, that a job was trained on the CPU and why."""
        with self._lock:
            new = reason not in self.reported
            self.reported.add(reason)
        if new:
            print(f"normviz: Trained on the {describe_fallback_device(reason)}.", file=sys.stderr)


GPU_FAILURES = GpuFailures()


def describe_fallback_device(reason: str) -> str:
    """Return the device name of a result computed on the CPU because the GPU failed: the CPU and the reason."""
    return f"CPU: the GPU failed ({reason})"


def format_device_list(devices: Iterable[str]) -> str:
    """Join the distinct names of devices, to follow "on the": "CPU and the GPU"."""
    return " and the ".join(dict.fromkeys(filter(None, devices)))


def run_with_cpu_fallback(run: "Callable[[Iterator[JobStep[Result]]], Outcome]", job: "Job[Result]") -> Outcome:
    """Return `run(job.steps())`; if the GPU fails, call `run` again with the steps of the job on the CPU.

    Raises the errors of `run`, and those of the job that are no failure of a GPU.
    """
    moved = move_to_cpu(job)
    if moved is job:
        return run(job.steps())
    reason, raised = GPU_FAILURES.reason, list[Exception]()
    if not reason:
        try:
            return run(_record_errors(job.steps(), raised))
        except (InvalidInput, LimitExceeded):
            raise
        except Exception as error:
            if error not in raised or not has_gpu():
                raise
            reason = summarize_error(error)
            if isinstance(error, RuntimeError) and not is_out_of_memory(error):  # torch raises no other errors
                GPU_FAILURES.reason = reason
            clear_error_frames(error)
        raised.clear()
        release_gpu_memory()
    outcome = run(_rename_device(moved.steps(), describe_fallback_device(reason)))
    GPU_FAILURES.report_once(reason)
    return outcome


def _record_errors(steps: "Iterator[JobStep[Result]]", raised: list[Exception]) -> "Iterator[JobStep[Result]]":
    """Yield the steps unchanged; append each error that a step or its result raises to the list `raised`."""

    def noted(call: Callable[[], Outcome]) -> Outcome:
        try:
            return call()
        except Exception as error:
            raised.append(error)
            raise

    while (step := noted(lambda: next(steps, None))) is not None:
        yield replace(step, result=partial(noted, step.result))


def summarize_error(error: BaseException) -> str:
    """Return the first line of an error, cut to MAX_REASON_LENGTH characters."""
    if is_out_of_memory(error):
        return "out of memory"
    first = (str(error).splitlines() or [""])[0].strip().rstrip(".")
    return (first or type(error).__name__)[:MAX_REASON_LENGTH]


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if an error says that a GPU has too little memory."""
    return isinstance(error, RuntimeError) and any(
        text in str(error) for text in ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    )


def _rename_device(steps: "Iterator[JobStep[Result]]", device: str) -> "Iterator[JobStep[Result]]":
    """Yield the steps of a job with `device` as the name of the device in each result."""
    for step in steps:
        yield replace(step, result=partial(_set_device, step.result, device))


def _set_device(result: Callable[[], Any], device: str) -> Any:
    """Return a copy of a result (a dict of arrays or a named tuple) whose device is named `device`."""
    found = result()
    if isinstance(found, dict) and "device" in found:
        return found | {"device": np.array(device)}
    return found._replace(device=device) if hasattr(found, "device") else found
