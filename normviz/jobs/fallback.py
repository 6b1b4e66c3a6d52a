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
from normviz.jobs.failures import let_go
from normviz.jobs.gpu import give_back, has_gpu, move_to_cpu
from normviz.jobs.limits import OverLimit

if TYPE_CHECKING:
    from normviz.jobs.spec import Job, Step

Result = TypeVar("Result")
Outcome = TypeVar("Outcome")

LONGEST = 80
"""Characters of an error's first line that are shown."""


class Record:
    """What has failed in this process.

    Attributes:
        reason: why the GPU is not used any more, in words; empty while it is.
        said: reasons that are on stderr.
    """

    def __init__(self) -> None:
        self.reason, self.said, self._lock = "", set[str](), Lock()

    def say(self, reason: str) -> None:
        """Say on stderr, once for each reason, what trained on the CPU and why."""
        with self._lock:
            new = reason not in self.said
            self.said.add(reason)
        if new:
            print(f"normviz: Trained on the {device_after(reason)}.", file=sys.stderr)


RECORD = Record()


def device_after(reason: str) -> str:
    """Return the device of a result that a GPU failed to give, in words."""
    return f"CPU: the GPU failed ({reason})"


def joined_devices(devices: Iterable[str]) -> str:
    """Return the different ones of these devices in words, to follow "on the"."""
    return " and the ".join(dict.fromkeys(filter(None, devices)))


def run_or_fall_back(run: "Callable[[Iterator[Step[Result]]], Outcome]", job: "Job[Result]") -> Outcome:
    """Return what `run` makes of the steps of a job; of its steps on the CPU, where the GPU fails.

    Raises what the job raises, where that is no failure of a GPU, and what `run` itself raises.
    """
    moved = move_to_cpu(job)
    if moved is job:
        return run(job.steps())
    reason, raised = RECORD.reason, list[Exception]()
    if not reason:
        try:
            return run(_noting(job.steps(), raised))
        except (InvalidInput, OverLimit):
            raise
        except Exception as error:
            if error not in raised or not has_gpu():
                raise
            reason = describe(error)
            if isinstance(error, RuntimeError) and not is_out_of_memory(error):  # as all errors of torch are
                RECORD.reason = reason
            let_go(error)
        raised.clear()
        give_back()
    outcome = run(_renamed(moved.steps(), device_after(reason)))
    RECORD.say(reason)
    return outcome


def _noting(steps: "Iterator[Step[Result]]", raised: list[Exception]) -> "Iterator[Step[Result]]":
    """Yield the steps, and note what they and their results raise: a caller may raise errors of its own."""

    def noted(call: Callable[[], Outcome]) -> Outcome:
        try:
            return call()
        except Exception as error:
            raised.append(error)
            raise

    while (step := noted(lambda: next(steps, None))) is not None:
        yield replace(step, result=partial(noted, step.result))


def describe(error: BaseException) -> str:
    """Return an error in a few words."""
    if is_out_of_memory(error):
        return "out of memory"
    first = (str(error).splitlines() or [""])[0].strip().rstrip(".")
    return (first or type(error).__name__)[:LONGEST]


def is_out_of_memory(error: BaseException) -> bool:
    """Return True if a GPU had too little memory, as the allocator or a library says it."""
    return isinstance(error, RuntimeError) and any(
        text in str(error) for text in ("out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUDNN_STATUS_ALLOC_FAILED")
    )


def _renamed(steps: "Iterator[Step[Result]]", device: str) -> "Iterator[Step[Result]]":
    """Yield the steps with results that name a device."""
    for step in steps:
        yield replace(step, result=partial(_on, step.result, device))


def _on(result: Callable[[], Any], device: str) -> Any:
    """Return a result with another device: a mapping with arrays, or a named tuple."""
    found = result()
    if isinstance(found, dict) and "device" in found:
        return found | {"device": np.array(device)}
    return found._replace(device=device) if hasattr(found, "device") else found
