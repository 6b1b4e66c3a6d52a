"""The speed of this machine: measured seconds of jobs over the seconds of their cost models."""

import math
import os
import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np

REMEMBERED_SECONDS = 10.0
"""Modelled seconds of recent jobs of one kind that count; older jobs count less and less."""

PRIOR_SECONDS = 1.0
"""The weight of the guess, as modelled seconds, so that one short job changes the factor little."""

MAX_FACTOR = 20.0
"""The largest factor; the smallest is its inverse."""

PROBE_SECONDS = 9.5e-4
"""CPU seconds of the probe in `measure_slowdown` on the machine of the cost models."""

SETTLING_SECONDS = 3.0
"""The time constant with which the displayed seconds approach a new estimate."""

MeasuredSeconds = tuple[float, float]
"""Seconds on the clock, and modelled seconds of the same work."""


def get_modelled_seconds(job: Any) -> float:
    """Return the expected seconds of a job on the reference machine; 1 for a job without a cost model."""
    return float(getattr(job, "seconds", 1.0))


@lru_cache(maxsize=1)
def measure_slowdown() -> float:
    """Return this machine's time over that of the cost models' machine, for a computation of 5 ms."""
    weights = np.full((64, 64), 0.01, np.float32)

    def probe() -> float:
        x, began = np.full((32, 64), 0.5, np.float32), time.thread_time()
        for _ in range(200):
            x = np.tanh(x @ weights) + 0.5
        return time.thread_time() - began

    return min(probe() for _ in range(5)) / PROBE_SECONDS


def estimate_slowdown() -> float:
    """Estimate the ratio of measured to modelled seconds before any job has run, from a test computation."""
    cores = os.cpu_count() or 1
    busy = os.getloadavg()[0] / cores if hasattr(os, "getloadavg") else 0.0
    return measure_slowdown() * max(busy, 1.0)


class Countdown:
    """Displayed seconds left, which approach each new estimate smoothly."""

    def __init__(self) -> None:
        self._last: tuple[float, float, float] | None = None

    def update_estimate(self, estimate: float, now: float) -> float:
        """Return the seconds to display for a new estimate at the time `now`, all in seconds.

        An estimate that falls with the clock is displayed unchanged. After a jump the ratio of estimate to displayed
        seconds approaches 1, by a factor of e in SETTLING_SECONDS.

        Example:
            >>> countdown = Countdown()
            >>> [round(countdown.update_estimate(*each)) for each in ((20, 0), (19, 1), (90, 2), (89, 3))]
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
    """Estimator of the ratio of measured to modelled seconds for each kind of job; safe in threads.

    `guess` returns the expected ratio of a kind before one of its jobs has run.
    """

    def __init__(self, guess: Callable[[], float] = lambda: 1.0) -> None:
        self._guess = guess
        self._sums: dict[str, MeasuredSeconds] = {}
        self._lock = Lock()

    def add_measurement(self, kind: str, seconds: float, modelled: float) -> None:
        """Record the measured and the modelled seconds of a finished job of a kind."""
        with self._lock:
            taken, model = self._sums.get(kind, (0.0, 0.0))
            taken, model = taken + seconds, model + modelled
            kept = min(1.0, REMEMBERED_SECONDS / model) if model else 1.0
            self._sums[kind] = taken * kept, model * kept

    def estimate_slowdown(self, kind: str, running: Mapping[str, MeasuredSeconds] | None = None) -> float:
        """Estimate measured over modelled seconds for a kind of job, between 1 / MAX_FACTOR and MAX_FACTOR.

        `running` holds the measured and modelled seconds of unfinished jobs by kind. The finished jobs and the guess
        together weigh as much as PRIOR_SECONDS of these. Other kinds do not count, since each model has its own error.
        """
        with self._lock:
            taken, model = self._sums.get(kind, (0.0, 0.0))
        before = (PRIOR_SECONDS * self._guess() + taken) / (PRIOR_SECONDS + model)
        seconds, modelled = (running or {}).get(kind, (0.0, 0.0))
        return min(max((PRIOR_SECONDS * before + seconds) / (PRIOR_SECONDS + modelled), 1 / MAX_FACTOR), MAX_FACTOR)
