"""Claims, their evidence, and the rule that derives a verdict."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from normviz.core.text import format_number
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.topics.claims.sources import SOURCES
from normviz.topics.experiments.reports import VERDICT_TEXTS, Verdict, VerdictKey, combine_verdicts

SEED_COUNT = 5
"""Number of seeds of a repeated measurement."""

SEED_BOUND = 10_000
"""Bound of all seeds, exclusive."""


@dataclass(frozen=True)
class Trial:
    """One measurement of a claim in one setting.

    Attributes:
        what: the measurement and its setting, in words before the numbers: "largest difference of x̂ at N = 1"; in
            small letters but for names and symbols.
        holds: True if the measurement agrees with the claim.
        values: the numbers, one per seed; or one number that depends on no seed; or none.
        fact: True for a premise of the verdict instead of the claim itself. It has to hold: for example that the
            case is not empty, the right statement where the claim is wrong, or the condition.
    """

    what: str
    holds: bool
    values: tuple[float, ...] = ()
    fact: bool = False

    @property
    def number(self) -> str:
        """The median, and the least and the largest where they differ: "0.31 (0.28 to 0.4)"; empty without values."""
        if not self.values:
            return ""
        low, middle, high = (format_number(float(each), 3) for each in np.quantile(self.values, (0, 0.5, 1)))
        return middle if low == high else f"{middle} ({low} to {high})"

    @property
    def says(self) -> str:
        """The measurement in a sentence without its full stop."""
        return f"{self.what}: {self.number}" if self.values else self.what

    def to_record(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        return {
            "what": self.what,
            "holds": bool(self.holds),
            "fact": self.fact,
            "values": [_replace_infinite_by_none(each) for each in self.values],
        }


@dataclass(frozen=True)
class Evidence:
    """The measurements of a claim.

    Attributes:
        trials: in the order in which they are read.
        opinion: True if no number can decide; the trials then support either side.
        verdicts: the verdicts of experiments on their own results.
    """

    trials: Sequence[Trial]
    opinion: bool = False
    verdicts: Sequence[Verdict] = ()

    @property
    def verdict(self) -> VerdictKey:
        """The verdict: "holds" if all trials do, "wrong" if none does, else "holds-if".

        It is "open" if a premise does not hold, and "opinion" if no number can decide.
        """
        if not all(trial.holds for trial in self.trials if trial.fact):
            return "open"
        tried: list[VerdictKey] = ["holds" if trial.holds else "wrong" for trial in self.trials if not trial.fact]
        return "opinion" if self.opinion else combine_verdicts([*tried, *(each.word for each in self.verdicts)])

    @property
    def says(self) -> str:
        """All trials with their numbers, then the verdicts of experiments with their conditions, in sentences."""
        measured = "; ".join(trial.says.rstrip(".") for trial in self.trials)
        said = [f"{measured}."] if measured else []
        for each in self.verdicts:
            said += [
                f"{VERDICT_TEXTS[each.word]}: {each.says}",
                *([f"Conditions: {each.condition}"] if each.condition else []),
            ]
        return " ".join(said)

    def to_record(self) -> dict[str, Any]:
        """Return this as plain data, for JSON."""
        trials, verdicts = [trial.to_record() for trial in self.trials], [asdict(each) for each in self.verdicts]
        return {"opinion": self.opinion, "trials": trials, "verdicts": verdicts}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> "Evidence":
        """Return the evidence of a record."""
        trials = [
            Trial(**{**each, "values": tuple(map(_replace_none_by_nan, each["values"]))}) for each in record["trials"]
        ]
        return Evidence(trials, record["opinion"], [Verdict(**each) for each in record["verdicts"]])


@dataclass(frozen=True)
class ExperimentCheck:
    """A check by experiments, which run as jobs: their keys, and settings other than the defaults."""

    experiments: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


Check = Callable[[int], Evidence] | ExperimentCheck
"""A function from the first seed to the evidence; or the experiments that decide the claim."""


@dataclass(frozen=True)
class Claim:
    """One claim of the sources.

    Attributes:
        id: in links and on the command line.
        sources: keys of `SOURCES`.
        says: the claim in our own words, a sentence.
        short: the same in a few words, where `says` is long.
        how: the measurement, a sentence.
        expected: the verdict on record.
        check: the measurement.
        see: the link to the page that shows it: "/compare?schemes=layer,instance".
        condition: the reason of the verdict in at most ten words; then its conditions, or the correct statement.
        long: True if the check takes more than a second.
        asked: True if the sources ask a question, which this claim answers.
    """

    id: str
    sources: tuple[str, ...]
    says: str
    how: str
    expected: VerdictKey
    check: Check
    see: str
    condition: str
    long: bool = False
    asked: bool = False
    short: str = ""

    @property
    def line(self) -> str:
        """The claim in one line."""
        return self.short or self.says

    @property
    def reason(self) -> str:
        """The first sentence of the condition.

        Example:
            >>> Claim("A", ("000",), "So.", "", "wrong", ExperimentCheck(()), "/", "It is 0.5. Here it is 1.").reason
            'It is 0.5.'
        """
        return self.condition.partition(". ")[0].removesuffix(".") + "."

    @property
    def is_quick(self) -> bool:
        """True if the check takes less than a second."""
        return not self.long and not isinstance(self.check, ExperimentCheck)


def _replace_infinite_by_none(value: float) -> float | None:
    """Return a number for JSON: None if it is not finite."""
    return float(value) if np.isfinite(value) else None


def _replace_none_by_nan(value: float | None) -> float:
    """Return the number of a record: NaN for None."""
    return float("nan") if value is None else value


def list_seeds(seed: int, count: int = SEED_COUNT) -> list[int]:
    """Return `count` seeds from the first one on; 0 follows the largest seed."""
    return [(seed + k) % SEED_BOUND for k in range(count)]


def repeat_over_seeds(seed: int, measure: Callable[[int], float], count: int = SEED_COUNT) -> tuple[float, ...]:
    """Return the measurements of `count` seeds, from the first one on."""
    return tuple(float(measure(each)) for each in list_seeds(seed, count))


def expect_equal(description: str, values: Iterable[float], fact: bool = False) -> Trial:
    """Return a trial that holds if all relative differences are at most the rounding of float64."""
    return expect_at_most(description, values, RELATIVE_TOLERANCES["float64"], fact)


def expect_at_least(description: str, values: Iterable[float], minimum: float, fact: bool = False) -> Trial:
    """Return a trial that holds if every number is at least `least`."""
    found = tuple(values)
    return Trial(description, all(np.isfinite(each) and each >= minimum for each in found), found, fact)


def expect_at_most(description: str, values: Iterable[float], maximum: float, fact: bool = False) -> Trial:
    """Return a trial that holds if every number is at most `most`."""
    found = tuple(values)
    return Trial(description, all(each <= maximum for each in found), found, fact)


def build_claim_record(claim: Claim, evidence: Evidence) -> dict[str, Any]:
    """Return a claim with its evidence, as plain data."""
    return {
        "id": claim.id,
        "source": "; ".join(SOURCES[each].citation for each in claim.sources),
        "claim": claim.says,
        "verdict": evidence.verdict,
        "expected": claim.expected,
        "evidence": evidence.says,
        "condition": claim.condition,
        "see": claim.see,
        "trials": [trial.to_record() for trial in evidence.trials],
        "experiments": [asdict(verdict) for verdict in evidence.verdicts],
    }
