"""The Jacobian's blocks and its two directions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.core.fields import Field, Rule
from normviz.core.schemes import SCHEMES
from normviz.data.samples import uneven
from normviz.gradients.projections import blocks, directions

SHAPE = (2, 2, 2, 4)
RULES = st.sampled_from(["own", "full", "groups(2)", "window(1)"]).map(Rule.parse)
FIELDS = st.tuples(RULES, RULES, RULES, RULES).map(Field)


@settings(max_examples=50, deadline=None)
@given(st.none() | FIELDS, st.none() | FIELDS, st.sampled_from([0.0, 1e-3, 10.0]), st.integers(0, 99))
def test_a_shift_and_a_factor_are_what_theory_says(summation, suppression, eps, seed):
    scheme = SCHEMES["custom"].with_fields(summation, suppression)
    found = directions(uneven(SHAPE, seed), scheme, eps)
    scale = 1e-9 * float(np.abs(found.jacobian).sum(axis=1).max() + 1)
    if summation is not None:
        assert np.abs(found.shift).max() <= scale
    assert np.abs(found.factor - found.expected).max() <= 10 * scale
    if suppression is not None and eps == 0:
        assert np.abs(found.factor).max() <= 10 * scale


@pytest.mark.parametrize(("key", "fields"), [("batch", 4), ("layer", 2), ("group", 4), ("instance", 8), ("rms", 8)])
def test_nothing_is_outside_of_the_blocks(key, fields):
    scheme = SCHEMES[key]
    laid = blocks(scheme, SHAPE)
    assert (len(laid.edges) - 1, laid.edges[-1], laid.alone) == (fields, 32, True)
    matrix = directions(uneven(SHAPE, 0), scheme, 1e-3).jacobian[np.ix_(laid.order, laid.order)]
    for start, end in zip(laid.edges[:-1], laid.edges[1:], strict=True):
        assert np.all(matrix[start:end, start:end] != 0)
        matrix[start:end, start:end] = 0
    assert np.all(matrix == 0)


def test_overlapping_and_different_fields_are_told():
    assert not blocks(SCHEMES["divisive"], SHAPE).alone
    assert not blocks(SCHEMES["custom"].with_fields(Field.parse("N=full"), Field.parse("C=full")), SHAPE).alone
    assert blocks(SCHEMES["divisive"], (2, 2, 2, 2)).alone  # windows that hold whole axes
