"""Jobs for the tests, in a module that another process can import."""

import os
import signal
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from types import ModuleType, SimpleNamespace
from typing import ClassVar

import numpy as np

from normviz.core.registry import get_scheme
from normviz.jobs import gpu
from normviz.jobs.spec import JobStep


@dataclass(frozen=True)
class Count:
    """The numbers up to n, and in which process each was counted."""

    kind: ClassVar[str] = "count"
    version: ClassVar[int] = 1
    n: int
    pause: float = 0.0

    @property
    def seconds(self) -> float:
        return float(self.n)

    def steps(self) -> Iterator[JobStep[tuple[tuple[int, ...], int]]]:
        for done in range(1, self.n + 1):
            time.sleep(self.pause)
            yield JobStep(done / self.n, partial(_counted, done))


def _counted(done: int) -> tuple[tuple[int, ...], int]:
    return tuple(range(done)), os.getpid()


@dataclass(frozen=True)
class Endless:
    """Goes on until it is stopped."""

    kind: ClassVar[str] = "endless"
    version: ClassVar[int] = 1
    name: str = ""

    def steps(self) -> Iterator[JobStep[int]]:
        step = 0
        while True:
            time.sleep(0.002)
            step += 1
            yield JobStep(0.5, partial(int, step))


@dataclass(frozen=True)
class Fails:
    """Raises what it is told to."""

    kind: ClassVar[str] = "fails"
    version: ClassVar[int] = 1
    message: str

    def steps(self) -> Iterator[JobStep[None]]:
        yield JobStep(0.1, _nothing)
        raise ValueError(self.message)


def _nothing() -> None:
    """The result of a job that has none."""


@dataclass(frozen=True)
class Does:
    """Tells in which process it is, and then does one thing, by the name of its function here."""

    kind: ClassVar[str] = "does"
    version: ClassVar[int] = 1
    what: str
    number: int = 0

    def steps(self) -> Iterator[JobStep[object]]:
        yield JobStep(0.1, os.getpid)
        result = globals()[self.what]()
        yield JobStep(0.9, _nothing)  # where limits are seen
        yield JobStep(1.0, lambda: result)


def process() -> int:
    return os.getpid()


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def killed_once() -> int:
    """End the process the first time, which leaves a file of this name behind; then return the process."""
    path = Path(os.environ["KILLED_ONCE"])
    if not path.exists():
        path.write_text(str(os.getpid()))
        killed()
    return os.getpid()


def leaves() -> None:
    os._exit(3)


def hangs() -> None:
    Event().wait()


def waits() -> None:
    time.sleep(0.05)


def holds() -> None:
    held = bytearray(b"x") * 2**28
    Event().wait()
    del held


def talks() -> str:
    print("a job that prints")
    os.write(1, b"or writes to the standard output itself\n")
    return sys.stdin.read()


def not_finite() -> dict[str, np.ndarray]:
    return {"losses": np.array([np.nan, np.inf, -np.inf, -0.0])}


def surroundings() -> tuple[int, int, str]:
    import torch

    return torch.get_num_threads(), os.nice(0), sys.modules["__main__"].__spec__.name


def cannot_be_pickled() -> object:
    return lambda: None


class AwkwardError(Exception):
    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"{first} and {second}")


def raises_awkwardly() -> None:
    raise AwkwardError("one", "two")


def refuses() -> None:
    get_scheme("group", groups=0)


PREPARED = []


def prepares() -> None:
    PREPARED.append(os.nice(0))


def niceness() -> int:
    return os.nice(0)


def prepared() -> list[int]:
    return PREPARED


HELD = []


def holds_on() -> None:
    HELD.append(bytearray(b"x") * 2**28)


CONTEXT = 2**28
"""Bytes of main memory that the GPU of `set_up_a_gpu` takes when it is used first."""


def set_up_a_gpu() -> None:
    """Put a stand-in for torch with a GPU in place, for `Trains`."""

    def ones(*shape: int, device: str) -> np.ndarray:
        HELD.append(bytearray(b"x") * (0 if HELD else CONTEXT))
        return np.ones(shape)

    torch = ModuleType("torch")
    torch.ones = ones
    torch.cuda = SimpleNamespace(
        is_available=lambda: True, is_initialized=lambda: False, reset_peak_memory_stats=lambda: None
    )
    sys.modules["torch"] = torch
    gpu._measure_driver_memory = lambda: 2**33


@dataclass(frozen=True)
class Trains:
    """Uses the GPU of `set_up_a_gpu` in its first step; gives how much that took of main memory."""

    kind: ClassVar[str] = "trains"
    version: ClassVar[int] = 1
    device: str = "auto"

    def steps(self) -> Iterator[JobStep[int]]:
        import torch

        torch.ones(1, device="cuda")
        for share in (0.5, 1.0):
            yield JobStep(share, partial(len, HELD[0]))
