"""The checks as jobs: the quick ones of a topic together, each long one by itself, and experiments as their parts."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any, ClassVar

import numpy as np

import normviz
from normviz.claims.claim import Claim, Evidence, Tried
from normviz.claims.ledger import CLAIMS, topic_of
from normviz.experiments.catalogue import get_experiment
from normviz.experiments.experiment import Arrays, Part, Results
from normviz.experiments.results import done
from normviz.jobs.failures import told
from normviz.jobs.spec import Step
from normviz.jobs.store import Store

QUICK_SECONDS, LONG_SECONDS = 0.1, 5.0
"""About the time of a check."""


def _code() -> str:
    found = sha256()
    for path in sorted(Path(normviz.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    libraries = (f" {name} {version(name)}" for name in ("numpy", "torch", "scikit-learn"))
    return f"{found.hexdigest()[:16]} Python {python_version()}{''.join(libraries)}"


CODE = _code()
"""What tells this code, and the libraries that do its arithmetic, from any other: a result is of one code. Read when it
is imported, as files may change below a server that runs."""


@dataclass(frozen=True)
class Checks:
    """Checks, one after the other: their claims' ids, the first seed, and the code that they are of."""

    kind: ClassVar[str] = "claims"
    version: ClassVar[int] = 1

    ids: tuple[str, ...]
    seed: int
    code: str

    @property
    def seconds(self) -> float:
        """About the time that they take."""
        return sum(QUICK_SECONDS if CLAIMS[each].quick else LONG_SECONDS for each in self.ids)

    def steps(self) -> Iterator[Step[Arrays]]:
        """Claim by claim; where a check raises, that is what came out of it, and the others go on."""
        found: dict[str, Any] = {}
        for number, each in enumerate(self.ids, 1):
            try:
                found[each] = evidence_of(each, self.seed).record()
            except Exception as error:
                found[each] = {"fault": told(error)}
            yield Step(number / len(self.ids), partial(_arrays, dict(found), number / len(self.ids)))


def evidence_of(claim: str, seed: int) -> Evidence:
    """The evidence of a claim that no experiment decides, measured here and now."""
    check = CLAIMS[claim].check
    if isinstance(check, Tried):
        raise TypeError(f"{claim} is decided by experiments")
    return check(seed)


def _arrays(found: Mapping[str, Any], share: float) -> Arrays:
    return {"evidence": np.array(json.dumps(found)), "share": np.array(share), "device": np.array("CPU")}


def quick_parts(claims: Sequence[Claim], seed: int) -> list[Part]:
    """What has to be run for the quick ones of these claims: those of a topic are one job."""
    topics: dict[str, list[str]] = {}
    for claim in claims:
        if claim.quick:
            topics.setdefault(topic_of(claim), []).append(claim.id)
    return [Checks(tuple(ids), seed, CODE) for ids in topics.values()]


def long_parts(claims: Sequence[Claim], seed: int) -> list[Part]:
    """What has to be run for the long ones of these claims; claims share the parts of an experiment."""
    found: list[Part] = []
    for claim in claims:
        if isinstance(claim.check, Tried):
            found += _tried(claim.check, seed)
        elif claim.long:
            found.append(Checks((claim.id,), seed, CODE))
    return [*dict.fromkeys(found)]


def _settings(check: Tried, seed: int) -> list[tuple[Any, Any]]:
    experiments = map(get_experiment, check.experiments)
    return [(each, each.setting(seed=seed, **check.settings)) for each in experiments]


def _tried(check: Tried, seed: int) -> tuple[Part, ...]:
    return _parts_of(check.experiments, tuple(check.settings.items()), seed)


@lru_cache(maxsize=1024)
def _parts_of(experiments: tuple[str, ...], settings: tuple[tuple[str, Any], ...], seed: int) -> tuple[Part, ...]:
    """Return the parts of some experiments; cached, as every session asks for them in every run."""
    pairs = _settings(Tried(experiments, dict(settings)), seed)
    return tuple(part for experiment, setting in pairs for part in experiment.parts(setting))


def _measured(seed: int, results: Results) -> dict[str, Evidence | str]:
    """Return the evidence of the checks so far by id, or what was raised."""
    found: dict[str, Evidence | str] = {}
    for part, arrays in results.items():
        if isinstance(part, Checks) and part.seed == seed:
            found |= _read(str(arrays["evidence"]))
    return found


@lru_cache(maxsize=64)
def _read(text: str) -> dict[str, Evidence | str]:
    """Read the evidence of some claims by id, or what was raised; cached, as every session reads the same texts."""
    return {each: one.get("fault") or Evidence.of(one) for each, one in json.loads(text).items()}


def evidence(claims: Sequence[Claim], seed: int, results: Results) -> tuple[dict[str, Evidence], dict[str, str]]:
    """By id the evidence that there is among the results, and what failed: what was raised, and where."""
    measured = _measured(seed, results)
    found = {each: one for each, one in measured.items() if isinstance(one, Evidence)}
    faults = {each: one for each, one in measured.items() if isinstance(one, str)}
    for claim in claims:
        if isinstance(claim.check, Tried) and all(
            part in results and done(results[part]) for part in _tried(claim.check, seed)
        ):
            try:
                found[claim.id] = _of_experiments(claim, claim.check, seed, results)
            except Exception as error:
                faults[claim.id] = told(error)
    return {claim.id: found[claim.id] for claim in claims if claim.id in found}, faults


def _of_experiments(claim: Claim, check: Tried, seed: int, results: Results) -> Evidence:
    """Return what experiments say of a claim; computed once for the same arrays, whoever asks."""
    arrays = tuple(results[part] for part in _tried(check, seed))
    known = _REPORTED.get((claim.id, seed))
    if known is not None and all(one is other for one, other in zip(known[0], arrays, strict=True)):
        return known[1]
    reports = (
        experiment.report(setting, {part: results[part] for part in experiment.parts(setting)})
        for experiment, setting in _settings(check, seed)
    )
    found = Evidence((), verdicts=[report.verdict_on(claim.id) for report in reports])
    _REPORTED.put((claim.id, seed), (arrays, found))
    return found


_REPORTED: Store[tuple[str, int], tuple[tuple[Arrays, ...], Evidence]] = Store(64)
"""The evidence of experiments, by claim and first seed, with the arrays that it comes from."""
