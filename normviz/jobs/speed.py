"""The speed of this machine: how many seconds a job takes for every second that the model of its cost says."""

import math
import os
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

REMEMBERED_SECONDS = 10.0
"""Modelled seconds of recent jobs that are remembered, of one kind: older jobs count less and less."""

PRIOR_SECONDS = 1.0
"""Modelled seconds that are assumed to have taken as long as guessed, so that a short job alone decides little."""

MAX_FACTOR = 20.0
"""The largest factor; its inverse is the smallest."""

PROBE_SECONDS = 9.5e-4
"""Seconds of CPU that `measure_processor` finds where jobs take as long as modelled."""

SETTLING_SECONDS = 3.0
"""Seconds in which the seconds that are shown come two thirds of the way to a new estimate."""

MeasuredSeconds = tuple[float, float]
"""Seconds on the clock, and the seconds that were modelled for the same work."""


def get_modelled_seconds(job: Any) -> float:
    """Return the seconds that a job should take by the model of its cost, 1 where it has no model."""
    return float(getattr(job, "seconds", 1.0))


@lru_cache(maxsize=1)
def measure_processor() -> float:
    """Return how many seconds of CPU this machine takes for a second of the models, by a computation of 5 ms."""
    weights = np.full((64, 64), 0.01, np.float32)

    def probe() -> float:
        x, began = np.full((32, 64), 0.5, np.float32), time.thread_time()
        for _ in range(200):
            x = np.tanh(x @ weights) + 0.5
        return time.thread_time() - began

    return min(probe() for _ in range(5)) / PROBE_SECONDS


def guess_factor() -> float:
    """Return measured over modelled seconds that are likely before a job has run: slower while others use the cores."""
    cores = os.cpu_count() or 1
    busy = os.getloadavg()[0] / cores if hasattr(os, "getloadavg") else 0.0
    return measure_processor() * max(busy, 1.0)


class Countdown:
    """The seconds left as people read them: a new estimate changes them little by little, so that they do not swing."""

    def __init__(self) -> None:
        self._last: tuple[float, float, float] | None = None

    def follow(self, estimate: float, now: float) -> float:
        """Return the seconds to show for an estimate at a time of the clock, both in seconds.

        As long as the estimate falls with the clock, it is shown as it is. Where it jumps, its ratio to what is shown
        shrinks by a factor of e in SETTLING_SECONDS.

        Example:
            >>> countdown = Countdown()
            >>> [round(countdown.follow(*each)) for each in ((20, 0), (19, 1), (90, 2), (89, 3))]
            [20, 19, 30, 39]
        """
        if self._last is None or estimate <= 0:
            shown = estimate
        else:
            before, old, shown = self._last
            passed = now - before
            shown = max(shown - min(passed, max(old - estimate, 0.0)), min(estimate, 1.0))
            shown *= (estimate / shown) ** (1 - math.exp(-passed / SETTLING_SECONDS)) if shown > 0 else 1.0
        self._last = now, estimate, shown
        return shown


class SpeedEstimator:
    """Measured over modelled seconds of the jobs that a server has run lately, by kind of job; safe in threads.

    Args:
        guess: returns the ratio that is expected of a kind before one of its jobs has run.
    """

    def __init__(self, guess: Callable[[], float] = lambda: 1.0) -> None:
        self._guess = guess
        self._sums: dict[str, MeasuredSeconds] = {}
        self._lock = Lock()

    def add(self, kind: str, seconds: float, modelled: float) -> None:
        """Count work of this kind that took `seconds` and was modelled to take `modelled` seconds."""
        with self._lock:
            taken, model = self._sums.get(kind, (0.0, 0.0))
            taken, model = taken + seconds, model + modelled
            kept = min(1.0, REMEMBERED_SECONDS / model) if model else 1.0
            self._sums[kind] = taken * kept, model * kept

    def factor(self, kind: str, running: Mapping[str, MeasuredSeconds] | None = None) -> float:
        """Return measured over modelled seconds for jobs of this kind, between 1 / MAX_FACTOR and MAX_FACTOR.

        The factor of jobs of this kind that have ended, with the guess, counts as much as PRIOR_SECONDS of the work
        that jobs of this kind have done so far: `running` holds that by kind. Other kinds say nothing: how far a model
        is off differs from kind to kind.
        """
        with self._lock:
            taken, model = self._sums.get(kind, (0.0, 0.0))
        before = (PRIOR_SECONDS * self._guess() + taken) / (PRIOR_SECONDS + model)
        seconds, modelled = (running or {}).get(kind, (0.0, 0.0))
        return min(max((PRIOR_SECONDS * before + seconds) / (PRIOR_SECONDS + modelled), 1 / MAX_FACTOR), MAX_FACTOR)
