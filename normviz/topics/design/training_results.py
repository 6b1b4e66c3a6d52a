"""Results of the trained schemes: single answers, and counts by set of invariances."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, cast

import numpy as np

from normviz.core.scheme_spec import SchemeSpec
from normviz.core.transformations import TRANSFORMATIONS
from normviz.jobs.results import Results
from normviz.topics.design.demands import Invariances
from normviz.topics.design.training import ANSWER_CODES, TwinTraining
from normviz.topics.design.wording import format_scheme_line

OUTCOME_WORDS = {True: "stay together", False: "part", None: "give no answer"}
"""Words for outputs or losses, by the answer."""


class InvarianceCheck(NamedTuple):
    """Predicted and measured invariance of one scheme to one transformation.

    Attributes:
        row: the scheme.
        transformation: its key.
        predicted: whether the scheme is invariant in theory.
        forward, trained: whether the outputs and the losses stay together; None for no answer.
        forward_gap, training_gap: their relative distances from the original.
        agrees: whether the answers that there are equal the prediction.
        why: why an answer is missing, in sentences; empty if none is.
    """

    row: SchemeSpec
    transformation: str
    predicted: bool
    forward: bool | None
    trained: bool | None
    forward_gap: float
    training_gap: float
    agrees: bool
    why: str


class TwinCount(NamedTuple):
    """Number of schemes by result: all six answers are as predicted, one differs, or one is missing and none differs.

    Then the sum of these three, trained so far, and the number of planned schemes.
    """

    agree: int
    disagree: int
    unanswered: int
    done: int
    of: int


def list_invariance_checks(results: Results) -> list[InvarianceCheck]:
    """Return predicted and measured invariances of all trained schemes, each in the order of `TRANSFORMATIONS`."""
    found = []
    for job, arrays in results.items():
        columns = [arrays[name].ravel().tolist() for name in InvarianceCheck._fields[2:]]
        for at, (predicted, forward, trained, *others) in enumerate(zip(*columns, strict=True)):
            row, column = divmod(at, len(TRANSFORMATIONS))
            scheme, key = cast(TwinTraining, job).rows[row], [*TRANSFORMATIONS][column]
            found.append(InvarianceCheck(scheme, key, predicted, ANSWER_CODES[forward], ANSWER_CODES[trained], *others))
    return found


def count_results_by_invariances(jobs: Sequence[TwinTraining], results: Results) -> dict[Invariances, TwinCount]:
    """Return by predicted set of invariances how many trained schemes have each result."""
    planned = Counter(absorbed for job in jobs for absorbed in job.absorbed)
    found: Counter[tuple[Invariances, str]] = Counter()
    for job, arrays in results.items():
        failed = [~arrays["agrees"].all(1), (arrays["why"] != "").any(1)]
        words = np.select(failed, TwinCount._fields[1:3], TwinCount._fields[0])
        found.update(zip(cast(TwinTraining, job).absorbed, words.tolist(), strict=False))  # those that are done
    counts = {absorbed: [found[absorbed, word] for word in TwinCount._fields[:3]] for absorbed in planned}
    return {absorbed: TwinCount._make([*each, sum(each), planned[absorbed]]) for absorbed, each in counts.items()}


def describe_exceptions(results: Results, layer: str) -> tuple[list[str], list[str]]:
    """Return sentences on the answers that differ from the prediction, and sentences on missing answers."""
    differing, missing = [], []
    for answer in list_invariance_checks(results):
        if answer.agrees and not answer.why:
            continue
        subject = f"{format_scheme_line(answer.row.scheme, layer)}; {TRANSFORMATIONS[answer.transformation].name}"
        predicted = "invariant" if answer.predicted else "not invariant"
        measured = f"the outputs {OUTCOME_WORDS[answer.forward]}, the losses {OUTCOME_WORDS[answer.trained]}"
        if answer.agrees:
            missing.append(f"{subject}: no answer. {answer.why}")
        else:
            differing.append(f"{subject}: {predicted} in theory, but {measured}. {answer.why}".strip())
    return differing, missing
