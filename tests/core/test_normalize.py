import numpy as np
import pytest
import torch
from direct import general_form, members, relative_difference
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from pairs import pairwise
from strategies import eps as epsilons
from strategies import fields, fitting, seeds, shapes, uneven_array
from torch_nn import by_torch_nn, gain_and_bias, loses_digits, torch_refuses, with_gap

from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, OWN, Field, Rule
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.tolerances import get_relative_tolerance

EVERY = pytest.mark.parametrize("key", SCHEMES)
IN_THE_FORM = pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.is_general_form])
CENTRED = pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.summation])
DIVIDING = pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.suppression])
WITH_A_LAYER = pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.torch])
DTYPES = pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=["float64", "float32"])

SHAPE = (4, 3, 5, 6)
OF_ONES_OWN = Field((FULL, OWN, Rule("groups", 2), Rule("window", 1)))


def agree(a, b, allowed):
    return relative_difference(a, b) < allowed


# --- the definition ---------------------------------------------------------------------------------------------


@given(
    shapes.flatmap(lambda s: st.tuples(st.just(s), *[st.none() | fields(s)] * 2)),
    epsilons,
    seeds,
)
@settings(max_examples=100)
def test_any_fields_equal_the_definition(drawn, eps, seed):
    shape, summation, suppression = drawn
    x = uneven_array(shape, seed)
    result = normalize(x, SCHEMES["custom"].with_fields(summation, suppression), eps)
    v, xhat = general_form(x, summation, suppression, eps)
    assert agree(result.v, v, 1e-12)
    assert agree(result.xhat, xhat, 1e-12)


@IN_THE_FORM
@given(shape=shapes, groups=st.integers(1, 5), radius=st.integers(0, 5), eps=epsilons, seed=seeds)
@settings(max_examples=15)
def test_every_scheme_equals_the_definition(key, shape, groups, radius, eps, seed):
    scheme = get_scheme(key, groups=fitting(key, shape, groups), radius=radius)
    x = uneven_array(shape, seed)
    result = normalize(x, scheme, eps)
    v, xhat = general_form(x, scheme.summation, scheme.suppression, eps)
    assert agree(result.v, v, get_relative_tolerance(x.dtype))
    assert agree(result.xhat, xhat * scheme.compute_scale(shape), get_relative_tolerance(x.dtype))


@given(shapes, seeds)
def test_spectral_norm_divides_by_the_largest_singular_value(shape, seed):
    w = uneven_array(shape, seed)
    largest = np.linalg.norm(w.reshape(-1, shape[3]), 2)
    result = normalize(w, SCHEMES["spectral"])
    assert agree(result.deviation, np.full((1,) * 4, largest), get_relative_tolerance(w.dtype))
    assert agree(result.y, w / largest, get_relative_tolerance(w.dtype))


@EVERY
def test_the_parts_of_the_result_fit_together(key):
    scheme, x = SCHEMES[key], uneven_array(SHAPE, 1)
    gain, bias = (np.asarray(p) for p in gain_and_bias(scheme, SHAPE, 2))
    result = normalize(x, scheme, gain=gain, bias=bias)
    np.testing.assert_array_equal(result.y, result.xhat * gain + bias)
    divided = None if scheme.kind.key == "whitening" else scheme.suppression
    for statistic, field in ((result.mean, scheme.summation), (result.deviation, divided)):
        assert (statistic is None) == (field is None)
        assert field is None or statistic.shape == field.compute_statistics_shape(SHAPE)
    assert result.v.shape == result.xhat.shape == result.y.shape == SHAPE
    np.testing.assert_array_equal(normalize(x, scheme, scheme.eps or 0).y, normalize(x, scheme).y)


# --- torch.nn ---------------------------------------------------------------------------------------------------


@WITH_A_LAYER
@DTYPES
@given(shape=shapes, groups=st.integers(0, 5), eps=st.floats(1e-12, 1), seed=seeds)
@example(shape=(2, 1, 1, 6), groups=1, eps=1e-5, seed=0)
@settings(max_examples=10)
def test_equals_torch_nn(key, dtype, shape, groups, eps, seed):
    scheme = get_scheme(key, groups=fitting(key, shape, groups))
    assume(not torch_refuses(scheme, shape))
    x = torch.tensor(uneven_array(shape, seed), dtype=dtype)
    x = with_gap(x) if scheme.kind.key == "spectral" else x
    gain, bias = gain_and_bias(scheme, shape, seed, dtype)
    expected = by_torch_nn(scheme, x, eps, gain, bias).detach()
    result = normalize(x, scheme, 0 if scheme.eps is None else eps, gain, bias)
    assert result.y.dtype == expected.dtype == dtype
    assume(not loses_digits(result))
    assert agree(result.y, expected, get_relative_tolerance(dtype))


