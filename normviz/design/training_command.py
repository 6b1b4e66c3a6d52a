"""The schemes of the map trained, without a browser: what came out by set, and a word on every answer that differs."""

from collections.abc import Callable, Sequence
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.design.command import SHOWN, census_records, counted
from normviz.design.lattice import Trained
from normviz.design.training import Twins, plan, sampled
from normviz.design.training_results import Answer, by_set, told
from normviz.experiments.command import run_missing
from normviz.experiments.experiment import Results
from normviz.experiments.results import Archive
from normviz.jobs.desk import Desk

MOST = 99_999
"""Schemes of a set that may be asked for: no set has as many."""


def asked(layer: str, weights: tuple[str, ...], sample: str | None, seed: int) -> tuple[Twins, ...]:
    """What has to be run; `sample`: so many schemes of every set, "all", or None for what suits a CPU.

    Raises InvalidInput for any other text, and for a seed that cannot be.
    """
    return plan(layer, weights, sampled(layer, weights) if sample is None else each(sample), seed)


def each(sample: str) -> int | None:
    """How many schemes of every set; None for all."""
    if sample == "all":
        return None
    if sample.isdecimal() and len(sample) <= len(str(MOST)) and 1 <= int(sample) <= MOST:
        return int(sample)
    raise InvalidInput(f"--sample {sample}: a whole number from 1 to {MOST:,}, or all, would do.")


def run(parts: Sequence[Twins], shown: bool, archive: Archive, desk: Callable[[int], Desk]) -> Results:
    """Run what is not kept, and give the results of all; arguments and what is raised as of `run_missing`."""
    run_missing(parts, archive, desk, shown)
    return archive.of(parts)


def records(layer: str, weights: tuple[str, ...], parts: Sequence[Twins], results: Results) -> list[dict[str, Any]]:
    """The sets of invariances that there are, each with what training says of its schemes."""
    trained = {absorbed: each._asdict() for absorbed, each in by_set(parts, results).items()}
    return [kind | {"trained": trained[tuple(kind["invariances"])]} for kind in census_records(layer, weights)]


def listed(found: list[dict[str, Any]], untold: Sequence[Answer], layer: str) -> str:
    """The sets of invariances with what training says of each, and the first of the answers that there are not."""
    lines = []
    for line, kind in zip(counted(found).splitlines(), found, strict=True):
        lines += [line, f"{'':8}{Trained(**kind['trained']).words}"]
    lines += [told(answer, layer) for answer in untold[:SHOWN]]
    return "\n".join(
        [*lines, *([f"and {len(untold) - SHOWN:,} more without an answer"] if len(untold) > SHOWN else [])]
    )
