"""Whitening against its definition, by an eigendecomposition of the covariance matrix."""

import numpy as np
import pytest
import torch
from direct import relative_difference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import seeds, uneven_array
from torch_nn import by_eigh

from normviz.core.backward import backward, compute_gradients, compute_jacobian
from normviz.core.errors import InvalidInput
from normviz.core.fields import find_divisors
from normviz.core.kinds.whitening import MAX_GROUP_CHANNELS, compute_divided_differences, compute_inverse_root
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme

SHAPE = (3, 4, 5, 6)
LARGER = st.tuples(st.integers(2, 4), st.integers(2, 4), st.integers(2, 4), st.integers(1, 6))
"""More vectors than channels, as a rule."""


def whitening(channels, choice=1):
    return get_scheme("whitening", groups=find_divisors(channels)[choice % len(find_divisors(channels))])


def covariances(xhat, groups):
    rows = xhat.reshape(-1, groups, xhat.shape[-1] // groups)
    return np.einsum("mgi,mgj->gij", rows, rows) / len(rows)


@given(LARGER, st.integers(0, 5), st.floats(1e-6, 10), seeds)
def test_it_equals_the_definition_and_so_do_its_gradients(shape, choice, eps, seed):
    scheme = whitening(shape[-1], choice)
    x = torch.tensor(uneven_array(shape, seed), requires_grad=True)
    g = torch.tensor(uneven_array(shape, seed + 1))
    ours, plain = normalize(x, scheme, eps).xhat, by_eigh(x, scheme.count_covariances(shape), eps)
    assert relative_difference(ours.detach(), plain.detach()) < 1e-8
    found, wanted = (torch.autograd.grad(out, x, g)[0] for out in (ours, plain))
    assert relative_difference(found, wanted) < 1e-6  # plain autograd divides by the differences of eigenvalues


@given(LARGER, st.integers(0, 5), seeds)
def test_channels_of_a_group_are_decorrelated(shape, choice, seed):
    scheme = whitening(shape[-1], choice)
    groups, size = scheme.count_covariances(shape), shape[-1] // scheme.count_covariances(shape)
    result = normalize(np.random.default_rng(seed).standard_normal(shape), scheme, 0.0)
    found = covariances(result.xhat, groups)
    if np.prod(shape[:3]) > size:
        np.testing.assert_allclose(found, np.broadcast_to(np.eye(size), found.shape), atol=1e-9)
    assert result.deviation is None
    matrix = compute_inverse_root(result.v, groups, 0.0)
    again = np.einsum("mgi,gij->mgj", result.v.reshape(-1, groups, size), matrix).reshape(shape)
    np.testing.assert_allclose(again, result.xhat, atol=1e-7)


@given(LARGER, st.sampled_from([0.0, 1e-5, 1.0]), seeds)
def test_with_a_group_for_every_channel_it_is_batch_norm(shape, eps, seed):
    x = uneven_array(shape, seed)
    alone, batch = normalize(x, whitening(shape[-1], -1), eps), normalize(x, SCHEMES["batch"], eps)
    np.testing.assert_allclose(alone.xhat, batch.xhat, rtol=1e-12, atol=1e-12)
    if eps:
        matrix = compute_inverse_root(alone.v, shape[-1], eps)
        np.testing.assert_allclose(matrix.ravel(), 1 / batch.deviation.ravel(), rtol=1e-12)


def test_along_the_eigenvectors_it_is_batch_norm_with_its_epsilon():
    x = uneven_array(SHAPE, 2)
    rows = normalize(x, SCHEMES["batch"]).v.reshape(-1, 6)
    vectors = np.linalg.eigh(rows.T @ rows)[1]
    turned = normalize(x @ vectors, SCHEMES["batch"], 0.1).xhat @ vectors.T
    np.testing.assert_allclose(turned, normalize(x, get_scheme("whitening", groups=1), 0.1).xhat, atol=1e-12)


@pytest.mark.parametrize("eps", [0.0, 1e-40, 1e-20])
def test_directions_without_variance_are_zero_and_do_not_disturb_the_others(eps):
    rng = np.random.default_rng(3)
    base = rng.standard_normal((8, 2, 2, 2))
    x = np.concatenate([base, base @ rng.standard_normal((2, 4))], -1)  # six channels in two dimensions
    xhat = normalize(x, get_scheme("whitening", groups=1), eps).xhat
    np.testing.assert_allclose(np.linalg.eigvalsh(covariances(xhat, 1)[0]), [0, 0, 0, 0, 1, 1], atol=1e-9)
    assert not normalize(np.ones(SHAPE), SCHEMES["whitening"], 0.0).xhat.any()


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_fewer_examples_than_channels_are_all_equally_far_from_each_other(size):
    """x̂ x̂ᵀ = M (I - 1/M): the nearest matrix to v, up to a factor, whose centred examples are orthogonal."""
    xhat = normalize(uneven_array((size, 1, 1, 8), 4), get_scheme("whitening", groups=1), 0.0).xhat.reshape(size, 8)
    np.testing.assert_allclose(xhat @ xhat.T, size * np.eye(size) - 1, atol=1e-9)


@pytest.mark.parametrize("shape", [SHAPE, (4, 1, 1, 6), (2, 1, 1, 3), (3, 2, 2, 6)])
@pytest.mark.parametrize("eps", [0.0, 1e-3])
@pytest.mark.parametrize("groups", [1, 3])
def test_the_gradient_equals_central_differences_also_where_the_covariance_is_singular(shape, eps, groups):
    scheme, rng, step = get_scheme("whitening", groups=groups), np.random.default_rng(5), 1e-5
    x, g = rng.standard_normal((2, *shape))
    leaf = torch.tensor(x, requires_grad=True)
    (found,) = torch.autograd.grad(normalize(leaf, scheme, eps).xhat, leaf, torch.tensor(g))
    moved = x + step * np.eye(x.size).reshape(x.size, *shape) * np.array([1, -1]).reshape(2, 1, 1, 1, 1, 1)
    ahead, back = normalize(moved, scheme, eps).xhat
    differences = ((ahead - back) * g).sum((1, 2, 3, 4)).reshape(shape) / (2 * step)
    np.testing.assert_allclose(found.numpy(), differences, rtol=0, atol=1e-6)


def test_equal_eigenvalues_have_a_derivative():
    """Along the axes of a cross all variances are equal, and autograd through `eigh` gives NaN."""
    x = torch.cat([torch.eye(4), -torch.eye(4)]).double().reshape(8, 1, 1, 4).requires_grad_()
    g = torch.tensor(np.random.default_rng(6).standard_normal(x.shape))
    (plain,) = torch.autograd.grad(by_eigh(x, 1, 0.0), x, g)
    (found,) = torch.autograd.grad(normalize(x, get_scheme("whitening", groups=1), 0.0).xhat, x, g)
    assert not torch.isfinite(plain).all()
    assert torch.isfinite(found).all()
    assert abs((found * x.detach()).sum().item()) < 1e-12  # as x̂ does not depend on the scale


@settings(max_examples=30)
@given(st.lists(st.sampled_from([0.0, 0.5, 1.0, 1.0 + 1e-9, 3.0]), min_size=2, max_size=4))
def test_divided_differences_are_those_of_the_inverse_root(roots):
    root = np.array(roots)
    inverse = np.array([1 / r if r else 0.0 for r in roots])
    found = compute_divided_differences(root, inverse)
    for i, a in enumerate(roots):
        for j, b in enumerate(roots):
            if abs(a - b) > 1e-3:
                assert found[i, j] == pytest.approx((inverse[i] - inverse[j]) / (a**2 - b**2), rel=1e-12)
            elif a and b:
                assert found[i, j] == pytest.approx(-0.5 / a**3, rel=1e-8)
            else:
                assert found[i, j] == 0


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("magnitude", [1e-30, 1e30])
def test_it_neither_overflows_nor_vanishes(dtype, magnitude):
    x, scheme = uneven_array(SHAPE, 7), SCHEMES["whitening"]
    large = normalize((x * magnitude).astype(dtype), scheme, 0.0)
    plain = normalize(x.astype(dtype), scheme, 0.0)
    assert large.xhat.dtype == plain.xhat.dtype == np.dtype(dtype)
    assert relative_difference(large.xhat, plain.xhat) < (1e-3 if dtype == "float32" else 1e-12)


@pytest.mark.parametrize("shape", [(3, 1, 1, 8), (4, 2, 2, 8)])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_the_inverse_root_is_one_also_beside_the_data(shape, eps):
    v = normalize(uneven_array(shape, 12), SCHEMES["batch"]).v
    (matrix,) = compute_inverse_root(v, 1, eps)
    rows = v.reshape(-1, 8)
    covariance = rows.T @ rows / len(rows) + eps * np.eye(8)
    kept = np.linalg.pinv(covariance, rcond=1e-12) @ covariance  # what Σ + εI reaches: all, for ε > 0
    np.testing.assert_allclose(matrix @ covariance @ matrix, kept, atol=1e-8)
    np.testing.assert_allclose(compute_inverse_root(v, 1, eps, [1, 7])[0], matrix[:, [1, 7]], atol=1e-12)


def test_a_few_vectors_of_very_many_channels_take_no_matrix_over_them():
    x = np.random.default_rng(13).standard_normal((2, 1, 1, 32_768))
    xhat = normalize(x, get_scheme("whitening", groups=1), 0.0).xhat.reshape(2, -1)
    np.testing.assert_allclose(xhat @ xhat.T, 2 * np.eye(2) - 1, atol=1e-9)
    with pytest.raises(InvalidInput, match="32,768 channels together is not derived; up to 4,096 are"):
        backward(x, x, get_scheme("whitening", groups=1))
    assert MAX_GROUP_CHANNELS == 4096


def test_leading_axes_are_a_stack():
    stack = np.random.default_rng(8).standard_normal((2, 3, *SHAPE))
    result = normalize(stack, SCHEMES["whitening"])
    assert compute_inverse_root(result.v, 2, 0.0).shape == (2, 3, 2, 3, 3)
    np.testing.assert_allclose(result.xhat[1, 2], normalize(stack[1, 2], SCHEMES["whitening"]).xhat, atol=1e-13)


@pytest.mark.parametrize("groups", [1, 2, 6])
def test_the_gradient_by_epsilon_is_its_central_difference(groups):
    scheme, x, g = get_scheme("whitening", groups=groups), uneven_array(SHAPE, 9), uneven_array(SHAPE, 10)
    found = compute_gradients(x, g, scheme, 0.5)
    ahead, back = ((g * normalize(x, scheme, 0.5 + step).xhat).sum() for step in (1e-5, -1e-5))
    assert found.deps == pytest.approx((ahead - back) / 2e-5, rel=1e-7)


@pytest.mark.parametrize("groups", [1, 2, 3])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_a_row_of_the_jacobian_is_zero_outside_of_its_group_of_channels(groups, eps):
    scheme, size = get_scheme("whitening", groups=groups), 6 // groups
    j = compute_jacobian(uneven_array((2, 3, 2, 6), 11), scheme, eps).reshape(12, groups, size, 12, groups, size)
    for ours in range(groups):
        for theirs in range(groups):
            assert j[:, ours, :, :, theirs].any() == (ours == theirs)
