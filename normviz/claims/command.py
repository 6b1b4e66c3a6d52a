"""The claims without a browser: those asked for, run and set beside what is on record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from normviz.claims.claim import SEEDS, Claim, Evidence
from normviz.claims.jobs import evidence, long_parts, quick_parts
from normviz.claims.ledger import CLAIMS, get_claims
from normviz.claims.sources import SOURCES
from normviz.core.errors import InvalidInput
from normviz.experiments.command import run_missing
from normviz.experiments.results import Archive
from normviz.jobs.desk import Desk
from normviz.jobs.executors import on_one_core
from normviz.jobs.spec import finish


def chosen(ids: Sequence[str], everything: bool) -> list[Claim]:
    """The claims of these ids, or all, or by default those that are quick; raises InvalidInput."""
    if ids:
        return get_claims(ids)
    return [claim for claim in CLAIMS.values() if everything or claim.quick]


def run(
    claims: Sequence[Claim], seed: int, shown: bool, archive: Archive, desk: Callable[[int], Desk]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A record of each claim that could be measured, and by id what failed with the others.

    The quick ones are measured here and now, on one core as a worker does; the others are jobs, whose results are
    kept. `desk`: for so many; `shown`: with a progress bar on stderr. Raises what `run_missing` does, and InvalidInput
    for a seed that cannot be.
    """
    if not 0 <= seed < SEEDS:
        raise InvalidInput(f"seed = {seed}; a whole number from 0 to {SEEDS - 1} would do.")
    on_one_core()
    results = {part: finish(part) for part in quick_parts(claims, seed)}
    long = long_parts(claims, seed)
    run_missing(long, archive, desk, shown)
    results |= archive.of(long)
    found, failed = evidence(claims, seed, results)
    failed = {claim.id: "there is no result." for claim in claims if claim.id not in found} | failed
    return [record(claim, found[claim.id]) for claim in claims if claim.id in found], failed


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


def complaints(found: Sequence[Mapping[str, Any]], failed: Mapping[str, str]) -> list[str]:
    """A sentence for each claim whose measured verdict is not the one on record, or that could not be measured."""
    return [
        *(f"{claim} cannot be measured: {fault}" for claim, fault in failed.items()),
        *(
            f"{one['id']}: measured {one['verdict']}, on record {one['expected']}. {one['evidence']}"
            for one in found
            if one["verdict"] != one["expected"]
        ),
    ]
