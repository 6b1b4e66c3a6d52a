"""Gradients of the small tensor in several ways: the formula, central differences, autograd and Algorithm 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.gradients.autograd import differentiate_by_autograd
from normviz.topics.gradients.small import compare_gradients, compute_published_gradient, make_small_tensors

SHAPE = (2, 2, 2, 4)


def eps_for(scheme, eps):
    return 0.0 if scheme.eps is None else eps


@pytest.mark.parametrize("eps", [0.0, 1e-5, 10.0])
@pytest.mark.parametrize("key", SCHEMES)
def test_the_formula_is_what_differences_and_autograd_find(key, eps):
    scheme = SCHEMES[key]
    at, eps = make_small_tensors(scheme, SHAPE, 3), eps_for(scheme, eps)
    both, auto = compare_gradients(scheme, at, eps), differentiate_by_autograd(scheme, at, eps)
    for name, found in both.differences.items():
        exact = getattr(both.formula, name)
        scale = both.frozen if name == "dx" else max(float(np.abs(exact).max()), 1e-9)
        assert np.abs(exact - found).max() <= 1e-6 * scale, name
    for name, found in auto.items():
        np.testing.assert_allclose(found, getattr(both.formula, name), atol=1e-12 * max(both.frozen, 10.0))


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_differences_agree_on_every_small_tensor(data):
    shape = tuple(data.draw(st.integers(1, n)) for n in (4, 3, 3, 4))
    scheme = get_scheme(data.draw(st.sampled_from(list(SCHEMES))), groups=1)
    eps = eps_for(scheme, data.draw(st.sampled_from([0.0, 1e-5, 1e3])))
    both = compare_gradients(scheme, make_small_tensors(scheme, shape, data.draw(st.integers(0, 99))), eps)
    assert np.abs(both.formula.dx - both.differences["dx"]).max() <= 1e-4 * both.frozen


def test_algorithm_1_is_the_formula():
    at = make_small_tensors(SCHEMES["batch"], SHAPE, 0)
    both = compare_gradients(SCHEMES["batch"], at, 1e-5)
    np.testing.assert_allclose(compute_published_gradient(at, 1e-5), both.formula.dx, atol=1e-13)


def test_gain_and_bias_have_the_axes_of_the_scheme():
    at = make_small_tensors(SCHEMES["layer"], SHAPE, 0)
    assert (at.gain.shape, at.bias.shape) == ((1, 2, 2, 4), (1, 2, 2, 4))
    assert make_small_tensors(SCHEMES["rms"], SHAPE, 0).bias.tolist() == [[[[0.0]]]]
