from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from strategies import noise, shapes_with_fields

from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, OWN, Field, Rule
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES, find_equal_schemes, get_scheme

EVERY = pytest.mark.parametrize("key", SCHEMES)
SHAPE = (4, 3, 5, 6)

# key: acts on, A, B, eps, gain, bias, keeps (Table of the design; None: there is none).
BY_CHANNEL, BY_ELEMENT = ("C",), ("H", "W", "C")
FULL_FULL_FULL_OWN, OWN_FULL_FULL_FULL, OWN_FULL_FULL_OWN = (
    "full,full,full,own",
    "own,full,full,full",
    "own,full,full,own",
)
WINDOWS, GROUPS = "own,window(1),window(1),window(1)", "own,full,full,groups(2)"
GHOSTS = "groups(2),full,full,own"
RUNNING, SINGULAR = ("running mean", "running variance"), ("left singular vector", "right singular vector")
MATRIX = ("running mean", "running whitening matrix")
TABLE = {
    "none": ("none", None, None, None, None, None, ()),
    "batch": ("activation", *[FULL_FULL_FULL_OWN] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, RUNNING),
    "ghost-batch": ("activation", *[GHOSTS] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, RUNNING),
    "mean-only-batch": ("activation", FULL_FULL_FULL_OWN, None, None, None, BY_CHANNEL, RUNNING[:1]),
    "whitening": (
        "activation",
        FULL_FULL_FULL_OWN,
        "full,full,full,groups(2)",
        DEFAULT_EPS,
        BY_CHANNEL,
        BY_CHANNEL,
        MATRIX,
    ),
    "layer": ("activation", *[OWN_FULL_FULL_FULL] * 2, DEFAULT_EPS, BY_ELEMENT, BY_ELEMENT, ()),
    "layer-channels": ("activation", *["own,own,own,full"] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, ()),
    "layer-spatial": ("activation", *[OWN_FULL_FULL_OWN] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, ()),
    "instance": ("activation", *[OWN_FULL_FULL_OWN] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, ()),
    "filter-response": ("activation", None, OWN_FULL_FULL_OWN, 1e-6, BY_CHANNEL, BY_CHANNEL, ()),
    "group": ("activation", *[GROUPS] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, ()),
    "rms": ("activation", None, "own,own,own,full", DEFAULT_EPS, BY_CHANNEL, None, ()),
    "scale": ("activation", None, "own,own,own,full", DEFAULT_EPS, (), None, ()),
    "pixel": ("activation", None, "own,own,own,full", 1e-8, None, None, ()),
    "query-key": ("activation", None, "own,own,own,groups(2)", DEFAULT_EPS, (), None, ()),
    "divisive": ("activation", *[WINDOWS] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, ()),
    "dynamic-tanh": ("activation", None, None, None, BY_CHANNEL, BY_CHANNEL, ()),
    "dynamic-erf": ("activation", None, None, None, BY_CHANNEL, BY_CHANNEL, ()),
    "weight": ("weight", None, FULL_FULL_FULL_OWN, None, ("Cout",), None, ()),
    "weight-standardization": ("weight", *[FULL_FULL_FULL_OWN] * 2, DEFAULT_EPS, None, None, ()),
    "spectral": ("weight", None, "full,full,full,full", None, None, None, SINGULAR),
    "layer-weight": ("both", *[OWN_FULL_FULL_FULL] * 2, DEFAULT_EPS, BY_ELEMENT, BY_ELEMENT, ()),
    "custom": ("activation", *["full,full,own,own"] * 2, DEFAULT_EPS, BY_CHANNEL, BY_CHANNEL, ()),
}


def test_the_registry_is_the_designs_table_in_its_order():
    assert list(SCHEMES) == list(TABLE)


@EVERY
def test_a_row_is_the_designs(key):
    row = SCHEMES[key]
    fields = (None if field is None else str(field) for field in (row.summation, row.suppression))
    assert (row.acts_on, *fields, row.eps, row.gain, row.bias, row.keeps) == TABLE[key]


@EVERY
def test_a_row_is_complete_and_consistent(key):
    row = SCHEMES[key]
    assert row.key == key
    assert row.name
    assert row.label
    assert row.about.endswith(".")
    assert row.reference.text
    for reference in row.references:
        assert reference.url is None or reference.url == f"https://arxiv.org/abs/{reference.arxiv}"
    assert {*(row.gain or ()), *(row.bias or ()), *(row.threshold or ())} <= set(row.axes)
    assert (row.eps is None) or (row.suppression is not None and row.eps > 0)
    assert row.weight is None or SCHEMES[row.weight].is_weight_scheme


