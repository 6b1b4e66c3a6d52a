from math import prod

import numpy as np
import pytest
from direct import members, share
from hypothesis import given
from hypothesis import strategies as st
from strategies import fields, rules, shapes, shapes_with_fields

from normviz.core.errors import InvalidInput
from normviz.core.fields import (
    AXES,
    AXIS_NAMES,
    FULL,
    MAX_DRAWN_ELEMENTS,
    OWN,
    Field,
    Rule,
    check_shape,
    find_divisors,
    shrink_shape,
)

axis_rules = st.integers(1, 9).flatmap(lambda n: st.tuples(st.just(n), rules(n)))


@given(axis_rules)
def test_bounds_hold_exactly_the_indices_that_share(drawn):
    n, rule = drawn
    for i, (lo, hi) in enumerate(rule.compute_bounds(n)):
        assert list(range(lo, hi)) == [j for j in range(n) if share(rule, i, j, n)]


@given(axis_rules)
def test_count_is_the_number_of_statistics(drawn):
    n, rule = drawn
    different = {tuple(share(rule, i, j, n) for j in range(n)) for i in range(n)}
    # Windows that reach the same indices are still computed one per index.
    assert rule.count_statistics(n) == (n if rule.kind == "window" else len(different))


@pytest.mark.parametrize("radius", [6, 2**62, 2**63 - 1, 10**30])
def test_a_window_beyond_the_axis_holds_all_of_it(radius):
    assert Rule("window", radius).compute_bounds(6).tolist() == [[0, 6]] * 6


@given(shapes_with_fields(1))
def test_box_and_sizes_hold_exactly_the_members(drawn):
    shape, field = drawn
    sizes = field.compute_sizes(shape)
    assert sizes.shape == shape
    for index in np.ndindex(*shape):
        expected, in_box = members(field, index, shape), np.zeros(shape, bool)
        in_box[tuple(slice(lo, hi) for lo, hi in field.find_box(index, shape))] = True
        np.testing.assert_array_equal(in_box, expected)
        assert field.count_elements(index, shape) == sizes[index] == expected.sum()


@given(shapes_with_fields(1))
def test_bounds_of_a_field_are_those_of_its_rules(drawn):
    shape, field = drawn
    for bounds, rule, n in zip(field.compute_bounds(shape), field.rules, shape, strict=True):
        np.testing.assert_array_equal(bounds, rule.compute_bounds(n))


@given(shapes_with_fields(1))
def test_statistic_is_shared_by_the_members_and_no_others(drawn):
    shape, field = drawn
    counts = field.compute_statistics_shape(shape)
    by_statistic = {}
    for index in np.ndindex(*shape):
        statistic = field.find_statistic_index(index, shape)
        assert all(0 <= s < count for s, count in zip(statistic, counts, strict=True))
        by_statistic.setdefault(statistic, []).append(index)
    assert len(by_statistic) == prod(counts)
    for sharing in by_statistic.values():
        boxes = {field.find_box(index, shape) for index in sharing}
        assert len(boxes) == 1
        if not any(rule.kind == "window" for rule in field.rules):
            np.testing.assert_array_equal(np.argwhere(members(field, sharing[0], shape)), sharing)


@given(shapes_with_fields(2))
def test_canonical_is_equal_exactly_for_equal_boxes(drawn):
    shape, a, b = drawn
    same = all(a.find_box(index, shape) == b.find_box(index, shape) for index in np.ndindex(*shape))
    assert (a.simplify(shape) == b.simplify(shape)) == same
    assert a.simplify(shape).simplify(shape) == a.simplify(shape)


@given(axis_rules)
def test_canonical_is_the_plainest_rule(drawn):
    n, rule = drawn
    plainest = next(
        (r for r in (FULL, OWN) if all(share(r, i, j, n) == share(rule, i, j, n) for i in range(n) for j in range(n))),
        rule,
    )
    assert rule.simplify(n) == plainest


@given(shapes_with_fields(1))
def test_blocks_and_windows_are_the_field_in_two_parts(drawn):
    _, field = drawn
    rules = list(field.with_own_windows.rules)
    assert all(rule.kind != "window" for rule in rules)
    for axis, rule in field.windowed_axes:
        assert rules[axis] == OWN
        rules[axis] = rule
    assert tuple(rules) == field.rules


@given(shapes_with_fields(1))
def test_coarse_holds_every_box_and_is_a_partition(drawn):
    shape, field = drawn
    coarse = field.with_full_windows
    assert all(rule.kind != "window" for rule in coarse.rules)
    for index in np.ndindex(*shape):
        assert np.all(members(field, index, shape) <= members(coarse, index, shape))


@given(shapes.flatmap(fields), st.sampled_from(list(AXES.values())))
def test_parse_reads_what_str_and_named_write(field, axes):
    assert Field.parse(str(field), axes) == field
    assert Field.parse(",".join(f"{axis}={rule}" for axis, rule in field.to_dict(axes).items()), axes) == field
    assert all(Rule.parse(str(rule)) == rule for rule in field.rules)


def test_axes_that_are_not_named_are_own():
    assert Field.parse("C = groups( 2 ), N=full") == Field((FULL, OWN, OWN, Rule("groups", 2)))


@given(shapes.flatmap(fields), st.integers(1, 9), st.integers(0, 9))
def test_with_parameters_replaces_by_kind_and_nothing_else(field, groups, radius):
    changed = field.with_parameters(groups=groups, window=radius)
    expected = {"groups": groups, "window": radius}
    assert [rule.kind for rule in changed.rules] == [rule.kind for rule in field.rules]
    assert all(rule.parameter == expected.get(rule.kind) for rule in changed.rules)
    assert changed.parameters() == {rule.kind: expected[rule.kind] for rule in field.rules if rule.kind in expected}
    assert field.with_parameters(groups=None) == field


