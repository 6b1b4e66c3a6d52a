"""Trials: the measurements of claims, their seeds, and their comparison with bounds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, SupportsFloat

import numpy as np

from normviz.core.text import format_number
from normviz.core.tolerances import RELATIVE_TOLERANCES

SEED_COUNT = 5
"""Number of seeds of a repeated measurement."""

SEED_BOUND = 10_000
"""Bound of all seeds, exclusive."""


def list_seeds(seed: int) -> list[int]:
    """Return `SEED_COUNT` consecutive seeds from `seed` on; after the largest seed comes 0."""
    return [(seed + k) % SEED_BOUND for k in range(SEED_COUNT)]


@dataclass(frozen=True)
class Trial:
    """One measurement for a claim under one condition, with its outcome.

    Attributes:
        what: the measurement and its setting, in words before the numbers: "largest difference of x̂ at N = 1".
        holds: True if the measurement agrees with the claim.
        values: the numbers, one or more per seed, or none.
        fact: True for a premise of the verdict instead of the claim itself: for example that the case is not empty,
            the right statement where the claim is wrong, or the condition.
    """

    what: str
    holds: bool
    values: tuple[float, ...] = ()
    fact: bool = False

    @property
    def median_and_range(self) -> str:
        """The median of the values and, if they differ, their range: "0.31 (0.28 to 0.4)"; "" without values."""
        if not self.values:
            return ""
        low, middle, high = (format_number(float(each), 3) for each in np.quantile(self.values, (0, 0.5, 1)))
        return middle if low == high else f"{middle} ({low} to {high})"

    @property
    def text(self) -> str:
        """The measurement with its number, without a full stop."""
        return f"{self.what}: {self.median_and_range}" if self.values else self.what

    def to_record(self) -> dict[str, Any]:
        """Return the trial as plain data for JSON, with None for values that are not finite."""
        return {
            "what": self.what,
            "holds": bool(self.holds),
            "fact": self.fact,
            "values": [float(each) if np.isfinite(each) else None for each in self.values],
        }


Numbers = SupportsFloat | Sequence[float] | np.ndarray
"""One number of a measurement, or several."""


def expect_equal(description: str, values: Numbers, fact: bool = False) -> Trial:
    """Return a trial that holds if all relative differences are at most float64's rounding; `fact`: see `Trial`."""
    return expect_at_most(description, values, RELATIVE_TOLERANCES["float64"], fact)


def expect_at_least(description: str, values: Numbers, minimum: float, fact: bool = False) -> Trial:
    """Return a trial that holds if every value is finite and at least `minimum`; `fact`: see `Trial`."""
    found = _list_numbers(values)
    return Trial(description, all(np.isfinite(each) and each >= minimum for each in found), found, fact)


def expect_at_most(description: str, values: Numbers, maximum: float, fact: bool = False) -> Trial:
    """Return a trial that holds if every value is at most `maximum`; `fact`: see `Trial`."""
    found = _list_numbers(values)
    return Trial(description, all(each <= maximum for each in found), found, fact)


def _list_numbers(values: Numbers) -> tuple[float, ...]:
    return tuple(np.ravel(np.asarray(values, float)).tolist())


def join_trials(trials: Sequence[Trial]) -> Trial:
    """Join a trial's outcomes from several seeds: it holds if it holds for each, and has the values of all."""
    values = tuple(value for trial in trials for value in trial.values)
    return Trial(trials[0].what, all(trial.holds for trial in trials), values, trials[0].fact)