def test_names_and_labels_are_unique():
    for names in ([row.name for row in SCHEMES.values()], [row.label for row in SCHEMES.values()]):
        assert len(set(names)) == len(names)


def test_only_weight_norm_divides_by_the_fan_in_and_few_schemes_are_outside_the_form():
    assert [key for key, row in SCHEMES.items() if row.per_fan_in] == ["weight"]
    outside = {key: row.kind.key for key, row in SCHEMES.items() if not row.is_general_form}
    assert outside == {
        "whitening": "whitening", "dynamic-tanh": "pointwise", "dynamic-erf": "pointwise", "spectral": "spectral",
    }  # fmt: skip
    assert {key: row.threshold for key, row in SCHEMES.items() if row.threshold} == {"filter-response": ("C",)}
    assert [(key, row.weight) for key, row in SCHEMES.items() if row.weight] == [("layer-weight", "weight")]


@EVERY
def test_scale_is_one_over_the_root_of_the_fan_in_where_the_row_says_so(key):
    row = SCHEMES[key]
    assert row.compute_scale(SHAPE) == pytest.approx((4 * 3 * 5) ** -0.5 if row.per_fan_in else 1, rel=1e-15)


@EVERY
def test_the_field_to_look_at_is_the_one_that_divides(key):
    row = SCHEMES[key]
    assert row.field == (row.suppression if row.suppression is not None else row.summation)
    assert row.fields == tuple(f for f in (row.summation, row.suppression) if f is not None)
    assert replace(row, suppression=None).field == row.summation


# (key, arguments, shape) and all schemes that compute the same on that shape, with the G or R with which they do.
SAME = [
    ("group", {"groups": 1}, SHAPE, {"layer": None, "divisive": 5}),
    ("group", {"groups": 6}, SHAPE, {"layer-spatial": None, "instance": None, "ghost-batch": 4}),
    ("group", {"groups": 2}, SHAPE, {}),
    ("layer", {}, (4, 3, 5, 1), {"instance": None, "layer-spatial": None, "ghost-batch": 4, "group": 1, "divisive": 4}),
    (
        "batch",
        {},
        (1, 3, 5, 6),
        {"ghost-batch": 1, "whitening": 6, "instance": None, "layer-spatial": None, "group": 6},
    ),
    ("batch", {}, SHAPE, {"ghost-batch": 1, "whitening": 6}),
    ("whitening", {"groups": 6}, SHAPE, {"batch": None, "ghost-batch": 1}),
    ("whitening", {}, (4, 3, 5, 2), {"batch": None, "ghost-batch": 1}),
    ("whitening", {"groups": 1}, (4, 3, 5, 1), {"batch": None, "ghost-batch": 1}),
    ("whitening", {}, SHAPE, {}),
    ("whitening", {"groups": 1}, (4, 1, 1, 6), {}),
    ("layer-spatial", {}, SHAPE, {"instance": None, "ghost-batch": 4, "group": 6}),
    ("layer", {}, (4, 1, 1, 6), {"layer-channels": None, "group": 1, "divisive": 5}),
    ("layer", {}, SHAPE, {"group": 1, "divisive": 5}),
    ("divisive", {"radius": 5}, SHAPE, {"layer": None, "group": 1}),
    ("divisive", {"radius": 4}, (4, 3, 5, 5), {"layer": None, "group": 1}),
    ("divisive", {"radius": 4}, SHAPE, {}),
    ("instance", {}, (4, 3, 5, 2), {"layer-spatial": None, "ghost-batch": 4, "group": 2}),
    ("instance", {}, (4, 3, 5, 3), {"layer-spatial": None, "ghost-batch": 4, "group": 3}),
    ("divisive", {}, (4, 2, 2, 2), {"layer": None, "group": 1}),
    ("layer-channels", {}, SHAPE, {}),
    ("rms", {}, SHAPE, {"scale": None, "pixel": None, "query-key": 1}),
    ("query-key", {"groups": 1}, SHAPE, {"rms": None, "scale": None, "pixel": None}),
    ("query-key", {"groups": 6}, (4, 1, 1, 6), {"filter-response": None}),
    ("filter-response", {}, SHAPE, {}),
    ("ghost-batch", {}, SHAPE, {}),
    ("ghost-batch", {"groups": 4}, SHAPE, {"instance": None, "layer-spatial": None, "group": 6}),
    ("mean-only-batch", {}, SHAPE, {}),
    ("none", {}, (1, 1, 1, 1), {}),
    ("weight", {}, (1, 1, 1, 6), {}),
    ("layer-weight", {}, (4, 1, 1, 6), {"layer-channels": None, "group": 1, "divisive": 5}),
]


