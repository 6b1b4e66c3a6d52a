"""`normviz claims`: measure claims of papers, and compare them with the verdicts on record."""

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.data.output import format_json, print_message
from normviz.jobs.executors import limit_to_one_core
from normviz.jobs.failures import describe_error
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.jobs.run import create_queue, run_missing_jobs
from normviz.topics.claims.claim import Claim, Evidence, ExperimentCheck, build_claim_record
from normviz.topics.claims.claim_list import CLAIMS, get_claims
from normviz.topics.claims.jobs import find_evidence, list_claim_jobs, measure_claim
from normviz.topics.claims.trials import SEED_BOUND


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `claims`."""
    parser.add_argument(
        "--id", action="append", default=[], metavar="ID,ID", help="of these claims; else the quick ones"
    )
    parser.add_argument("--all", action="store_true", help="long claims too, as jobs with cached results")
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="first seed; 0 by default")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Measure claims, print verdicts and evidence, and return the exit code.

    The exit code is 1 if a verdict differs from the one on record, or a check fails.
    """
    claims = choose_claims([each for text in arguments.id for each in text.split(",")], arguments.all)
    archive = ResultArchive(ResultCache())
    show_progress = sys.stderr.isatty()
    found, errors = measure_claims(claims, arguments.seed, show_progress, archive, partial(create_queue, archive))
    print(format_json(found) if arguments.json else "\n".join(map(format_claim_record, found)))
    wrong = describe_disagreements(found, errors)
    for line in wrong:
        print_message(line)
    return 1 if wrong else 0


def choose_claims(ids: Sequence[str], everything: bool) -> list[Claim]:
    """Return the claims with these ids; without ids, all if `everything`, else the quick ones. Raises InvalidInput."""
    if ids:
        return get_claims(ids)
    return [claim for claim in CLAIMS.values() if everything or claim.is_quick]


def measure_claims(
    claims: Sequence[Claim],
    seed: int,
    show_progress: bool,
    archive: ResultArchive,
    make_queue: Callable[[int], JobQueue],
) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """Measure claims, reusing the results in `archive`; return their records, and a dict of errors by claim id.

    Checks run in this process on one core, as in a worker. Experiments are jobs; the archive caches their results, and
    `make_queue` returns a queue for a number of jobs. Raises JobsFailed if a job failed, and InvalidInput if the seed
    is not from 0 to SEED_BOUND - 1.
    """
    if not 0 <= seed < SEED_BOUND:
        raise InvalidInput(f"seed = {seed}; a whole number from 0 to {SEED_BOUND - 1} would do.")
    limit_to_one_core()
    found: dict[str, Evidence] = {}
    errors: dict[str, str] = {}
    tried = [claim for claim in claims if isinstance(claim.check, ExperimentCheck)]
    jobs = [*dict.fromkeys(job for claim in tried for job in list_claim_jobs(claim, seed))]
    run_missing_jobs(jobs, archive, make_queue, show_progress)
    results = archive.find_results(jobs)
    for claim in claims:
        try:
            evidence = find_evidence(claim, seed, results) if claim in tried else measure_claim(claim, seed)
        except Exception as error:
            errors[claim.id] = describe_error(error)
            continue
        if evidence is None:
            errors[claim.id] = "there is no result."
        else:
            found[claim.id] = evidence
    return [build_claim_record(claim, found[claim.id]) for claim in claims if claim.id in found], errors


def format_claim_record(result: Mapping[str, Any]) -> str:
    """Format the record of a claim as lines of text."""
    lines = [f"{result['id']}  {result['verdict']}: {result['claim']}", result["evidence"], result["condition"]]
    return "\n     ".join(line for line in lines if line)


def describe_disagreements(records: Sequence[Mapping[str, Any]], errors: Mapping[str, str]) -> list[str]:
    """Describe in a sentence each claim in `errors` (by id), and each record whose verdict is not the expected one."""
    return [
        *(f"{claim} cannot be measured: {fault}" for claim, fault in errors.items()),
        *(
            f"{one['id']}: measured {one['verdict']}, on record {one['expected']}. {one['evidence']}"
            for one in records
            if one["verdict"] != one["expected"]
        ),
    ]
