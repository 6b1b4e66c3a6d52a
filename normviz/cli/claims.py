"""`normviz claims`: measure claims of the sources, and compare with the verdicts on record."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.data.output import print_message
from normviz.jobs.executors import limit_to_one_core
from normviz.jobs.failures import describe_error
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import Archive
from normviz.jobs.run import catch_job_failures, create_queue, run_missing
from normviz.topics.claims.claim import SEED_BOUND, Claim, Evidence, ExperimentCheck, build_claim_record
from normviz.topics.claims.claim_list import CLAIMS, get_claims
from normviz.topics.claims.jobs import find_evidence, list_claim_jobs, measure_claim


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--id", action="append", default=[], metavar="ID,ID", help="of these claims; else the quick ones"
    )
    parser.add_argument("--all", action="store_true", help="the long ones too, as jobs whose results are kept")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="first seed; 0 by default")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Measure what the sources claim, and print verdicts and evidence; 1 where one is not the verdict on record.

    Also 1 where a check fails, and 130 where it is interrupted: what is done of the long ones then is kept.
    """
    claims = choose_claims([each for text in arguments.id for each in text.split(",")], arguments.all)
    archive = Archive(ResultCache())
    with catch_job_failures() as code:
        shown = sys.stderr.isatty()
        found, failed = measure_claims(claims, arguments.seed, shown, archive, partial(create_queue, archive))
    if code:
        return code[0]
    print(
        json.dumps(found, ensure_ascii=False, indent=2)
        if arguments.json
        else "\n".join(map(format_claim_record, found))
    )
    wrong = describe_disagreements(found, failed)
    for line in wrong:
        print_message(line)
    return 1 if wrong else 0


def choose_claims(ids: Sequence[str], everything: bool) -> list[Claim]:
    """The claims of these ids, or all, or by default those that are quick; raises InvalidInput."""
    if ids:
        return get_claims(ids)
    return [claim for claim in CLAIMS.values() if everything or claim.is_quick]


def measure_claims(
    claims: Sequence[Claim], seed: int, show_progress: bool, archive: Archive, make_queue: Callable[[int], JobQueue]
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """A record of each claim that could be measured, and by id what failed with the others.

    Checks are measured here and now, on one core as a worker does; experiments are jobs, whose results are kept.
    `desk`: for so many; `shown`: with a progress bar on stderr. Raises what `run_missing` does, and InvalidInput for
    a seed that cannot be.
    """
    if not 0 <= seed < SEED_BOUND:
        raise InvalidInput(f"seed = {seed}; a whole number from 0 to {SEED_BOUND - 1} would do.")
    limit_to_one_core()
    found: dict[str, Evidence] = {}
    failed: dict[str, str] = {}
    tried = [claim for claim in claims if isinstance(claim.check, ExperimentCheck)]
    parts = [*dict.fromkeys(part for claim in tried for part in list_claim_jobs(claim, seed))]
    run_missing(parts, archive, make_queue, show_progress)
    results = archive.of(parts)
    for claim in claims:
        try:
            evidence = find_evidence(claim, seed, results) if claim in tried else measure_claim(claim, seed)
        except Exception as error:
            failed[claim.id] = describe_error(error)
            continue
        if evidence is None:
            failed[claim.id] = "there is no result."
        else:
            found[claim.id] = evidence
    return [build_claim_record(claim, found[claim.id]) for claim in claims if claim.id in found], failed


def format_claim_record(result: Mapping[str, Any]) -> str:
    """A record for people."""
    lines = [f"{result['id']}  {result['verdict']}: {result['claim']}", result["evidence"], result["condition"]]
    return "\n     ".join(line for line in lines if line)


def describe_disagreements(records: Sequence[Mapping[str, Any]], failed: Mapping[str, str]) -> list[str]:
    """A sentence for each claim whose measured verdict is not the one on record, or that could not be measured."""
    return [
        *(f"{claim} cannot be measured: {fault}" for claim, fault in failed.items()),
        *(
            f"{one['id']}: measured {one['verdict']}, on record {one['expected']}. {one['evidence']}"
            for one in records
            if one["verdict"] != one["expected"]
        ),
    ]