@WITH_A_LAYER
def test_gradients_equal_those_of_torch_nn(key):
    scheme, x = SCHEMES[key], torch.tensor(uneven_array(SHAPE, 3))
    x = with_gap(x) if scheme.kind.key == "spectral" else x
    gain, bias = gain_and_bias(scheme, SHAPE, 4)
    cotangent = torch.tensor(uneven_array(SHAPE, 5))
    inputs = [t.clone().requires_grad_() for t in (x, gain, bias)]
    ours = torch.autograd.grad(normalize(inputs[0], scheme, None, *inputs[1:]).y, inputs, cotangent)
    theirs = torch.autograd.grad(
        by_torch_nn(scheme, inputs[0], scheme.eps, *inputs[1:]), inputs, cotangent, allow_unused=True
    )
    for name, a, b in zip(("x", "gain", "bias"), ours, theirs, strict=True):
        if b is None:  # nothing of that name is learned
            assert getattr(scheme, name) is None
        else:
            assert agree(a, b, 1e-12), name


# --- the array kinds --------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_numpy_and_torch_agree_and_keep_the_type(key, dtype):
    x = uneven_array(SHAPE, 6, dtype)
    for ours, theirs in zip(normalize(x, SCHEMES[key]), normalize(torch.tensor(x), SCHEMES[key]), strict=True):
        assert (ours is None) == (theirs is None)
        if ours is not None:
            assert str(ours.dtype) == dtype
            assert str(theirs.dtype) == f"torch.{dtype}"
            assert agree(theirs, ours, get_relative_tolerance(dtype))


@EVERY
@pytest.mark.parametrize("to_array", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_a_stack_equals_the_loop_over_its_members(key, to_array):
    stack = uneven_array((2, 3, *SHAPE), 7)
    together = normalize(to_array(stack), SCHEMES[key])
    for member in np.ndindex(2, 3):
        alone = normalize(to_array(stack[member]), SCHEMES[key])
        for a, b in zip(together, alone, strict=True):
            assert b is None or agree(a[member], b, 1e-12)


@given(shapes.flatmap(lambda s: st.tuples(st.just(s), fields(s), fields(s))), seeds)
def test_a_stack_with_any_fields_equals_the_loop(drawn, seed):
    shape, summation, suppression = drawn
    scheme = SCHEMES["custom"].with_fields(summation, suppression)
    stack = uneven_array((2, *shape), seed)
    alone = np.stack([normalize(x, scheme).y for x in stack])
    assert agree(normalize(stack, scheme).y, alone, 1e-12)
    assert agree(normalize(torch.tensor(stack), scheme).y, alone, 1e-12)


# --- gradients --------------------------------------------------------------------------------------------------


@EVERY
def test_gradients_are_those_of_finite_differences(key):
    scheme, x = SCHEMES[key], torch.tensor(uneven_array((2, 3, 2, 4), 9)).requires_grad_()
    gain, bias = (t.clone().requires_grad_() for t in gain_and_bias(scheme, x.shape, 10))
    eps = 0.1 if scheme.eps else None  # finite differences need a function that is not steep
    assert torch.autograd.gradcheck(lambda *inputs: normalize(inputs[0], scheme, eps, *inputs[1:]).y, (x, gain, bias))


@pytest.mark.parametrize("radius", [1, 2])
def test_gradients_through_mixed_fields_are_those_of_finite_differences(radius):
    field = OF_ONES_OWN.with_parameters(window=radius)
    scheme = SCHEMES["custom"].with_fields(field, Field.parse("window(1),full,own,groups(2)"))
    x = torch.tensor(uneven_array((3, 2, 4, 4), 11)).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: normalize(x, scheme, 0.1).y, x)


@EVERY
@pytest.mark.parametrize("value", [0.0, 0.1])
def test_gradients_are_finite_at_a_constant_tensor_without_epsilon(key, value):
    x = torch.full((2, 3, 4, 4), value, dtype=torch.float64, requires_grad=True)
    normalize(x, SCHEMES[key], 0.0).y.pow(2).sum().backward()
    assert torch.isfinite(x.grad).all()


# --- numerical care ---------------------------------------------------------------------------------------------


def constant_in_fields(field, shape, seed):
    """Numbers such as 0.1 and 0.7 that differ between fields but not within one; one number where fields overlap."""
    statistics = np.random.default_rng(seed).choice(
        [0.1, 0.7, -1.3, 1e8 + 0.1], field.with_full_windows.compute_statistics_shape(shape)
    )
    return np.stack(
        [statistics[field.with_full_windows.find_statistic_index(index, shape)] for index in np.ndindex(*shape)]
    ).reshape(shape)


