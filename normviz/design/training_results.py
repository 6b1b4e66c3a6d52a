"""What came out of training the schemes of the map: by scheme and transformation, in numbers, and by set."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

import numpy as np

from normviz.core.rows import Row
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.lattice import Trained
from normviz.design.search import Invariances, parts_of
from normviz.design.training import ANSWERS, Twins
from normviz.design.wording import printed
from normviz.experiments.experiment import Arrays, Results

SAID = {number: answer for answer, number in ANSWERS.items()}
"""What a number in arrays says: together, apart, or nothing."""


DOES = {True: "stay together", False: "part", None: "tell nothing"}
"""What twins do, in words."""


class Answer(NamedTuple):
    """What came out of one scheme and one transformation.

    Attributes:
        row, transformation: the scheme, and the key of what is changed.
        absorbed: whether the scheme absorbs it on the layer that is trained, as the rule says.
        forward, trained: whether outputs and losses stay together; None for no answer.
        forward_gap, training_gap: relative distances from the original.
        agrees: whether the answers, as far as there are any, are what the rule says.
        why: why there is none, in sentences; empty where there are both.
    """

    row: Row
    transformation: str
    absorbed: bool
    forward: bool | None
    trained: bool | None
    forward_gap: float
    training_gap: float
    agrees: bool
    why: str


def answers(results: Results, troubled: bool = False) -> Iterator[Answer]:
    """All that came out so far; `troubled`: only what disagrees or has no answer."""
    for part, arrays in results.items():
        wrong, untold = _troubles(arrays)
        chosen = wrong | untold if troubled else np.ones_like(wrong)
        for row, column in zip(*np.nonzero(chosen), strict=True):
            yield _answer(cast(Twins, part), arrays, int(row), int(column))


def _answer(part: Twins, arrays: Arrays, row: int, column: int) -> Answer:
    def at(name: str) -> Any:
        return arrays[name][row, column].item()

    key, why = [*TRANSFORMATIONS][column], at("why")
    return Answer(
        part.rows[row],
        key,
        at("predicted"),
        SAID[at("forward")],
        SAID[at("trained")],
        at("forward_gap"),
        at("training_gap"),
        at("agrees"),
        str(arrays["reasons"][why]) if why >= 0 else "",
    )


def _troubles(arrays: Arrays) -> tuple[np.ndarray, np.ndarray]:
    """By scheme and transformation, what is not as the rule says, and what else cannot be told."""
    wrong = ~arrays["agrees"]
    return wrong, (arrays["why"] >= 0) & ~wrong


def tally(parts: Sequence[Twins], results: Results) -> Trained:
    """In numbers of answers, one for each scheme and transformation."""
    found = [_troubles(arrays) for arrays in results.values()]
    wrong, untold = (sum(int(each[k].sum()) for each in found) for k in (0, 1))
    done = sum(each.size for each, _ in found)
    of = len(TRANSFORMATIONS) * sum(len(part.rows) for part in parts)
    return Trained(done - wrong - untold, wrong, untold, done, of)


def by_set(parts: Sequence[Twins], results: Results) -> dict[Invariances, Trained]:
    """In numbers of schemes, by the set of the map that they are in.

    A scheme disagrees where one of its six answers is not what the rule says, and is without an answer where none is so
    but one cannot be told.
    """
    counts: dict[Invariances, np.ndarray] = defaultdict(lambda: np.zeros(len(Trained._fields), int))
    for part in parts:
        for absorbed in part.absorbed:
            counts[absorbed] += (0, 0, 0, 0, 1)
        if part in results:
            wrong, untold = (np.logical_or.reduce(each, axis=1) for each in _troubles(results[part]))
            for absorbed, is_wrong, is_untold in zip(part.absorbed, wrong, untold, strict=False):
                says = [not (is_wrong or is_untold), is_wrong, is_untold and not is_wrong]
                counts[absorbed] += (*says, 1, 0)
    return {absorbed: Trained(*map(int, each)) for absorbed, each in counts.items()}


def told(answer: Answer, layer: str) -> str:
    """An answer that stands out in a sentence: what the rule says and what came out, or why nothing did."""
    what = f"{named(answer.row, layer)}; {TRANSFORMATIONS[answer.transformation].name}"
    if answer.agrees:
        return f"{what}: no answer. {answer.why}"
    said = "ignored" if answer.absorbed else "not ignored"
    outputs, losses = DOES[answer.forward], DOES[answer.trained]
    return f"{what}: {said}, says the rule; the outputs {outputs}, the losses {losses}. {answer.why}".strip()


def named(row: Row, layer: str) -> str:
    """A scheme in words: "mean over N; root mean square over C"."""
    return printed(row.scheme, layer)


def columns(results: Results) -> dict[str, list[Any]]:
    """All that came out, in columns: a row for each scheme and transformation."""
    found = [*answers(results)]
    parts = {row: parts_of(row.scheme) for row in {each.row for each in found}}
    texts = {row: [None if part is None else str(part) for part in each] for row, each in parts.items()}
    names = ("summation", "suppression", "weights")
    return {
        **{name: [texts[each.row][k] for each in found] for k, name in enumerate(names)},
        "transformation": [each.transformation for each in found],
        "absorbed by the rule": [each.absorbed for each in found],
        "outputs together": [each.forward for each in found],
        "losses together": [each.trained for each in found],
        "gap of the outputs": [each.forward_gap for each in found],
        "gap of the losses": [each.training_gap for each in found],
        "as predicted": [each.agrees and not each.why for each in found],
        "why not told": [each.why for each in found],
    }