@pytest.mark.parametrize(("key", "parameters", "shape", "same"), SAME)
def test_same_as(key, parameters, shape, same):
    scheme = get_scheme(key, **parameters)
    assert {
        other.key: next(iter(other.parameters.values()), None) for other in find_equal_schemes(scheme, shape)
    } == same


@given(shape_field=shapes_with_fields(1))
def test_schemes_that_are_called_the_same_are(shape_field):
    shape, field = shape_field
    for scheme in (SCHEMES["custom"].with_fields(field, field), SCHEMES["custom"].with_fields(None, field)):
        x = noise(0, *shape)
        for other in find_equal_schemes(scheme, shape):
            np.testing.assert_allclose(normalize(x, other, 0.1).xhat, normalize(x, scheme, 0.1).xhat, atol=1e-12)


@pytest.mark.parametrize(("key", "rule"), [("group", Rule("groups", 3)), ("divisive", Rule("window", 2))])
def test_a_custom_scheme_is_recognised_whatever_its_parameter(key, rule):
    rules = (rule if each.kind == rule.kind else each for each in SCHEMES[key].field.rules)
    field = Field(tuple(rules))
    (other,) = find_equal_schemes(SCHEMES["custom"].with_fields(field, field), SHAPE)
    assert (other.key, other.parameters) == (key, {rule.kind: rule.parameter})


@EVERY
def test_same_as_is_mutual_and_leaves_out_the_scheme_itself_and_custom(key):
    shapes = (SHAPE, (4, 1, 1, 6), (1, 3, 5, 6), (4, 3, 5, 2), (1, 2, 2, 2))
    for shape in filter(SCHEMES[key].fits, shapes):
        for other in find_equal_schemes(SCHEMES[key], shape):
            assert other.key not in (key, "custom")
            assert other.weight == SCHEMES[key].weight
            assert key == "custom" or SCHEMES[key] in find_equal_schemes(other, shape)


def test_a_custom_scheme_is_named_when_it_equals_a_known_one():
    field = Field((FULL, FULL, FULL, Rule("groups", 6)))
    custom = get_scheme("custom").with_fields(field, field)
    assert [other.key for other in find_equal_schemes(custom, SHAPE)] == ["batch", "ghost-batch", "whitening"]
    assert find_equal_schemes(custom.with_fields(None, field), SHAPE) == []


FRONTS = [key for key, row in SCHEMES.items() if row.is_weight_scheme]


@pytest.mark.parametrize("front", FRONTS)
@given(shape_field=shapes_with_fields(2))
def test_behind_a_scheme_of_the_weights_the_same_ones_are_the_same(front, shape_field):
    shape, *fields = shape_field
    for a, b in (fields, fields[:1] * 2, (None, fields[1]), (fields[0], None)):
        alone = SCHEMES["custom"].with_fields(a, b)
        behind = alone.with_weight_scheme(front)
        assert [row.name for row in find_equal_schemes(behind, shape)] == [
            row.with_weight_scheme(front).name for row in find_equal_schemes(alone, shape)
        ]
        assert all(row.weight == front for row in find_equal_schemes(behind, shape))


@pytest.mark.parametrize("front", FRONTS)
def test_what_stands_in_front_is_in_the_name_and_goes_again(front):
    custom, row = SCHEMES["custom"], SCHEMES[front]
    behind = custom.with_weight_scheme(front)
    assert (behind.weight, behind.acts_on) == (front, "both")
    assert behind.name == f"a scheme of your own behind {row.name}"
    assert behind.label == f"Custom + {row.label.lower()}"
    assert row.name in behind.about
    assert behind.with_weight_scheme(None) == custom
    assert custom.with_weight_scheme("spectral").with_weight_scheme(front) == behind
    assert SCHEMES["batch"].with_weight_scheme(front).name == f"batch normalization behind {row.name}"
    field = custom.summation
    assert behind.with_fields(None, field).with_weight_scheme(None) == custom.with_fields(None, field)


