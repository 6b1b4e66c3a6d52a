"""The specification of a job: a frozen dataclass of plain data, whose steps are a pure function of it."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from typing import Any, ClassVar, Generic, TypeVar

from normviz.jobs.fallback import run_with_cpu_fallback

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class JobStep(Generic[Result_co]):
    """State of a job after a step: the finished share, 0 to 1, and a function that returns the partial result.

    The result is plain data. The function is called for few steps, so that most steps cost nothing.
    """

    share: float
    result: Callable[[], Result_co]


class Job(Generic[Result_co]):
    """Base class of jobs: frozen dataclasses of plain data, which a thread, a process or a cluster can run.

    A subclass names its kind and version in its first line: `class Training(Job[Arrays], kind="training", version=1)`.

    Attributes:
        kind: the name of the computation, which stays when the class moves to another module.
        version: a number to raise when the same data give another result than before.
    """

    kind: ClassVar[str]
    version: ClassVar[int]

    def __init_subclass__(cls, kind: str | None = None, version: int | None = None) -> None:
        for name, value in (("kind", kind), ("version", version)):
            if value is not None:
                setattr(cls, name, value)

    def steps(self) -> Iterator[JobStep[Result_co]]:
        """Run the job and yield a `JobStep` after every step, where the caller may stop; the last has the result."""
        raise NotImplementedError


def run_to_end(job: Job[Result]) -> Result:
    """Run a job to its end in this thread and return its result; start again on the CPU if the GPU fails."""
    return run_with_cpu_fallback(_take_last_result, job)


def _take_last_result(steps: Iterator[JobStep[Result]]) -> Result:
    (step,) = deque(steps, maxlen=1)
    return step.result()


def compute_digest(job: Job[Any]) -> str:
    """Return the SHA-256, as hex digits, of a job's kind, version and data; it names the job's result on any machine.

    Equal jobs have equal digests: 3 and 3.0 are written alike. Raises TypeError for fields that are not plain data, and
    ValueError for numbers that are not finite.
    """
    named = {"kind": job.kind, "version": job.version, "data": _convert_to_plain_data(job)}
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def _convert_to_plain_data(value: Any) -> Any:
    """Convert a value to JSON types. Raises TypeError for a value that is not plain data."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, tuple):
        return [_convert_to_plain_data(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _convert_to_plain_data(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"{value!r} is not plain data: a dataclass, a tuple, a text, a number or None.")