def test_parameters_are_the_first_of_their_kind():
    field = Field.parse("groups(2), window(3), groups(4), window(5)")
    assert field.parameters() == {"groups": 2, "window": 3}


NOT_RULES = ["", "all", "full()", "full(2)", "own(1)", "full full", "window", "window(-1)", "window(x)"]
NOT_RULES += ["groups", "groups()", "groups(0)", "groups(-1)", "groups(1.5)", "groups(12345678)"]


@pytest.mark.parametrize("text", NOT_RULES)
def test_what_is_not_a_rule_is_refused_with_those_that_are(text):
    with pytest.raises(InvalidInput, match=r"is not a rule.*own.*full|is not a rule.*groups.*window"):
        Rule.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("full, full", "a field has a rule for each of N, H, W, C; 'full, full' has 2."),
        ("", "a field has a rule for each of N, H, W, C; '' has 0."),
        ("D=full", "'D' is not an axis; N, H, W, C are, as in N=full."),
        ("full, N=own", "'full' is not an axis; N, H, W, C are, as in N=full."),
        ("N=most", "'most' is not a rule; own, full, groups(G) and window(R) are."),
    ],
)
def test_what_is_not_a_field_is_refused_with_what_would_be(text, message):
    with pytest.raises(InvalidInput) as error:
        Field.parse(text)
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("groups", "n", "message"),
    [
        (4, 6, "4 groups do not divide C = 6; 1, 2, 3 or 6 do."),
        (2, 1, "2 groups do not divide C = 1; 1 does."),
        (9, 7, "9 groups do not divide C = 7; 1 or 7 do."),
    ],
)
def test_groups_that_do_not_divide_name_those_that_do(groups, n, message):
    with pytest.raises(InvalidInput) as error:
        Field((OWN, OWN, OWN, Rule("groups", groups))).check((1, 1, 1, n))
    assert str(error.value) == message


@given(shapes_with_fields(1))
def test_drawn_fields_fit(drawn):
    shape, field = drawn
    field.check(shape)


def test_windows_that_hold_too_many_numbers_are_refused_with_a_radius_that_fits():
    shape = (1, 4, 2**20, 1)
    with pytest.raises(InvalidInput, match=r"window\(99\) along W = 1048576 .* full and radii up to 15 are not"):
        Field((OWN, OWN, Rule("window", 99), OWN)).check(shape)
    Field((OWN, OWN, Rule("window", 15), OWN)).check(shape)
    Field((OWN, Rule("window", 99), FULL, OWN)).check(shape)  # cut at the border
    Field((Rule("window", 0),) * 4).check((2**28, 1, 1, 1))


def test_divisors():
    assert [find_divisors(n) for n in (1, 7, 12)] == [[1], [1, 7], [1, 2, 3, 4, 6, 12]]


def test_every_axis_has_a_name():
    assert set(AXIS_NAMES) == {axis for axes in AXES.values() for axis in axes}


@given(shapes)
def test_a_good_shape_comes_back_as_integers(shape):
    checked = check_shape(np.array(shape), max_elements=MAX_DRAWN_ELEMENTS)
    assert checked == shape
    assert all(type(n) is int for n in checked)


@pytest.mark.parametrize(
    ("shape", "axes", "message"),
    [
        ((1, 0, 2, 3), "activation", "H = 0: every axis needs at least one element."),
        ((1, 1, 1, -4), "weight", "Cout = -4: every axis needs at least one element."),
        ((2, 3), "activation", "a tensor has the four axes N, H, W, C; this one has 2: (2, 3)."),
        ((1,) * 5, "weight", "a tensor has the four axes kh, kw, Cin, Cout; this one has 5: (1, 1, 1, 1, 1)."),
    ],
)
def test_a_bad_shape_is_refused_with_the_reason(shape, axes, message):
    with pytest.raises(InvalidInput) as error:
        check_shape(shape, AXES[axes])
    assert str(error.value) == message


def test_a_shape_over_the_limit_is_refused_with_one_that_fits():
    with pytest.raises(InvalidInput) as error:
        check_shape((1, 100, 100, 8), max_elements=MAX_DRAWN_ELEMENTS)
    fits = shrink_shape((1, 100, 100, 8), MAX_DRAWN_ELEMENTS)
    assert "1 × 100 × 100 × 8 is 80,000 elements, more than the 65,536" in str(error.value)
    assert f"{' × '.join(map(str, fits))} fits" in str(error.value)
    check_shape(fits, max_elements=MAX_DRAWN_ELEMENTS)


@given(st.tuples(*[st.integers(1, 6) | st.integers(1, 10**12)] * 4), st.integers(1, MAX_DRAWN_ELEMENTS))
def test_largest_fit_fits_and_no_axis_of_it_could_be_longer(shape, limit):
    fits = shrink_shape(shape, limit)
    assert prod(fits) <= limit
    for axis, (fit, n) in enumerate(zip(fits, shape, strict=True)):
        assert 1 <= fit <= n
        longer = tuple(m + (a == axis) for a, m in enumerate(fits))
        assert fit == n or prod(longer) > limit


@given(shapes)
def test_largest_fit_leaves_what_fits(shape):
    assert shrink_shape(shape, MAX_DRAWN_ELEMENTS) == shape


@pytest.mark.parametrize("shape", [(10**9, 10**9, 1, 1), (10**9,) * 4])
def test_largest_fit_cuts_long_axes_to_about_the_same_length(shape):
    long = [fit for fit, n in zip(shrink_shape(shape, MAX_DRAWN_ELEMENTS), shape, strict=True) if n > 1]
    assert max(long) - min(long) <= 1