@pytest.mark.parametrize("front", FRONTS)
def test_where_neither_mean_nor_root_is_left_it_is_the_scheme_of_the_weights(front):
    assert find_equal_schemes(SCHEMES["custom"].with_fields(None, None).with_weight_scheme(front), SHAPE) == [
        SCHEMES[front]
    ]


def test_a_scheme_of_ones_own_behind_weight_norm_is_known_by_the_name_of_its_row():
    layer = SCHEMES["layer"]
    behind = SCHEMES["custom"].with_fields(layer.summation, layer.suppression).with_weight_scheme("weight")
    assert find_equal_schemes(behind, SHAPE)[0] == SCHEMES["layer-weight"]
    spectral = find_equal_schemes(behind.with_weight_scheme("spectral"), SHAPE)[0]
    assert spectral.name == "layer normalization behind spectral normalization"


@pytest.mark.parametrize(
    ("key", "front", "told"),
    [
        ("custom", "wieght", "'wieght' is not a scheme of weights; weight, weight-standardization, spectral are"),
        ("custom", "batch", "'batch' is not a scheme of weights"),
        ("weight", "spectral", "weight normalization does not normalize activations"),
        ("none", "weight", "no normalization does not normalize activations"),
        ("layer-weight", "spectral", "has its own in front"),
        ("layer-weight", None, "has its own in front"),
    ],
)
def test_what_cannot_stand_in_front_is_refused(key, front, told):
    with pytest.raises(InvalidInput, match=told):
        SCHEMES[key].with_weight_scheme(front)


@EVERY
def test_parameters_reach_the_rules_that_take_one_and_no_others(key):
    scheme = get_scheme(key, groups=3, radius=2, alpha=7.0)
    kinds = {rule.kind for field in SCHEMES[key].fields for rule in field.rules}
    kinds |= {"alpha"} if scheme.function else set()
    given = {"groups": 3, "window": 2, "alpha": 7.0}
    assert scheme.parameters == {kind: n for kind, n in given.items() if kind in kinds}
    assert scheme == SCHEMES[key] or scheme.parameters
    assert get_scheme(key) == SCHEMES[key]
    assert SCHEMES[key].with_parameters() == SCHEMES[key]


def test_check_speaks_of_the_axes_that_the_scheme_acts_on():
    with pytest.raises(InvalidInput, match="4 groups do not divide C = 6; 1, 2, 3 or 6 do"):
        get_scheme("group", groups=4).check(SHAPE)
    field = Field((OWN, OWN, OWN, Rule("groups", 4)))
    with pytest.raises(InvalidInput, match="4 groups do not divide Cout = 6"):
        SCHEMES["weight"].with_fields(None, field).check(SHAPE)


@EVERY
def test_every_registered_scheme_fits_an_even_number_of_channels(key):
    SCHEMES[key].check(SHAPE)


def test_an_unknown_key_is_refused_with_those_that_are_known():
    with pytest.raises(InvalidInput) as error:
        get_scheme("bach")
    assert str(error.value) == "'bach' is not a scheme; did you mean batch?"
    with pytest.raises(InvalidInput) as error:
        get_scheme("dropout")
    assert str(error.value) == f"'dropout' is not a scheme; {', '.join(SCHEMES)} are."


def test_whitening_has_no_other_fields_than_its_own():
    row = SCHEMES["whitening"]
    for text in ("own,full,full,full", "full,full,own,groups(2)", "full,full,full,window(1)"):
        with pytest.raises(InvalidInput, match="it has no other fields"):
            row.with_fields(row.summation, Field.parse(text)).check(SHAPE)
    with pytest.raises(InvalidInput, match="it has no other fields"):
        row.with_fields(row.suppression, row.suppression).check(SHAPE)


@EVERY
@pytest.mark.parametrize("wrong", [{"groups": 0}, {"groups": -1}, {"radius": -1}])
def test_parameters_out_of_range_are_refused_whether_or_not_they_are_used(key, wrong):
    with pytest.raises(InvalidInput, match="groups takes a whole number from 1, window one from 0"):
        get_scheme(key, **wrong)
