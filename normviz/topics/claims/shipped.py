"""The evidence of every claim as shipped with the package, so that the page needs no measurement.

`python -m normviz.topics.claims.shipped` measures the checks and writes the file. Claims that experiments decide have
the shipped results of these experiments.
"""

import json
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import normviz
from normviz.topics.claims.claim import Evidence, ExperimentCheck
from normviz.topics.claims.claim_list import CLAIMS
from normviz.topics.claims.jobs import find_evidence, measure_claim
from normviz.topics.experiments.catalogue import get_experiment
from normviz.topics.experiments.examples import find_example

EVIDENCE_PATH = Path(__file__).with_name("evidence.json")
"""Path of the file of shipped evidence."""

SIGNIFICANT_DIGITS = 4
"""Number of significant digits in the file."""


class ShippedEvidence(NamedTuple):
    """The shipped evidence of a claim, and the version of normviz that measured it from seed 0 on."""

    version: str
    evidence: Evidence


@lru_cache(maxsize=256)
def find_shipped_evidence(id: str) -> ShippedEvidence | None:
    """Return the shipped evidence of the claim `id`; None if an experiment of it has no shipped result."""
    check = CLAIMS[id].check
    if not isinstance(check, ExperimentCheck):
        content = _read_evidence_file()
        return ShippedEvidence(content["version"], Evidence.from_record(content["evidence"][id]))
    experiments = map(get_experiment, check.experiments)
    examples = [find_example(each.key, each.list_jobs(each.setting())) for each in experiments]
    results = {part: arrays for example in examples if example for part, arrays in example.results.items()}
    found = find_evidence(CLAIMS[id], 0, results)
    return None if found is None else ShippedEvidence(next(each.version for each in examples if each), found)


@lru_cache(maxsize=1)
def _read_evidence_file() -> dict[str, Any]:
    content: dict[str, Any] = json.loads(EVIDENCE_PATH.read_text("utf-8"))
    return content


def round_values(record: dict[str, Any]) -> dict[str, Any]:
    """Return an evidence record with all values rounded to `SIGNIFICANT_DIGITS` significant digits."""
    short = [
        each
        | {"values": [None if value is None else float(f"{value:.{SIGNIFICANT_DIGITS}g}") for value in each["values"]]}
        for each in record["trials"]
    ]
    return record | {"trials": short}


def main() -> None:
    """Measure all checks that no experiment decides, and write the shipped file."""
    checks = [claim for claim in CLAIMS.values() if not isinstance(claim.check, ExperimentCheck)]
    lines = [
        f"{json.dumps(claim.id)}: {json.dumps(round_values(measure_claim(claim, 0).to_record()), ensure_ascii=False)}"
        for claim in checks
    ]
    EVIDENCE_PATH.write_text(format_evidence_file(normviz.__version__, lines), "utf-8")


def format_evidence_file(version: str, lines: Sequence[str]) -> str:
    """Return the text of the shipped file: JSON with one line per claim, so that a diff shows changed claims."""
    joined = ",\n".join(lines)
    return f'{{"version": {json.dumps(version)}, "evidence": {{\n{joined}\n}}}}\n'


if __name__ == "__main__":
    main()
