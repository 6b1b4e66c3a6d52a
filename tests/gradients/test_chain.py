"""The chain of one field: as the general form has it, forward and backward."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.core.backward import gradients
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.gradients.chain import back, chain

NUMBERS = st.floats(-1000, 1000).map(lambda number: round(number, 3))
FIELDS = st.integers(2, 6).flatmap(
    lambda n: st.tuples(*(st.lists(NUMBERS, min_size=n, max_size=n).map(np.array) for _ in range(2)))
)
LAYER = SCHEMES["layer"]


@settings(max_examples=60, deadline=None)
@given(FIELDS, st.sampled_from([0.0, 1e-5, 1.0]), st.floats(-10, 10), st.floats(-10, 10))
def test_it_is_the_general_form(field, eps, gain, bias):
    x, dy = field
    one = chain(x, dy, eps, gain, bias)
    whole, above = (each.reshape(1, 1, 1, -1) for each in field)
    result, exact = normalize(whole, LAYER, eps, gain, bias), gradients(whole, above, LAYER, eps, gain, bias)
    np.testing.assert_allclose(one.y, result.y.ravel(), rtol=1e-9, atol=1e-9)
    scale = float(np.abs(one.dxhat).max()) / (one.root or 1.0)
    np.testing.assert_allclose(one.dx, exact.dx.ravel(), atol=1e-9 * max(scale, 1e-12))


@settings(max_examples=60, deadline=None)
@given(FIELDS, st.sampled_from([0.0, 1e-5, 1.0]))
def test_what_comes_back_along_the_edges_adds_up(field, eps):
    x, dy = field
    one = chain(x, dy, eps, 2.0, 1.0)
    edges = [back(one, i) for i in range(len(x))]
    scale = 1e-9 * (1.0 + float(np.abs(one.dv).max()) + abs(one.droot))
    for i, each in enumerate(edges):
        assert abs(each["v", "x"] + each["mean", "x"] - one.dx[i]) <= scale
        assert abs(each["xhat", "v"] + each["variance", "v"] - one.dv[i]) <= scale
    assert abs(sum(each["v", "mean"] for each in edges) - one.dmean) <= scale
    assert abs(sum(each["xhat", "root"] for each in edges) - one.droot) <= scale


def test_a_constant_field_without_eps_lets_nothing_through():
    one = chain(np.array([3.1, 3.1, 3.1]), np.array([1.0, 0, -1]), 0.0, 2.0, 1.0)
    assert one.xhat.tolist() == one.dx.tolist() == [0, 0, 0]
    assert one.y.tolist() == [1, 1, 1]
