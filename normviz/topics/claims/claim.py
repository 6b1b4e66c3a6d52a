"""Claims, their evidence, and the rule that derives a verdict."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import nan
from typing import Any

from normviz.topics.claims.sources import SOURCES
from normviz.topics.claims.trials import Trial
from normviz.topics.experiments.reports import Verdict, VerdictKey, combine_verdict_keys


@dataclass(frozen=True)
class Evidence:
    """The evidence for or against a claim: measurements, and verdicts of experiments.

    If no number can decide (`opinion`), the trials support either side.
    """

    trials: Sequence[Trial]
    opinion: bool = False
    verdicts: Sequence[Verdict] = ()

    @property
    def verdict(self) -> VerdictKey:
        """The verdict's key: "holds" if all trials and experiments do, "wrong" if none does, else "holds-if".

        It is "open" if a premise does not hold, and "opinion" if no number can decide.
        """
        if not all(trial.holds for trial in self.trials if trial.fact):
            return "open"
        tried: list[VerdictKey] = ["holds" if trial.holds else "wrong" for trial in self.trials if not trial.fact]
        return "opinion" if self.opinion else combine_verdict_keys([*tried, *(each.word for each in self.verdicts)])

    @property
    def text(self) -> str:
        """All trials with their numbers, then the verdicts of experiments with their conditions, in sentences."""
        measured = "; ".join(trial.text.rstrip(".") for trial in self.trials)
        said = [f"{measured}."] if measured else []
        for each in self.verdicts:
            said += [f"{each.text}: {each.says}", *([f"Conditions: {each.condition}"] if each.condition else [])]
        return " ".join(said)

    def to_record(self) -> dict[str, Any]:
        """Return the evidence as plain data for JSON."""
        trials, verdicts = [trial.to_record() for trial in self.trials], [asdict(each) for each in self.verdicts]
        return {"opinion": self.opinion, "trials": trials, "verdicts": verdicts}

    @staticmethod
    def from_record(record: Mapping[str, Any]) -> "Evidence":
        """Return the evidence that a record of `to_record` holds; numbers that JSON had as null become NaN."""
        trials = [
            Trial(**{**each, "values": tuple(nan if value is None else value for value in each["values"])})
            for each in record["trials"]
        ]
        return Evidence(trials, record["opinion"], [Verdict(**each) for each in record["verdicts"]])


@dataclass(frozen=True)
class ExperimentCheck:
    """A check that runs experiments, given by key, with their default settings as jobs."""

    experiments: tuple[str, ...]


CheckFunction = Callable[[int], Iterable[Trial]]
Check = CheckFunction | ExperimentCheck
"""A function from a seed to the trials; or the experiments that decide the claim."""


@dataclass(frozen=True)
class Claim:
    """One claim of the sources, with its check and the verdict on record.

    Attributes:
        sources: keys of `SOURCES`.
        expected: the verdict on record; "opinion" if no number can decide.
        check: the measurement, which runs with each of several seeds.
        see: the link to the page that shows it: "/compare?schemes=layer,instance".
        says: the claim in our own words, a sentence.
        short: the same in a few words, where `says` is long.
        condition: the reason of the verdict in at most ten words; then its conditions, or the correct statement.
        long: True if the check takes more than a second.
        asked: True if the sources ask a question, which this claim answers.
        once: True if the check runs once, with the first seed, since it draws further seeds itself.
    """

    id: str
    sources: tuple[str, ...]
    expected: VerdictKey
    check: Check
    see: str
    says: str
    condition: str
    long: bool = False
    asked: bool = False
    once: bool = False
    short: str = ""

    @property
    def summary(self) -> str:
        """The claim in one line: `short` if there is one, else `says`."""
        return self.short or self.says

    @property
    def reason(self) -> str:
        """The reason of the verdict: the first sentence of `condition`.

        Example:
            >>> Claim("A", ("000",), "wrong", ExperimentCheck(()), "/", "So.", "It is 0.5. Here it is 1.").reason
            'It is 0.5.'
        """
        return self.condition.partition(". ")[0].removesuffix(".") + "."

    @property
    def is_quick(self) -> bool:
        """True if the check takes less than a second in this process."""
        return not self.long and not isinstance(self.check, ExperimentCheck)


class ClaimList(list[Claim]):
    """The claims of a topic in the order of the page; a decorator at each check adds its claim."""

    def add(
        self, id: str, sources: str, expected: VerdictKey, see: str, **texts: Any
    ) -> Callable[[CheckFunction], CheckFunction]:
        """Return a decorator that adds a `Claim` of these values and the decorated check; spaces separate `sources`."""

        def register(check: CheckFunction) -> CheckFunction:
            self.append(Claim(id, tuple(sources.split()), expected, check, see, **texts))
            return check

        return register


def build_claim_record(claim: Claim, evidence: Evidence) -> dict[str, Any]:
    """Return a claim, its verdict and its evidence as plain data for JSON."""
    return {
        "id": claim.id,
        "source": "; ".join(SOURCES[each].citation for each in claim.sources),
        "claim": claim.says,
        "verdict": evidence.verdict,
        "expected": claim.expected,
        "evidence": evidence.text,
        "condition": claim.condition,
        "see": claim.see,
        "trials": [trial.to_record() for trial in evidence.trials],
        "experiments": [asdict(verdict) for verdict in evidence.verdicts],
    }
