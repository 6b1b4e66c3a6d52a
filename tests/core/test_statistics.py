import math

import numpy as np
import pytest
from direct import members, over_members, relative_difference
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import eps as epsilons
from strategies import fields, seeds, shapes, uneven_array

from normviz.core.fields import FULL, Field, Rule
from normviz.core.normalize import normalize
from normviz.core.reductions import centre
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.statistics import (
    build_statistics_row_field,
    build_statistics_table,
    compute_covariances,
    compute_element_steps,
    compute_saturation,
    compute_split_saturation,
    compute_variance,
)

EVERY = pytest.mark.parametrize("key", SCHEMES)
SHAPE = (4, 3, 5, 6)

pairs_of_fields = shapes.flatmap(
    lambda shape: st.tuples(
        st.just(shape), st.tuples(*[st.none() | fields(shape)] * 2).filter(lambda pair: pair != (None, None))
    )
)


def of_rows(scheme, shape):
    """For each element, the row of the table that its statistics are in."""
    counts = build_statistics_row_field(scheme).compute_statistics_shape(shape)
    return np.stack(
        [
            np.ravel_multi_index(build_statistics_row_field(scheme).find_statistic_index(i, shape), counts)
            for i in np.ndindex(*shape)
        ]
    ).reshape(shape)


def assert_table(table, scheme, x, eps):
    """Every column, at every element, against the definition by loops."""
    averaged, divided = scheme.fields[0], scheme.fields[0 if scheme.kind.key == "whitening" else -1]
    rows = of_rows(scheme, x.shape)
    sizes = np.stack([members(divided, i, x.shape).sum() for i in np.ndindex(*x.shape)]).reshape(x.shape)
    expected = {
        "elements": sizes.astype(float),
        "mean": over_members(x, averaged, np.mean),
        "variance": over_members(x, divided, np.var),
        "rms": over_members(x, divided, lambda x: np.mean(x * x) ** 0.5),
    }
    if scheme.kind.key == "spectral":
        expected["divisor"] = np.full(x.shape, np.linalg.norm(x.reshape(-1, x.shape[3]), 2))
    elif scheme.suppression is not None and scheme.kind.key != "whitening":
        v = x if scheme.summation is None else x - expected["mean"]
        expected["divisor"] = np.sqrt(eps + over_members(v * v, divided, np.mean)) / scheme.compute_scale(x.shape)
    indices = [name for name in table if name in scheme.axes]
    assert list(table) == indices + list(expected)
    for name, column in expected.items():
        # What is left of a variance after the mean is taken off has the digits of the squares, not its own.
        scale = np.max(x * x) if name == "variance" else np.max(np.abs(column))
        assert np.max(np.abs(table[name][rows] - column)) <= 1e-12 * scale, name


@EVERY
def test_the_table_of_a_scheme_equals_the_definition(key):
    scheme, x = SCHEMES[key], uneven_array(SHAPE, 1)
    table = build_statistics_table(x, scheme, normalize(x, scheme))
    if not scheme.fields:
        assert table == {}
        return
    assert_table(table, scheme, x, scheme.eps or 0)


@given(pairs_of_fields, epsilons, seeds)
def test_the_table_of_any_fields_equals_the_definition(drawn, eps, seed):
    shape, (summation, suppression) = drawn
    scheme = SCHEMES["custom"].with_fields(summation, suppression)
    x = uneven_array(shape, seed)
    assert_table(build_statistics_table(x, scheme, normalize(x, scheme, eps)), scheme, x, eps)


