"""That pages do not jump: what the browser counts as layout shift while each is opened and its controls are used."""

import sys

import pytest
from browsing import ROOT
from pairs import mark_heavy_except
from watching import watched

sys.path.insert(0, str(ROOT / "benchmarks"))
import shift

MOST = 0.05
"""Of a whole visit."""

LIGHT = ("lab, values replaced", "invariance")
"""The visits of `make test`."""


def counts(name, what):
    """Return True if what moves in a step moved by itself.

    It did not where it answers a choice: a busy machine answers late.
    """
    return what == "opening" or not shift.VISITS[name][1][what].__qualname__.startswith(("pick", "look."))


@pytest.mark.parametrize("name", mark_heavy_except(LIGHT, shift.VISITS))
def test_nothing_moves_unasked_while_a_page_is_used(server, context, name):
    with watched(context) as page:
        steps = list(shift.visit(shift.watching(page), server, name))
    unasked = {step.what: (round(step.unasked, 4), step.moved) for step in steps if counts(name, step.what)}
    assert sum(moved for moved, _ in unasked.values()) < MOST, unasked
