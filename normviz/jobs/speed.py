"""The speed of this machine: how many seconds a job takes for every second that the model of its cost says."""

from collections.abc import Mapping
from threading import Lock
from typing import Any

REMEMBERED_SECONDS = 10.0
"""Modelled seconds of recent jobs that are remembered, of one kind: older jobs count less and less."""

PRIOR_SECONDS = 1.0
"""Modelled seconds that are assumed to have taken as long as modelled, so that a short job alone decides little."""

MAX_FACTOR = 20.0
"""The largest factor; its inverse is the smallest."""

ANY_KIND = ""
"""The key of the sums over jobs of all kinds."""

Measured = tuple[float, float]
"""Seconds on the clock, and the seconds that were modelled for the same work."""


def modelled_seconds(job: Any) -> float:
    """Return the seconds that a job should take by the model of its cost, 1 where it has no model."""
    return float(getattr(job, "seconds", 1.0))


class Speed:
    """Measured over modelled seconds of the jobs that a server has run lately, by kind of job; safe in threads."""

    def __init__(self) -> None:
        self._sums: dict[str, Measured] = {}
        self._lock = Lock()

    def add(self, kind: str, seconds: float, modelled: float) -> None:
        """Count work of this kind that took `seconds` and was modelled to take `modelled` seconds."""
        with self._lock:
            for key in (kind, ANY_KIND):
                taken, model = self._sums.get(key, (0.0, 0.0))
                taken, model = taken + seconds, model + modelled
                kept = min(1.0, REMEMBERED_SECONDS / model) if model else 1.0
                self._sums[key] = taken * kept, model * kept

    def factor(self, kind: str, running: Mapping[str, Measured] | None = None) -> float:
        """Return measured over modelled seconds for jobs of this kind, between 1 / MAX_FACTOR and MAX_FACTOR.

        The factor of jobs that have ended, of this kind or else of all kinds, counts as much as PRIOR_SECONDS of the
        work that jobs of this kind have done so far: `running` holds that by kind.
        """
        with self._lock:
            taken, model = self._sums.get(kind) or self._sums.get(ANY_KIND) or (0.0, 0.0)
        before = (PRIOR_SECONDS + taken) / (PRIOR_SECONDS + model)
        seconds, modelled = (running or {}).get(kind, (0.0, 0.0))
        return min(max((PRIOR_SECONDS * before + seconds) / (PRIOR_SECONDS + modelled), 1 / MAX_FACTOR), MAX_FACTOR)