@EVERY
def test_there_is_a_row_for_each_statistic_with_its_indices(key):
    scheme, x = SCHEMES[key], uneven_array(SHAPE, 2)
    table = build_statistics_table(x, scheme, normalize(x, scheme))
    if not scheme.fields:
        assert table == {}
        return
    counts = (scheme.summation if scheme.kind.key == "whitening" else scheme.field).compute_statistics_shape(SHAPE)
    assert {len(column) for column in table.values()} == {np.prod(counts)}
    named = {axis: count for axis, count in zip(scheme.axes, counts, strict=True) if count > 1}
    assert [name for name in table if name in scheme.axes] == list(named)
    rows = list(zip(*(table[axis] for axis in named), strict=True))
    assert rows == (list(np.ndindex(*named.values())) if named else [])


@given(pairs_of_fields)
def test_both_statistics_are_constant_along_the_joint_field(drawn):
    shape, (summation, suppression) = drawn
    scheme = SCHEMES["custom"].with_fields(summation, suppression)
    joint = build_statistics_row_field(scheme)
    boxes = {}
    for index in np.ndindex(*shape):
        both = tuple(field.find_box(index, shape) for field in scheme.fields)
        assert boxes.setdefault(joint.find_statistic_index(index, shape), both) == both


def test_the_joint_field_of_equal_fields_is_that_field():
    field = Field((FULL, Rule("groups", 2), Rule("window", 1), FULL))
    assert build_statistics_row_field(SCHEMES["custom"].with_fields(field, field)) == field


@given(shapes.flatmap(lambda s: st.tuples(st.just(s), fields(s))), seeds)
def test_variance_is_never_negative_and_equals_the_definition(drawn, seed):
    shape, field = drawn
    x = uneven_array(shape, seed)
    result = compute_variance(x, field)
    assert result.shape == field.compute_statistics_shape(shape)
    assert (result >= 0).all()
    everywhere = np.stack([result[field.find_statistic_index(i, shape)] for i in np.ndindex(*shape)]).reshape(shape)
    assert np.max(np.abs(everywhere - over_members(x, field, np.var))) <= 1e-12 * np.max(x * x)


@pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.summation])
def test_the_table_shows_a_tiny_spread_on_a_huge_mean(key):
    scheme = SCHEMES[key]
    spread = np.random.default_rng(3).integers(-1000, 1000, SHAPE) * 2.0**-20
    tables = [build_statistics_table(x, scheme, normalize(x, scheme, 0.0)) for x in (1e8 + spread, spread)]
    for name in {"variance", "divisor"} & set(tables[0]) - ({"divisor"} if scheme.kind.key == "whitening" else set()):
        assert relative_difference(*(table[name] for table in tables)) < 1e-12


def assert_elements(x, scheme, eps):
    gain, bias = 1.5, -0.25
    result = normalize(x, scheme, eps, gain, bias)
    for index in np.ndindex(*x.shape):
        shown = compute_element_steps(x, result, scheme, index)
        mean = x[members(scheme.summation, index, x.shape)].mean() if scheme.summation else None
        assert shown.x == x[index]
        assert (shown.mean is None) == (mean is None)
        assert mean is None or shown.mean == pytest.approx(mean, rel=1e-12, abs=1e-12)
        assert (shown.deviation is None) == (scheme.suppression is None or scheme.kind.key == "whitening")
        assert shown.v == pytest.approx(shown.x - (shown.mean or 0), rel=1e-12, abs=1e-12)
        # Each step follows from the one before, so that the page can show them as one calculation.
        divided = shown.v / shown.deviation if shown.deviation else shown.v
        divided = getattr(math, scheme.kind.function)(scheme.alpha * shown.v) if scheme.function else divided
        assert scheme.kind.key == "whitening" or shown.xhat == pytest.approx(
            divided * scheme.compute_scale(x.shape), rel=1e-12
        )
        assert shown.y == pytest.approx(gain * shown.xhat + bias, rel=1e-12)
        if scheme.suppression is not None and scheme.is_general_form:
            v = result.v[members(scheme.suppression, index, x.shape)]
            assert shown.deviation == pytest.approx((eps + np.mean(v * v)) ** 0.5, rel=1e-12)
        assert all(part is None or type(part) is float for part in shown)


