"""The Jacobian's blocks and its two directions, in any number of elements and in three; and its diagonal alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.core.backward import backward
from normviz.core.fields import Field, Rule
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.data.samples import uneven
from normviz.gradients.projections import KINDS, SIZES, blocks, diagonal_errors, directions, three

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


@pytest.mark.parametrize("seed", range(5))
def test_two_of_three_directions_are_taken(seed):
    one = three(SCHEMES["batch"], 0.0, seed)
    assert abs(one.dx.sum()) + abs(one.dx @ one.x) < 1e-12
    assert sum(one.shares()) == pytest.approx(1.0)
    across = np.cross(np.ones(3), one.xhat)
    np.testing.assert_allclose(np.cross(one.left, across), 0, atol=1e-12)
    np.testing.assert_allclose(three(SCHEMES["none"], 0.0, seed).shares(), (0, 0, 1), atol=1e-15)


@pytest.mark.parametrize("eps", [0.0, 1e-5, 1e3])
@pytest.mark.parametrize("key", ["batch", "rms", "weight"])
def test_every_share_is_one(key, eps):
    assert all(-1e-12 <= share <= 1 for share in three(SCHEMES[key], eps, 0).shares())


def test_the_error_of_the_diagonal_falls_only_where_nothing_is_in_common():
    first, second = diagonal_errors(0.0, 0).values()
    assert (len(first), len(KINDS)) == (len(SIZES), 2)
    # Both parts that are missing are of two directions of H: √(χ²₂/H), whose median is √(2 ln 2/H).
    np.testing.assert_allclose(first[-4:], np.sqrt(2 * np.log(2) / np.array(SIZES[-4:])), rtol=0.25)
    assert second[-4:].min() > 0.8
    assert np.all(first > 1 / np.array(SIZES))


@pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.acts_on == "weight"])
def test_three_weights_are_normalized_as_the_scheme_does_it(key):
    one = three(SCHEMES[key], 0.0, 4)
    weights, d = one.x.reshape(1, 1, 3, 1), one.d.reshape(1, 1, 3, 1)
    np.testing.assert_allclose(one.xhat, normalize(weights, SCHEMES[key], 0.0).xhat.ravel(), atol=1e-12)
    np.testing.assert_allclose(one.dx, backward(weights, d, SCHEMES[key], 0.0).ravel(), atol=1e-12)
