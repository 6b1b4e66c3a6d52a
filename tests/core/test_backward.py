"""The backward pass against autograd, central differences, and the formulas of papers, each written out by itself."""

import numpy as np
import pytest
import torch
from direct import relative_difference
from hypothesis import example, given
from hypothesis import strategies as st
from strategies import eps as epsilons
from strategies import examples, fields, fitting, seeds, shapes, uneven_array
from torch_nn import with_gap

from normviz.core.backward import (
    MAX_JACOBIAN_ELEMENTS,
    backward,
    compute_diagonal_gradient,
    compute_gradients,
    compute_jacobian,
)
from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.train.gradient import make_training_form

EVERY = pytest.mark.parametrize("key", SCHEMES)
DIVIDING = pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.suppression])
SMALL = (2, 3, 2, 4)
SHAPE = (4, 3, 5, 6)
DRAWN = shapes.flatmap(lambda s: st.tuples(st.just(s), *[st.none() | fields(s)] * 2))


def of_your_own(summation, suppression):
    return SCHEMES["custom"].with_fields(summation, suppression)


def by_autograd(x, dy, scheme, eps):
    leaf = torch.tensor(x, requires_grad=True)
    (dx,) = torch.autograd.grad(normalize(leaf, scheme, eps).y, leaf, torch.tensor(dy))
    return dx.numpy()


def gap_to_autograd(x, dy, scheme, eps):
    """Relative to the largest g/σ, one of the terms: in fields of two elements they cancel to rounding."""
    expected, found = by_autograd(x, dy, scheme, eps), backward(x, dy, scheme, eps)
    assert found.shape == x.shape
    deviation = normalize(x, scheme, eps).deviation
    most = np.abs(dy).max() if deviation is None else np.abs(dy).max() / deviation[deviation > 0].min(initial=np.inf)
    return np.abs(found - expected).max() / (most * scheme.compute_scale(x.shape) or 1)


# --- autograd ---------------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("eps", [None, 0.0, 1e-5, 0.3])
def test_every_scheme_equals_autograd(key, eps):
    x, dy = uneven_array(SHAPE, 1), uneven_array(SHAPE, 2)
    expected = by_autograd(x, dy, SCHEMES[key], eps)
    assert relative_difference(backward(x, dy, SCHEMES[key], eps), expected) < 1e-10


@examples(300)
@given(DRAWN, epsilons, seeds)
@example(((3, 1, 1, 4), Field.parse("window(1),own,own,full"), Field.parse("full,own,own,window(2)")), 0.0, 0)
def test_any_fields_equal_autograd(drawn, eps, seed):
    shape, summation, suppression = drawn
    x, dy = uneven_array(shape, seed), uneven_array(shape, seed + 1)
    assert gap_to_autograd(x, dy, of_your_own(summation, suppression), eps) < 1e-10


@EVERY
@examples(40)
@given(shape=shapes, groups=st.integers(1, 5), radius=st.integers(0, 5), eps=epsilons, seed=seeds)
def test_groups_and_windows_equal_autograd(key, shape, groups, radius, eps, seed):
    scheme = get_scheme(key, groups=fitting(key, shape, groups), radius=radius)
    x, dy = uneven_array(shape, seed), uneven_array(shape, seed + 1)
    x = with_gap(x) if scheme.kind.key == "spectral" else x
    assert gap_to_autograd(x, dy, scheme, eps) < 1e-10


@EVERY
def test_equals_the_pass_that_trains(key):
    scheme, eps = SCHEMES[key], 1e-2
    x, dy = (torch.tensor(uneven_array((2, *SHAPE), seed)) for seed in (1, 2))
    expected = backward(x, dy, scheme, eps)
    form = make_training_form(scheme, SHAPE, eps, x)
    form.forward(x.clone())
    assert relative_difference(form.backward(dy.clone()), expected) < 1e-10


