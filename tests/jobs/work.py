"""Jobs for the tests, in a module that another process can import."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from normviz.jobs.spec import Step


@dataclass(frozen=True)
class Count:
    """The numbers up to n, and in which process each was counted."""

    kind: ClassVar[str] = "count"
    version: ClassVar[int] = 1
    n: int
    pause: float = 0.0

    def steps(self) -> Iterator[Step[tuple[tuple[int, ...], int]]]:
        for done in range(1, self.n + 1):
            time.sleep(self.pause)
            yield Step(done / self.n, partial(_counted, done))


def _counted(done: int) -> tuple[tuple[int, ...], int]:
    return tuple(range(done)), os.getpid()


@dataclass(frozen=True)
class Endless:
    """Goes on until it is stopped."""

    kind: ClassVar[str] = "endless"
    version: ClassVar[int] = 1
    name: str = ""

    def steps(self) -> Iterator[Step[int]]:
        step = 0
        while True:
            time.sleep(0.002)
            step += 1
            yield Step(0.5, partial(int, step))


@dataclass(frozen=True)
class Fails:
    """Raises what it is told to."""

    kind: ClassVar[str] = "fails"
    version: ClassVar[int] = 1
    message: str

    def steps(self) -> Iterator[Step[None]]:
        yield Step(0.1, _nothing)
        raise ValueError(self.message)


def _nothing() -> None:
    """The result of a job that has none."""
