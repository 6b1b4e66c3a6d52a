"""The evidence of every claim as it comes with the package, so that the page measures nothing before it is asked to.

`python -m normviz.claims.shipped` computes the file anew, from the checks and the shipped results of the experiments.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import normviz
from normviz.claims.claim import Claim, Evidence, Tried
from normviz.claims.jobs import find_evidence, measure
from normviz.claims.ledger import CLAIMS
from normviz.experiments.catalogue import get_experiment
from normviz.experiments.examples import find_example

PATH = Path(__file__).with_name("evidence.json")
"""Where the file is."""

DIGITS = 4
"""Significant digits of a number in the file."""


class Shipped(NamedTuple):
    """Evidence by the ids of the claims, measured from seed 0 on; and the version of normviz that measured it."""

    version: str
    evidence: Mapping[str, Evidence]


@lru_cache(maxsize=1)
def read_shipped() -> Shipped:
    """Return the evidence in the file."""
    content = json.loads(PATH.read_text("utf-8"))
    return Shipped(content["version"], {each: Evidence.of(one) for each, one in content["evidence"].items()})


def compute_evidence(claim: Claim) -> Evidence:
    """Measure a claim from seed 0 on, or read the shipped results of its experiments.

    Raises ValueError where one of these is missing.
    """
    if not isinstance(claim.check, Tried):
        return measure(claim, 0)
    results: dict[Any, Any] = {}
    for key in claim.check.experiments:
        experiment = get_experiment(key)
        example = find_example(key, experiment.parts(experiment.setting()))
        results |= example.results if example else {}
    found = find_evidence(claim, 0, results)
    if found is None:
        raise ValueError(f"{claim.id}: an experiment has no shipped result; `make results` computes it.")
    return found


def shorten_values(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record of some evidence with all numbers in `DIGITS` significant digits."""
    short = [
        each | {"values": [None if value is None else float(f"{value:.{DIGITS}g}") for value in each["values"]]}
        for each in record["trials"]
    ]
    return record | {"trials": short}


def main() -> None:
    """Write the file."""
    evidence = {claim.id: shorten_values(compute_evidence(claim).record()) for claim in CLAIMS.values()}
    content = {"version": normviz.__version__, "evidence": evidence}
    PATH.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main()