@EVERY
def test_an_element_of_a_scheme_goes_through_the_definition(key):
    assert_elements(uneven_array((2, 3, 2, 4), 4), SCHEMES[key], SCHEMES[key].eps or 0)


@given(pairs_of_fields, epsilons, seeds)
@settings(max_examples=25)
def test_an_element_of_any_fields_goes_through_the_definition(drawn, eps, seed):
    shape, (summation, suppression) = drawn
    assert_elements(uneven_array(shape, seed), SCHEMES["custom"].with_fields(summation, suppression), eps)


@EVERY
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_the_table_of_spoilt_data_is_made_without_a_warning(key, value):
    scheme, x = SCHEMES[key], uneven_array(SHAPE, 5)
    x[1, 2, 3, 4] = value
    table = build_statistics_table(x, scheme, normalize(x, scheme))
    assert bool(scheme.fields) == any(not np.isfinite(column).all() for column in table.values())


@pytest.mark.parametrize("key", ["batch", "layer", "rms", "divisive", "group"])
def test_the_response_is_linear_and_then_saturated(key):
    x, scheme, index = uneven_array((3, 4, 4, 6), 1), SCHEMES[key], (1, 2, 3, 4)
    contrasts, eps = np.geomspace(1e-6, 1e6, 25), 1.0
    one = compute_saturation(x, scheme, index)
    found = one.compute_response(contrasts, eps)
    v = centre(x, scheme.summation)[0][index] if scheme.summation else x[index]
    assert found == pytest.approx([normalize(c * x, scheme, eps).xhat[index] for c in contrasts], rel=1e-12)
    assert found[0] == pytest.approx(contrasts[0] * v / eps**0.5, rel=1e-6)
    assert one.compute_slope(eps) == pytest.approx(v / eps**0.5)
    assert one.compute_response(np.array([one.compute_knee(4.0)]), 4.0) == pytest.approx(one.level / 2**0.5)
    assert found[-1] == pytest.approx(normalize(x, scheme, 0.0).xhat[index], rel=1e-6)
    assert (np.diff(np.abs(found)) >= -1e-12).all()
    flat = one.compute_response(contrasts, 0.0)
    assert np.ptp(flat) < 1e-6 * np.abs(flat).max()


@pytest.mark.parametrize("groups", [1, 2, 6])
@pytest.mark.parametrize("shape", [(3, 4, 4, 6), (3, 1, 1, 6)])
def test_what_is_whitened_responds_along_every_eigenvector(groups, shape):
    x, scheme = uneven_array(shape, 1), get_scheme("whitening", groups=groups)
    contrasts, index = np.geomspace(1e-4, 1e4, 9), (1, 0, 0, 4)
    one = compute_split_saturation(x, scheme, index)
    for eps in (0.0, 1e-2, 1.0):
        expected = [normalize(c * x, scheme, eps).xhat[index] for c in contrasts]
        np.testing.assert_allclose(one.compute_response(contrasts, eps), expected, rtol=1e-9, atol=1e-12)
    assert not compute_split_saturation(np.ones(shape), scheme, index).compute_response(contrasts, 0.0).any()


def test_covariances_have_the_variances_on_their_diagonal():
    v = normalize(uneven_array(SHAPE, 2), SCHEMES["batch"]).v
    found = compute_covariances(v)
    np.testing.assert_allclose(found, np.cov(v.reshape(-1, 6).T, bias=True), rtol=1e-12, atol=1e-12)


def test_a_flat_field_does_not_respond():
    one = compute_saturation(np.ones((1, 3, 3, 2)), SCHEMES["layer"], (0, 1, 1, 1))
    assert (one.compute_response(np.geomspace(1e-3, 1e3, 7), 0.0) == 0).all()
    assert (one.level, one.compute_slope(1.0), one.compute_knee(1.0), one.compute_slope(0.0)) == (
        0.0,
        0.0,
        np.inf,
        np.inf,
    )