@CENTRED
@pytest.mark.parametrize("eps", [0.0, None])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_constant_field_becomes_exactly_zero(key, eps, dtype):
    scheme = SCHEMES[key]
    x = constant_in_fields(scheme.summation, (4, 7, 5, 6), 12).astype(dtype)
    result = normalize(x, scheme, eps)
    assert not result.v.any()
    assert not result.xhat.any()


@given(shapes.flatmap(lambda s: st.tuples(st.just(s), fields(s))), seeds)
def test_a_constant_field_of_any_kind_becomes_exactly_zero(drawn, seed):
    shape, field = drawn
    result = normalize(constant_in_fields(field, shape, seed), SCHEMES["custom"].with_fields(field, field), 0.0)
    assert not result.xhat.any()


@pytest.mark.parametrize("radius", [1, 3, 5])
def test_a_constant_window_becomes_exactly_zero_beside_other_numbers(radius):
    x = uneven_array((1, 40, 1, 1), 13)
    x[:, :30] = 0.1
    xhat = normalize(x, get_scheme("divisive", radius=radius), 0.0).xhat
    # An element is zero when the windows of all its neighbours are constant, since B averages over v².
    assert not xhat[:, : 30 - radius].any()
    assert xhat[:, 30 - radius :].all()


@CENTRED
def test_a_huge_mean_costs_a_tiny_spread_nothing(key):
    steps = np.random.default_rng(14).integers(-1000, 1000, SHAPE)
    spread = steps * 2.0**-20  # 1e8 + spread has no rounding error
    result, alone = (normalize(x, SCHEMES[key], 0.0) for x in (1e8 + spread, spread))
    assert agree(result.xhat, alone.xhat, 1e-12)
    assert agree(result.mean, 1e8 + alone.mean, 1e-12)


@DIVIDING
@pytest.mark.parametrize("scale", [1e20, 1e-20])
@pytest.mark.parametrize("to_array", [np.asarray, torch.tensor], ids=["numpy", "torch"])
def test_float32_neither_overflows_nor_vanishes(key, scale, to_array):
    x = uneven_array(SHAPE, 15)
    scaled = normalize(to_array((x * scale).astype(np.float32)), SCHEMES[key], 0.0).xhat
    assert agree(
        scaled, normalize(to_array(x.astype(np.float32)), SCHEMES[key], 0.0).xhat, get_relative_tolerance("float32")
    )


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("to_array", [np.asarray, torch.tensor], ids=["numpy", "torch"])
@pytest.mark.parametrize("end", ["max", "smallest_normal"])
def test_the_ends_of_the_format_are_divided_too(dtype, to_array, end):
    signs = np.random.default_rng(19).choice([-1, 1], SHAPE).astype(dtype)
    largest = getattr(np.finfo(dtype), end) * np.dtype(dtype).type(0.9 if end == "max" else 1)
    xhat = normalize(to_array(signs * largest), SCHEMES["rms"], 0.0).xhat
    assert agree(xhat, signs, get_relative_tolerance(dtype))


@DIVIDING
def test_fields_of_very_different_magnitude_do_not_disturb_each_other(key):
    scheme, x = SCHEMES[key], uneven_array((4, 9, 9, 6), 16)
    if scheme.kind.key == "spectral":
        return  # one field holds all
    magnitudes = np.random.default_rng(17).choice([1e-20, 1.0, 1e20], scheme.field.compute_statistics_shape(x.shape))
    scale = np.stack([magnitudes[scheme.field.find_statistic_index(i, x.shape)] for i in np.ndindex(*x.shape)]).reshape(
        x.shape
    )
    if "window" in scheme.parameters:
        scale = np.where(np.arange(9)[:, None, None] < 5, 1e-20, 1e20) * np.ones(x.shape)
    apart, plain = (normalize(a.astype(np.float32), scheme, 0.0).xhat for a in (x * scale, x))
    if "window" in scheme.parameters:  # rows whose windows, and the windows of these, stay on one side
        rows = [0, 1, 2, 7, 8]
        apart, plain = apart[:, rows], plain[:, rows]
    assert agree(apart, plain, get_relative_tolerance("float32"))


def spoilt(scheme, index, shape):
    """Which elements of x̂ a NaN at `index` reaches: members of A's field, then those whose B field holds one."""
    if scheme.kind.key == "spectral":
        return np.ones(shape, bool)
    reached = np.zeros(shape, bool)
    reached[index] = True
    for field in scheme.fields:
        reached = np.array([(members(field, i, shape) & reached).any() for i in np.ndindex(*shape)]).reshape(shape)
    return reached


