"""Schemes without statistics: their functions against the standard library and torch, and what follows from them."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import examples, seeds, shapes, uneven_array

from normviz.core.backward import backward, compute_diagonal_gradient, compute_gradients, compute_jacobian
from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.kinds.pointwise import END, MEET, POINTWISE_FUNCTIONS
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, find_equal_schemes, get_scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.theory import explain_degeneracy, predict
from normviz.core.transformations import TRANSFORMATIONS

POINTWISE = [key for key, row in SCHEMES.items() if row.function]
EVERY = pytest.mark.parametrize("key", POINTWISE)
BOTH = pytest.mark.parametrize("name", POINTWISE_FUNCTIONS)
SHAPE = (3, 2, 4, 6)
alphas = st.floats(1e-3, 1e3)

EDGES = [0.0, -0.0, 5e-324, 1e-300, 1e-8, MEET, np.nextafter(MEET, 0), END, 1e3, 1e300, np.inf]
AROUND = np.concatenate([EDGES, np.negative(EDGES), np.linspace(-7, 7, 4001)])


def direct(key, x, alpha):
    """f(αx) by the standard library, element by element."""
    return np.vectorize(getattr(math, SCHEMES[key].kind.function))(alpha * x)


def test_the_papers_are_named_with_their_first_values():
    tanh, erf = SCHEMES["dynamic-tanh"], SCHEMES["dynamic-erf"]
    assert (tanh.reference.arxiv, tanh.alpha, tanh.shift) == ("2503.10622", 0.5, None)
    assert (erf.reference.arxiv, erf.alpha, erf.shift) == ("2512.10938", 0.5, 0.0)


@BOTH
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_function_is_exact_to_the_digits_of_its_type(name, dtype):
    with np.errstate(over="ignore"):
        u = AROUND.astype(dtype)
    found, near = POINTWISE_FUNCTIONS[name].value(u), {"rtol": 4 * np.finfo(dtype).eps, "atol": np.finfo(dtype).tiny}
    assert found.dtype == u.dtype
    np.testing.assert_allclose(found, getattr(torch, name)(torch.tensor(u)), **near)
    np.testing.assert_allclose(found, [getattr(math, name)(each) for each in u.tolist()], **near)


@BOTH
def test_nan_stays_nan_and_the_ends_are_one(name):
    value = POINTWISE_FUNCTIONS[name].value(np.array([np.nan, np.inf, -np.inf, 0.0]))
    np.testing.assert_array_equal(value, [np.nan, 1.0, -1.0, 0.0])


@BOTH
def test_the_slope_is_the_derivative_by_autograd(name):
    u = torch.tensor(np.linspace(-4, 4, 801), requires_grad=True)
    (wanted,) = torch.autograd.grad(POINTWISE_FUNCTIONS[name].value(u).sum(), u)
    np.testing.assert_allclose(POINTWISE_FUNCTIONS[name].slope(u.detach().numpy()), wanted, rtol=1e-12)


@BOTH
def test_the_slope_has_all_digits_where_the_function_is_one(name):
    exact = {"tanh": 4 * math.exp(-60.0), "erf": 2 / math.sqrt(math.pi) * math.exp(-900.0)}[name]
    assert POINTWISE_FUNCTIONS[name].slope(np.array([30.0]))[0] == pytest.approx(exact, rel=1e-12)
    with np.errstate(over="ignore"):
        assert POINTWISE_FUNCTIONS[name].slope(np.array([1e200]))[0] == 0


@EVERY
@examples(30)
@given(shape=shapes, alpha=alphas, seed=seeds)
def test_x_hat_is_the_direct_formula(key, shape, alpha, seed):
    x = uneven_array(shape, seed)
    result = normalize(x, get_scheme(key, alpha=alpha), gain=1.5, bias=-0.25)
    assert result.mean is None
    assert result.deviation is None
    np.testing.assert_array_equal(result.v, x)
    np.testing.assert_allclose(result.xhat, direct(key, x, alpha), rtol=1e-15, atol=1e-15)
    np.testing.assert_allclose(result.y, 1.5 * result.xhat - 0.25, rtol=1e-15)


@EVERY
@examples(30)
@given(shape=shapes, alpha=alphas, seed=seeds)
def test_x_hat_is_odd_bounded_and_alpha_x_where_that_is_small(key, shape, alpha, seed):
    x, scheme = uneven_array(shape, seed), get_scheme(key, alpha=alpha)
    xhat = normalize(x, scheme).xhat
    np.testing.assert_array_equal(normalize(-x, scheme).xhat, -xhat)
    assert np.abs(xhat).max() <= 1
    tiny = normalize(x, get_scheme(key, alpha=1e-9)).xhat
    slope = {"tanh": 1.0, "erf": 2 / math.sqrt(math.pi)}[scheme.kind.function]
    np.testing.assert_allclose(tiny, slope * 1e-9 * x, rtol=1e-12)


@EVERY
@examples(30)
@given(shape=shapes, alpha=alphas, seed=seeds)
def test_the_gradient_is_that_of_autograd_and_of_the_element_alone(key, shape, alpha, seed):
    scheme, x, dy = get_scheme(key, alpha=alpha), uneven_array(shape, seed), uneven_array(shape, seed + 1)
    leaf = torch.tensor(x, requires_grad=True)
    (wanted,) = torch.autograd.grad(normalize(leaf, scheme).y, leaf, torch.tensor(dy))
    found = backward(x, dy, scheme)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12 * alpha * np.abs(dy).max())
    np.testing.assert_array_equal(compute_diagonal_gradient(x, dy, scheme), found)
    assert compute_gradients(x, dy, scheme).deps is None


@EVERY
def test_the_jacobian_is_its_diagonal(key):
    x = uneven_array((1, 2, 2, 3), 1)
    matrix = compute_jacobian(x, SCHEMES[key])
    np.testing.assert_array_equal(matrix, np.diag(np.diag(matrix)))
    assert np.diag(matrix).min() > 0


@EVERY
@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_nothing_is_absorbed_and_the_reason_says_that_nothing_is_shared(key, layer):
    shape = (4, 1, 1, 6) if layer == "dense" else SHAPE
    for change in TRANSFORMATIONS.values():
        verdict = predict(SCHEMES[key], change, layer, shape, (1, 1, 5, 6))
        assert not verdict.invariant
        assert not verdict.fades
        assert "nothing is shared: each element passes through" in verdict.reason
    assert explain_degeneracy(SCHEMES[key], shape, 0.0) is None


@EVERY
def test_only_signs_are_left_where_alpha_x_is_large_and_they_do_not_notice_a_factor(key):
    x, scheme = uneven_array(SHAPE, 3), get_scheme(key, alpha=1e6)
    xhat = normalize(x, scheme).xhat
    np.testing.assert_array_equal(np.abs(xhat), np.abs(np.sign(x)))
    np.testing.assert_array_equal(normalize(3 * x, scheme).xhat, xhat)


@EVERY
def test_weights_in_front_absorb_what_they_absorb(key):
    behind = SCHEMES[key].with_weight_scheme("weight")
    assert behind.weight is not None
    found = {
        change.key: predict(behind, change, "dense", (4, 1, 1, 6), (1, 1, 5, 6)).invariant
        for change in TRANSFORMATIONS.values()
    }
    assert {name for name, invariant in found.items() if invariant} == {
        "weight-matrix-rescaling",
        "weight-vector-rescaling",
    }


@EVERY
def test_alpha_travels_with_the_row_and_tells_schemes_apart(key):
    scheme = get_scheme(key, alpha=2.0)
    assert SchemeSpec.of(scheme).scheme == scheme
    assert SchemeSpec.of(scheme.with_weight_scheme("weight")).scheme == scheme.with_weight_scheme("weight")
    assert scheme.compute_canonical_key(SHAPE) != SCHEMES[key].compute_canonical_key(SHAPE)
    assert find_equal_schemes(scheme, SHAPE) == []


@EVERY
@pytest.mark.parametrize("alpha", [0.0, -1.0, math.nan, math.inf])
def test_an_alpha_that_is_not_above_zero_is_refused(key, alpha):
    with pytest.raises(InvalidInput, match="α is a number above 0"):
        get_scheme(key, alpha=alpha)


@EVERY
def test_it_has_no_fields(key):
    assert not SCHEMES[key].fields
    assert not SCHEMES[key].is_general_form
    with pytest.raises(InvalidInput, match="it has no fields"):
        normalize(np.ones(SHAPE), SCHEMES[key].with_fields(None, Field.parse("own,own,own,full")))