@EVERY
def test_the_gradients_by_gain_and_bias_equal_autograd(key):  # N01
    scheme, x, dy = SCHEMES[key], uneven_array(SHAPE, 1), uneven_array(SHAPE, 2)
    for shape in ((6,), (1, 1, 1, 6), (3, 5, 6), (4, 1, 1, 1), ()):
        gain, bias = (torch.tensor(uneven_array(shape, seed), requires_grad=True) for seed in (3, 4))
        leaf = torch.tensor(x, requires_grad=True)
        y = normalize(leaf, scheme, None, gain, bias).y
        expected = torch.autograd.grad(y, (leaf, gain, bias), torch.tensor(dy))
        found = compute_gradients(x, dy, scheme, None, gain.detach().numpy(), bias.detach().numpy())
        for a, b in zip((found.dx, found.dgain, found.dbias), expected, strict=True):
            assert relative_difference(a, b) < 1e-12


# --- central differences ------------------------------------------------------------------------------------------


def by_differences(loss, x, step):
    """The derivative by every element of x, exact for polynomials of degree four."""
    slopes = np.empty_like(x)
    for index in np.ndindex(*x.shape):
        change = np.zeros_like(x)
        change[index] = step
        near, far = (loss(x + k * change) - loss(x - k * change) for k in (1, 2))
        slopes[index] = (8 * near - far) / (12 * step)
    return slopes


def gap_to_differences(x, dy, scheme, eps):
    expected = by_differences(lambda x: float(np.sum(dy * normalize(x, scheme, eps).y)), x, 1e-3 * np.abs(x).max())
    return np.abs(backward(x, dy, scheme, eps) - expected).max() / np.abs(dy).max()


@EVERY
@pytest.mark.parametrize("eps", [0.0, 0.5])
def test_every_scheme_equals_central_differences(key, eps):
    x, dy = uneven_array(SMALL, 5), uneven_array(SMALL, 6)
    assert gap_to_differences(x, dy, SCHEMES[key], eps) < 1e-6


@examples(40)
@given(DRAWN.filter(lambda drawn: np.prod(drawn[0]) <= 48), st.floats(0.3, 2), seeds)
def test_any_fields_equal_central_differences(drawn, eps, seed):
    shape, summation, suppression = drawn
    x, dy = uneven_array(shape, seed), uneven_array(shape, seed + 1)
    assert gap_to_differences(x, dy, of_your_own(summation, suppression), eps) < 1e-4


