"""The claims without a browser: those asked for, run and set beside what is on record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from normviz.claims.claim import SEEDS, Claim, Evidence, Tried
from normviz.claims.jobs import find_evidence, measure_claim, parts_of
from normviz.claims.ledger import CLAIMS, get_claims
from normviz.claims.sources import SOURCES
from normviz.core.errors import InvalidInput
from normviz.experiments.command import run_missing
from normviz.experiments.results import Archive
from normviz.jobs.desk import Desk
from normviz.jobs.executors import on_one_core
from normviz.jobs.failures import told


def chosen(ids: Sequence[str], everything: bool) -> list[Claim]:
    """The claims of these ids, or all, or by default those that are quick; raises InvalidInput."""
    if ids:
        return get_claims(ids)
    return [claim for claim in CLAIMS.values() if everything or claim.quick]


def run(
    claims: Sequence[Claim], seed: int, shown: bool, archive: Archive, desk: Callable[[int], Desk]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A record of each claim that could be measured, and by id what failed with the others.

    Checks are measured here and now, on one core as a worker does; experiments are jobs, whose results are kept.
    `desk`: for so many; `shown`: with a progress bar on stderr. Raises what `run_missing` does, and InvalidInput for
    a seed that cannot be.
    """
    if not 0 <= seed < SEEDS:
        raise InvalidInput(f"seed = {seed}; a whole number from 0 to {SEEDS - 1} would do.")
    on_one_core()
    found: dict[str, Evidence] = {}
    failed: dict[str, str] = {}
    tried = [claim for claim in claims if isinstance(claim.check, Tried)]
    parts = [*dict.fromkeys(part for claim in tried for part in parts_of(claim, seed))]
    run_missing(parts, archive, desk, shown)
    results = archive.of(parts)
    for claim in claims:
        try:
            evidence = find_evidence(claim, seed, results) if claim in tried else measure_claim(claim, seed)
        except Exception as error:
            failed[claim.id] = told(error)
            continue
        if evidence is None:
            failed[claim.id] = "there is no result."
        else:
            found[claim.id] = evidence
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
