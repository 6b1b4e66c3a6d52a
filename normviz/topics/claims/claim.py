"""What a claim is, what evidence is, and the rule that makes a verdict of it."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from normviz.core.text import format_number
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.topics.claims.sources import SOURCES
from normviz.topics.experiments.reports import WORDS, Verdict, Word, joined

COUNT = 5
"""Seeds that a measurement is repeated with."""

SEEDS = 10_000
"""A seed is 0 to 9999 wherever the app takes one."""


@dataclass(frozen=True)
class Trial:
    """The claim, tried once in one setting.

    Attributes:
        what: what was measured and where, in words that the numbers follow: "largest difference of x̂ at N = 1"; in
            small letters but for names and symbols.
        holds: whether what is claimed was so.
        values: the numbers, one a seed; or one that depends on no seed; or none.
        fact: whether this is not the claim itself but something that its verdict rests on, which has to hold: that the
            case at hand is not empty, what is right where the claim is wrong, or the condition.
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
        """In a sentence without its full stop."""
        return f"{self.what}: {self.number}" if self.values else self.what

    def record(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "what": self.what,
            "holds": bool(self.holds),
            "fact": self.fact,
            "values": [_plain(each) for each in self.values],
        }


@dataclass(frozen=True)
class Evidence:
    """What was measured about a claim.

    Attributes:
        trials: in the order in which they are read.
        opinion: whether no number can decide; the trials are then what speaks for each side.
        verdicts: of experiments, which have judged what they tried themselves.
    """

    trials: Sequence[Trial]
    opinion: bool = False
    verdicts: Sequence[Verdict] = ()

    @property
    def verdict(self) -> Word:
        """Holds where all trials do, is wrong where none does, and else holds under a condition.

        It is open where a fact does not hold: then there is nothing that a verdict could rest on.
        """
        if not all(trial.holds for trial in self.trials if trial.fact):
            return "open"
        tried: list[Word] = ["holds" if trial.holds else "wrong" for trial in self.trials if not trial.fact]
        return "opinion" if self.opinion else joined([*tried, *(each.word for each in self.verdicts)])

    @property
    def says(self) -> str:
        """All trials with their numbers, and what experiments say, with what that depends on."""
        measured = "; ".join(trial.says.rstrip(".") for trial in self.trials)
        said = [f"{measured}."] if measured else []
        for each in self.verdicts:
            said += [f"{WORDS[each.word]}: {each.says}", *([f"Conditions: {each.condition}"] if each.condition else [])]
        return " ".join(said)

    def record(self) -> dict[str, Any]:
        """As plain data."""
        trials, verdicts = [trial.record() for trial in self.trials], [asdict(each) for each in self.verdicts]
        return {"opinion": self.opinion, "trials": trials, "verdicts": verdicts}

    @staticmethod
    def of(record: Mapping[str, Any]) -> "Evidence":
        """That of a record."""
        trials = [Trial(**{**each, "values": tuple(map(_number, each["values"]))}) for each in record["trials"]]
        return Evidence(trials, record["opinion"], [Verdict(**each) for each in record["verdicts"]])


@dataclass(frozen=True)
class Tried:
    """A check by experiments, which run as jobs: their keys, and what is not as by default."""

    experiments: tuple[str, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)


Check = Callable[[int], Evidence] | Tried
"""Of a first seed, the evidence; or the experiments that give it."""


@dataclass(frozen=True)
class Claim:
    """One claim of the sources.

    Attributes:
        id: in links and on the command line.
        sources: keys of `SOURCES`, of those that say so.
        says: what is claimed, in our own words, a sentence.
        short: the same in a few words, where `says` is long.
        how: what is measured and how, a sentence.
        expected: the verdict on record.
        check: what measures it.
        see: the link to the view of the app that shows it: "/compare?schemes=layer,instance".
        condition: why its verdict is so, in a sentence of at most ten words; then where it holds, or what is right.
        long: whether the check takes more than a second.
        asked: whether the sources ask it as a question; what is said is then this app's answer.
    """

    id: str
    sources: tuple[str, ...]
    says: str
    how: str
    expected: Word
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
            >>> Claim("A", ("000",), "So.", "", "wrong", Tried(()), "/", "It is 0.5. Here it is 1.").reason
            'It is 0.5.'
        """
        return self.condition.partition(". ")[0].removesuffix(".") + "."

    @property
    def quick(self) -> bool:
        """Whether the check takes less than a second."""
        return not self.long and not isinstance(self.check, Tried)


def _plain(value: float) -> float | None:
    """A number of a record; JSON has none that is not finite."""
    return float(value) if np.isfinite(value) else None


def _number(value: float | None) -> float:
    """What `_plain` made of a number."""
    return float("nan") if value is None else value


def seeds_from(seed: int, count: int = COUNT) -> list[int]:
    """So many seeds, from the first one; behind the last seed comes 0."""
    return [(seed + k) % SEEDS for k in range(count)]


def over(seed: int, measure: Callable[[int], float], count: int = COUNT) -> tuple[float, ...]:
    """A measurement with so many seeds, from the first one."""
    return tuple(float(measure(each)) for each in seeds_from(seed, count))


def same(what: str, values: Iterable[float], fact: bool = False) -> Trial:
    """A trial that holds where all relative differences are those of sums in another order, in float64."""
    return below(what, values, RELATIVE_TOLERANCES["float64"], fact)


def apart(what: str, values: Iterable[float], least: float, fact: bool = False) -> Trial:
    """A trial that holds where every number is at least `least`."""
    found = tuple(values)
    return Trial(what, all(np.isfinite(each) and each >= least for each in found), found, fact)


def below(what: str, values: Iterable[float], most: float, fact: bool = False) -> Trial:
    """A trial that holds where every number is at most `most`."""
    found = tuple(values)
    return Trial(what, all(each <= most for each in found), found, fact)


def record(claim: Claim, found: Evidence) -> dict[str, Any]:
    """A claim with its evidence, as plain data."""
    return {
        "id": claim.id,
        "source": "; ".join(SOURCES[each].citation for each in claim.sources),
        "claim": claim.says,
        "verdict": found.verdict,
        "expected": claim.expected,
        "evidence": found.says,
        "condition": claim.condition,
        "see": claim.see,
        "trials": [trial.record() for trial in found.trials],
        "experiments": [asdict(verdict) for verdict in found.verdicts],
    }
