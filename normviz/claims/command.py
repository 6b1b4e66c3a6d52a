"""The claims without a browser: those asked for, run and set beside what is on record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from normviz.claims.claim import Claim, Evidence
from normviz.claims.jobs import evidence, evidence_of, faults, long_parts
from normviz.claims.ledger import CLAIMS, get_claims
from normviz.claims.sources import SOURCES
from normviz.experiments.command import Failed, run_missing
from normviz.experiments.results import Archive
from normviz.jobs.desk import Desk


def chosen(ids: Sequence[str], everything: bool) -> list[Claim]:
    """The claims of these ids, or all, or by default those that are quick; raises InvalidInput."""
    if ids:
        return get_claims(ids)
    return [claim for claim in CLAIMS.values() if everything or claim.quick]


def run(
    claims: Sequence[Claim], seed: int, shown: bool, archive: Archive, desk: Callable[[int], Desk]
) -> list[dict[str, Any]]:
    """A record of each claim; the quick ones are measured here and now, the others are jobs whose results are kept.

    `desk`: for so many jobs; `shown`: with a progress bar on stderr. Raises what `run_missing` does.
    """
    found = {claim.id: evidence_of(claim.id, seed) for claim in claims if claim.quick}
    long = [claim for claim in claims if not claim.quick]
    wanted = long_parts(long, seed)
    run_missing(wanted, archive, desk, shown)
    results = archive.of(wanted)
    for claim, fault in faults(seed, results).items():
        raise Failed(f"{claim} cannot be measured: {fault}")
    found |= evidence(long, seed, results)
    return [record(claim, found[claim.id]) for claim in claims]


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


def printed(one: Mapping[str, Any]) -> str:
    """A record for people."""
    lines = [f"{one['id']}  {one['verdict']}: {one['claim']}", one["evidence"], one["condition"]]
    return "\n     ".join(line for line in lines if line)


def disagreement(one: Mapping[str, Any]) -> str:
    """Where the measured verdict is not the recorded one, that in a sentence; else nothing."""
    if one["verdict"] == one["expected"]:
        return ""
    return f"{one['id']}: measured {one['verdict']}, on record {one['expected']}. {one['evidence']}"