@examples(100)
@given(DRAWN, st.floats(1e-3, 1), seeds)
def test_the_gradient_by_epsilon_is_summed_over_the_units(drawn, eps, seed):  # N03
    shape, summation, suppression = drawn
    scheme, x, dy = of_your_own(summation, suppression), uneven_array(shape, seed), uneven_array(shape, seed + 1)
    found = compute_gradients(x, dy, scheme, eps).deps
    if suppression is None:
        assert found is None
        return
    leaf = torch.tensor(eps, dtype=torch.float64, requires_grad=True)
    v, deviation = (torch.tensor(part) for part in normalize(x, scheme, 0.0)[1:3])
    wide = deviation
    for axis, n in enumerate(shape):
        wide = wide.repeat_interleave(n // wide.shape[axis], axis)
    loss = (torch.tensor(dy) * v / torch.sqrt(leaf + wide**2)).sum()
    (expected,) = torch.autograd.grad(loss, leaf)
    terms = np.abs(dy * (v / torch.sqrt(leaf + wide**2) ** 3).detach().numpy()).sum()
    assert abs(found - expected.item()) <= 1e-12 * (terms + 1e-300)


# --- the formulas of papers ---------------------------------------------------------------------------------------


def algorithm_1(x, dy, gain, eps):
    """Ioffe & Szegedy 2015, section 3, line by line; x is (m, D)."""
    m = len(x)
    mean = x.sum(0) / m
    variance = ((x - mean) ** 2).sum(0) / m
    xhat = (x - mean) / np.sqrt(variance + eps)
    dxhat = dy * gain
    dvariance = (dxhat * (x - mean) * -0.5 * (variance + eps) ** -1.5).sum(0)
    dmean = (dxhat * -1 / np.sqrt(variance + eps)).sum(0) + dvariance * (-2 * (x - mean)).sum(0) / m
    dx = dxhat / np.sqrt(variance + eps) + dvariance * 2 * (x - mean) / m + dmean / m
    return dx, (dy * xhat).sum(0), dy.sum(0)


def layer_with_smoothing(a, dy, gain, s):
    """All units' terms of layer norm with σ = sqrt(s² + …), and ∂L/∂s = Σ dy γ (a - μ)(-s/σ³); a is (N, H)."""
    size, v = a.shape[1], a - a.mean(1, keepdims=True)
    sigma = np.sqrt(s**2 + (v**2).mean(1, keepdims=True))
    da = np.zeros_like(a)
    for i in range(size):
        for j in range(size):
            through = ((i == j) - 1 / size) / sigma[:, 0] - v[:, i] * v[:, j] / (size * sigma[:, 0] ** 3)
            da[:, i] += dy[:, j] * gain[j] * through
    return da, (dy * gain * v * -s / sigma**3).sum()


@pytest.mark.parametrize("eps", [0.0, 1e-5, 2.0])
def test_batch_norm_is_algorithm_1(eps):
    x, dy, gain = uneven_array((7, 1, 1, 5), 1), uneven_array((7, 1, 1, 5), 2), uneven_array((5,), 3)
    found = compute_gradients(x, dy, SCHEMES["batch"], eps, gain, np.zeros(5))
    expected = algorithm_1(x[:, 0, 0], dy[:, 0, 0], gain, eps)
    for a, b in zip((found.dx[:, 0, 0], found.dgain, found.dbias), expected, strict=True):
        assert relative_difference(a, b) < 1e-12


@pytest.mark.parametrize("s", [0.0, 1e-3, 2.0])
def test_layer_norm_has_its_formula_with_a_smoothing_term(s):
    x, dy, gain = uneven_array((4, 1, 1, 6), 1), uneven_array((4, 1, 1, 6), 2), uneven_array((6,), 3)
    found = compute_gradients(x, dy, SCHEMES["layer"], s**2, gain)
    da, ds = layer_with_smoothing(x[:, 0, 0], dy[:, 0, 0], gain, s)
    assert relative_difference(found.dx[:, 0, 0], da) < 1e-12
    assert 2 * s * found.deps == pytest.approx(ds, rel=1e-12)


def test_one_unit_s_term_is_not_the_gradient_by_the_smoothing_term():  # N03
    x, dy = uneven_array((1, 1, 1, 6), 1), uneven_array((1, 1, 1, 6), 2)
    found = compute_gradients(x, dy, SCHEMES["layer"], 0.25)
    v, sigma = normalize(x, SCHEMES["layer"], 0.25)[1:3]
    each = dy * v * -0.5 / sigma**3
    assert each.sum() == pytest.approx(found.deps, rel=1e-12)
    assert np.abs(each / found.deps - 1).min() > 0.05


# --- the Jacobian, and its diagonal -------------------------------------------------------------------------------


def jacobian_by_autograd(x, scheme, eps):
    found = torch.autograd.functional.jacobian(lambda x: normalize(x, scheme, eps).xhat, torch.tensor(x))
    return found.reshape(x.size, x.size).numpy()


@EVERY
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_the_jacobian_is_autograds_and_has_the_two_projections(key, eps):
    scheme, x = SCHEMES[key], uneven_array(SMALL, 1)
    j = compute_jacobian(x, scheme, eps)
    assert relative_difference(j, jacobian_by_autograd(x, scheme, eps)) < 1e-10
    if scheme.summation:
        assert np.abs(j.sum(1)).max() < 1e-13 * np.abs(j).max()
    if scheme.suppression and (eps == 0 or scheme.kind.key == "spectral"):
        assert np.abs(j @ x.ravel()).max() < 1e-13 * np.abs(j).max() * np.abs(x).max()


@EVERY
def test_a_row_of_the_jacobian_is_zero_outside_of_its_fields(key):
    scheme, x = get_scheme(key, groups=2), uneven_array(SMALL, 1)
    if scheme.field is None or scheme.summation != scheme.suppression or scheme.field.windowed_axes:
        return
    box = np.array(
        [np.ravel_multi_index(scheme.field.find_statistic_index(i, SMALL), SMALL) for i in np.ndindex(*SMALL)]
    )
    assert np.array_equal(compute_jacobian(x, scheme, 0.1) != 0, box == box[:, None])


@EVERY
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_the_diagonal_alone_is_that_of_the_jacobian(key, eps):
    scheme, x, dy = SCHEMES[key], uneven_array(SMALL, 1), uneven_array(SMALL, 2)
    expected = np.diag(compute_jacobian(x, scheme, eps)).reshape(SMALL) * dy
    assert relative_difference(compute_diagonal_gradient(x, dy, scheme, eps), expected) < 1e-12


@examples(100)
@given(DRAWN, epsilons, seeds)
def test_the_diagonal_alone_of_any_fields(drawn, eps, seed):
    shape, summation, suppression = drawn
    scheme, x = of_your_own(summation, suppression), uneven_array(shape, seed)
    if x.size > MAX_JACOBIAN_ELEMENTS:
        return
    j = compute_jacobian(x, scheme, eps)
    deviation = normalize(x, scheme, eps).deviation
    most = 1 if deviation is None else 1 / deviation[deviation > 0].min(initial=np.inf)
    found = compute_diagonal_gradient(x, np.ones(shape), scheme, eps)
    assert np.abs(np.diag(j).reshape(shape) - found).max() <= 1e-10 * most


@pytest.mark.parametrize("size", [4, 16, 64, 256])
def test_the_diagonal_alone_is_not_the_gradient(size):  # N02
    """The printed formula of layer norm, its gap to the true gradient, and how this falls with H."""
    rng = np.random.default_rng(size)
    x, dy = rng.standard_normal((2, 1, 1, 1, size))
    printed, full = compute_diagonal_gradient(x, dy, SCHEMES["layer"], 0.0), backward(x, dy, SCHEMES["layer"], 0.0)
    v, sigma = normalize(x, SCHEMES["layer"], 0.0)[1:3]
    assert relative_difference(printed, dy * ((1 - 1 / size) / sigma - v**2 / (size * sigma**3))) < 1e-12
    assert relative_difference(full, by_autograd(x, dy, SCHEMES["layer"], 0.0)) < 1e-12
    missing = full - printed  # -(1/H) Σ_{j≠i} (1 + x̂_i x̂_j) g_j / σ
    xhat, g = (v / sigma).ravel(), dy.ravel()
    others = (1 + np.outer(xhat, xhat)) * (1 - np.eye(size))
    assert relative_difference(missing.ravel(), -others @ g / size / sigma.item()) < 1e-12
    assert relative_difference(printed, full) > 0.5 / size


# --- numerical care -----------------------------------------------------------------------------------------------


@DIVIDING
def test_the_gradient_of_a_constant_tensor_without_epsilon_is_zero(key):
    scheme, dy = SCHEMES[key], uneven_array(SHAPE, 1)
    for value in (0.0, 0.1, -1e8) if scheme.summation else (0.0,):
        x = np.full(SHAPE, value)
        found = compute_gradients(x, dy, scheme, 0.0)
        assert not found.dx.any()
        assert found.deps in (0, None)
        assert scheme.kind.key == "spectral" or not by_autograd(x, dy, scheme, 0.0).any()


@DIVIDING
@pytest.mark.parametrize("exponent", [-30, 30])
def test_very_large_and_very_small_numbers_keep_their_digits_in_float32(key, exponent):
    if exponent == 30 and SCHEMES[key].kind.key == "spectral":
        exponent = 15  # a decomposition of LAPACK's, which scales by itself
    x, dy = uneven_array(SHAPE, 1, np.float32), uneven_array(SHAPE, 2, np.float32)
    scale = np.float32(2.0) ** (3 * exponent)
    expected = backward(x, dy, SCHEMES[key], 0.0)
    found = backward(x * scale, dy, SCHEMES[key], 0.0) * scale  # the gradient shrinks as x grows
    assert found.dtype == np.float32
    assert relative_difference(found, expected) < 1e-5


def test_windows_next_to_each_other_may_differ_in_scale():
    x = (uneven_array((1, 1, 1, 12), 1) * 10.0 ** np.repeat([-30, 30], 6)).astype(np.float32)
    dy = uneven_array(x.shape, 2, np.float32)
    scheme = of_your_own(*[Field.parse("own,own,own,window(1)")] * 2)
    found, expected = backward(x, dy, scheme, 0.0), backward(x.astype(float), dy.astype(float), scheme, 0.0)
    assert np.isfinite(found).all()
    for part in (np.s_[..., :4], np.s_[..., 8:]):
        assert relative_difference(found[part], expected[part]) < 1e-5


# --- what comes in, what goes out ---------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["batch", "divisive", "spectral"])
def test_a_stack_is_many_tensors(key):
    x, dy = uneven_array((2, 3, *SMALL), 1), uneven_array((2, 3, *SMALL), 2)
    found = compute_gradients(x, dy, SCHEMES[key], 0.1)
    for at in np.ndindex(2, 3):
        alone = compute_gradients(x[at], dy[at], SCHEMES[key], 0.1)
        assert relative_difference(found.dx[at], alone.dx) < 1e-12
        assert found.deps is None or found.deps[at] == pytest.approx(alone.deps)
    many = backward(x[0, 0], dy, SCHEMES[key], 0.1)
    assert relative_difference(many[1, 2], backward(x[0, 0], dy[1, 2], SCHEMES[key], 0.1)) < 1e-12


def test_half_precision_is_computed_in_float32():
    x, dy = (torch.tensor(uneven_array(SHAPE, seed)).to(torch.bfloat16) for seed in (1, 2))
    found = compute_gradients(x, dy, SCHEMES["layer"])
    assert {step.dtype for step in found[:3]} == {torch.bfloat16}
    assert found.deps.dtype == found.dgain.dtype == torch.float32
    exact = backward(x.double(), dy.double(), SCHEMES["layer"])
    assert relative_difference(found.dx.float(), exact.float()) < 2**-7


def test_lists_and_whole_numbers_are_taken():
    x = np.arange(6).reshape(3, 1, 1, 2)
    expected = backward(x.astype(float), np.eye(3, 2).reshape(x.shape), SCHEMES["batch"])
    assert np.array_equal(backward(x.tolist(), np.eye(3, 2).reshape(x.shape).tolist(), SCHEMES["batch"]), expected)


def test_a_nan_stays_in_its_own_fields():
    x, dy = uneven_array(SHAPE, 1), uneven_array(SHAPE, 2)
    x[0, 0, 0, 0] = np.nan
    for key in ("batch", "spectral"):
        assert np.isnan(backward(x, dy, SCHEMES[key])[..., 0]).all()
    assert np.isfinite(backward(x, dy, SCHEMES["batch"])[..., 1:]).all()


@pytest.mark.parametrize("shape", [(4, 3, 5, 1), (4, 3, 5), (1,), (4, 3, 5, 6, 1)])
def test_a_gradient_of_another_shape_is_refused(shape):
    x = uneven_array(SHAPE, 1)
    for compute in (backward, compute_diagonal_gradient):
        with pytest.raises(InvalidInput, match="4 × 3 × 5 × 6; they need to be the same"):
            compute(x, np.ones(shape), SCHEMES["batch"])


def test_bad_input_is_refused():
    x = uneven_array(SHAPE, 1)
    with pytest.raises(InvalidInput, match="does not broadcast"):
        compute_gradients(x, x, SCHEMES["batch"], None, np.ones((1,) * 5))
    with pytest.raises(InvalidInput, match="ε is a number from 0"):
        backward(x, x, SCHEMES["batch"], -1.0)
    with pytest.raises(InvalidInput, match="not computed; up to 512"):
        compute_jacobian(np.ones((1, 1, 1, 513)), SCHEMES["batch"])
    assert compute_jacobian(np.ones((1, 1, 1, 512)), SCHEMES["batch"]).shape == (512, 512)
    with pytest.raises(InvalidInput, match="four"):
        compute_jacobian(np.ones((2, 2)), SCHEMES["batch"])
