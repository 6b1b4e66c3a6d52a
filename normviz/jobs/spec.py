"""What a job is: a frozen dataclass of plain data that says what is wanted, and a pure function of it."""

import json
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from hashlib import sha256
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from normviz.jobs.fallback import run_or_fall_back

Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)


@dataclass(frozen=True)
class JobStep(Generic[Result_co]):
    """How far a job has come.

    Attributes:
        share: what is done of it, 0 to 1.
        result: makes the result so far, as plain data. Called only when somebody is told, which most steps are not.
    """

    share: float
    result: Callable[[], Result_co]


class Job(Protocol[Result_co]):
    """A frozen dataclass of plain data. Pickled by the name of its class, it runs in a thread, a process or a cluster.

    Attributes:
        kind: what is done, as a name that stays when the class moves.
        version: raised when the same data give another result than before.
    """

    kind: ClassVar[str]
    version: ClassVar[int]

    def steps(self) -> Iterator[JobStep[Result_co]]:
        """Do the work. It may be abandoned after every step; the result of the last step is that of the job."""


def run_to_end(job: Job[Result]) -> Result:
    """Return the result of a job, run to its end here and now; on the CPU, where its GPU fails."""
    return run_or_fall_back(_last, job)


def _last(steps: Iterator[JobStep[Result]]) -> Result:
    (step,) = deque(steps, maxlen=1)
    return step.result()


def compute_digest(job: Job[Any]) -> str:
    """SHA-256 over the kind, version and data of a job: the name of its result, in every process and on every machine.

    Jobs that are equal have equal digests: 3 and 3.0 are written alike. Raises TypeError for what is not plain data,
    and ValueError for numbers that are not finite.
    """
    named = {"kind": job.kind, "version": job.version, "data": _plain(job)}
    text = json.dumps(named, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return sha256(text.encode()).hexdigest()


def _plain(value: Any) -> Any:
    """Dataclasses, tuples, texts, numbers and None as what JSON has."""
    if value is None or isinstance(value, str | int):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else float(value)
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    raise TypeError(f"{value!r} is not plain data: a dataclass, a tuple, a text, a number or None.")
