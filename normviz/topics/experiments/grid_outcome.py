"""The outcome of a grid of learning rates: the networks at the rate chosen on validation digits."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np

from normviz.charts.curves import Curve
from normviz.describe.seeds import choose_learning_rate, compare_seed_by_seed, find_clear_signs, format_mean_percent
from normviz.jobs.results import ArrayJob, Arrays, Results
from normviz.topics.experiments.experiment import ComparisonSetting
from normviz.topics.experiments.reports import make_band_curve

MAX_LEARNED_ERROR = 0.5
"""Networks learn if their mean error is less than this."""


@dataclass(frozen=True)
class GridOutcome:
    """The result of a grid of learning rates and seeds, read at the rate with the lowest final validation error.

    Attributes:
        name, label: the networks' name in sentences, and in figures.
        style: index of their colour, dash and marker in figures.
        rates: the learning rates of the grid.
        result: arrays by name; "validation" and "test" are errors (measured steps, rates, seeds).
    """

    name: str
    label: str
    style: int
    rates: Sequence[float]
    result: Arrays

    @classmethod
    def of(cls, setting: ComparisonSetting, rates: Sequence[float], k: int, result: Arrays) -> Self:
        """Return the outcome of the setting's scheme at position `k`, with its names and colour."""
        return cls(setting.names[k], setting.labels[k], setting.styles[k], rates, result)

    @property
    def best_rate_index(self) -> int:
        """The position of the learning rate with the lowest final validation error, averaged over the seeds."""
        return choose_learning_rate(self.result["validation"][-1])

    @property
    def rate(self) -> float:
        """The learning rate at `best_rate_index`."""
        return self.rates[self.best_rate_index]

    @property
    def is_ended(self) -> bool:
        """True if the training is over."""
        return bool(self.result["share"] == 1)

    def get_at_best_rate(self, name: str) -> np.ndarray:
        """Return a named array of the result (…, rates, seeds) at the best learning rate, as (…, seeds)."""
        return self.result[name][..., self.best_rate_index, :]

    @property
    def errors_by_rate(self) -> np.ndarray:
        """The final test error rates, shape (rates, seeds)."""
        return self.result["test"][-1]

    @property
    def final_errors(self) -> np.ndarray:
        """The final test error rates at the best learning rate, shape (seeds,)."""
        return self.errors_by_rate[self.best_rate_index]

    @property
    def final_error_text(self) -> str:
        """The mean final test error at the best learning rate with its interval: "3.2 ± 0.7%"."""
        return format_mean_percent(self.final_errors)

    @property
    def middle_errors(self) -> np.ndarray:
        """The test error rates at the middle step of the training and the best learning rate, shape (seeds,)."""
        errors = self.get_at_best_rate("test")
        return errors[(len(errors) - 1) // 2]


Key = TypeVar("Key")
AnyOutcome = TypeVar("AnyOutcome", bound=GridOutcome)


def find_outcomes(
    jobs: Mapping[Key, ArrayJob], results: Results, make: Callable[[Key, Arrays], AnyOutcome]
) -> tuple[dict[Key, AnyOutcome], dict[Key, AnyOutcome]]:
    """Return outcomes `make(key, result)` by the keys of `jobs`, in two dicts: with measurements, and finished."""
    found = {key: results.get(job, {}) for key, job in jobs.items()}
    begun = {key: make(key, each) for key, each in found.items() if len(each.get("measured", ()))}
    return begun, {key: each for key, each in begun.items() if each.is_ended}


def make_outcome_curves(
    outcomes: Iterable[AnyOutcome],
    values: Callable[[AnyOutcome], np.ndarray],
    x: Sequence[float] = (),
    scale: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> list[Curve]:
    """Return one curve for each outcome: the means with 95% intervals of `values(outcome)`, shape (points, seeds).

    The curve is over the measured steps, or over `x`, with a marker at each of its values.
    """
    return [
        make_band_curve(
            each.label, np.array(x) if len(x) else each.result["measured"], values(each), each.style, scale, len(x) > 0
        )
        for each in outcomes
    ]


def describe_undertraining(outcomes: Sequence[GridOutcome]) -> str:
    """Return a warning sentence if mean test errors still clearly fall in the second half of the training, else ""."""
    middle, last = (
        np.mean(each, axis=0)
        for each in zip(*((each.middle_errors, each.final_errors) for each in outcomes), strict=True)
    )
    fall = compare_seed_by_seed(middle, last)
    if find_clear_signs([fall]) != [1]:
        return ""
    return f" Undertrained: these errors fall by {fall.text(100)} points on average in the second half of the training."