def assert_spoilt(xhat, value):
    """All NaN or, where nothing divides, infinite; or 0, where an infinite deviation divides a finite element."""
    assert (~np.isfinite(xhat) | (np.isinf(value) & (xhat == 0))).all()


@pytest.mark.parametrize(
    ("key", "value", "magnitude", "to_array"),
    pairwise(SCHEMES, [np.nan, np.inf, -np.inf], [1.0, 1e20, 1e-20], [np.asarray, torch.tensor]),
)
def test_nan_and_inf_spoil_exactly_the_fields_that_contain_them(key, value, magnitude, to_array):
    scheme, index = SCHEMES[key], (1, 5, 2, 3)
    clean = (uneven_array((4, 6, 5, 6), 18) * magnitude).astype(np.float32)
    x = clean.copy()
    x[index] = value
    expected, xhat = (np.asarray(normalize(to_array(a), scheme, 0.0).xhat) for a in (clean, x))
    reached = spoilt(scheme, index, x.shape)
    np.testing.assert_array_equal(xhat[~reached], expected[~reached])
    if scheme.key == "none":
        np.testing.assert_array_equal(xhat[index], value)
    elif scheme.function:
        np.testing.assert_array_equal(xhat[index], np.sign(value))  # bounded, and NaN where x is
    else:
        assert np.isnan(xhat[index])
        assert_spoilt(xhat[reached], value)


@CENTRED
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_the_mean_of_a_field_with_nan_or_inf_is_that(key, value):
    field, index, shape = SCHEMES[key].summation, (1, 5, 2, 3), (4, 6, 5, 6)
    x = uneven_array(shape, 18)
    x[index] = value
    mean = normalize(x, SCHEMES[key]).mean
    for element in np.ndindex(*shape):
        inside = members(field, element, shape)[index]
        assert np.isfinite(mean[field.find_statistic_index(element, shape)]) == (not inside)
        if inside:
            np.testing.assert_array_equal(mean[field.find_statistic_index(element, shape)], value)


@pytest.mark.parametrize("rules", ["own,own,own,full", "own,own,window(1),window(2)"])
@pytest.mark.parametrize("value", [np.inf, -np.inf])
def test_the_root_mean_square_of_a_field_with_inf_is_infinite(rules, value):
    scheme, x = SCHEMES["custom"].with_fields(None, Field.parse(rules)), uneven_array(SHAPE, 20)
    x[1, 2, 2, 3] = value
    deviation = normalize(x, scheme).deviation
    for element in np.ndindex(*SHAPE):
        inside = members(scheme.suppression, element, SHAPE)[1, 2, 2, 3]
        assert np.isposinf(deviation[scheme.suppression.find_statistic_index(element, SHAPE)]) == inside


@given(shapes.flatmap(lambda s: st.tuples(st.just(s), fields(s), fields(s))), seeds, st.sampled_from([np.nan, np.inf]))
def test_nan_and_inf_spoil_exactly_their_fields_of_any_kind(drawn, seed, value):
    shape, summation, suppression = drawn
    scheme = SCHEMES["custom"].with_fields(summation, suppression)
    clean = uneven_array(shape, seed)
    x, index = clean.copy(), tuple(n - 1 for n in shape)
    x[index] = value
    xhat, reached = normalize(x, scheme).xhat, spoilt(scheme, index, shape)
    np.testing.assert_array_equal(xhat[~reached], normalize(clean, scheme).xhat[~reached])
    assert_spoilt(xhat[reached], value)


# --- what is refused --------------------------------------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("eps", [-1e-5, -np.inf, np.inf, np.nan])
def test_an_epsilon_that_is_not_a_number_from_zero_is_refused(key, eps):
    with pytest.raises(InvalidInput, match="ε is a number from 0; this one is "):
        normalize(np.ones(SHAPE), SCHEMES[key], eps)


@pytest.mark.parametrize("shape", [(), (3,), (3, 4, 5), (0, 1, 1, 1), (2, 3, 0, 4)])
def test_a_tensor_of_fewer_axes_or_without_elements_is_refused(shape):
    with pytest.raises(InvalidInput, match=r"four axes N, H, W, C|at least one element"):
        normalize(np.ones(shape), SCHEMES["batch"])


def test_groups_that_do_not_divide_are_refused():
    with pytest.raises(InvalidInput, match="4 groups do not divide C = 6"):
        normalize(np.ones((2, *SHAPE)), get_scheme("group", groups=4))
