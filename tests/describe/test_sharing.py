"""What is said to be shared, held against the statistics that `normalize` uses."""

import numpy as np
import pytest
from direct import members
from hypothesis import given
from strategies import examples, noise, shapes_with_fields

from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.describe import aims, wording

CUSTOM = SCHEMES["custom"]
LOOKED_AT = 6
"""Elements of a tensor that are looked at, spread over it."""

SHAPES = [(4, 3, 2, 6), (2, 1, 1, 2), (1, 4, 4, 1), (3, 3, 1, 4), (1, 1, 1, 1)]


def statistic(scheme, result, name, index, shape):
    """The statistic of an element that is called so."""
    if name == "mean":
        return result.mean[scheme.summation.find_statistic_index(index, shape)]
    return result.deviation[scheme.suppression.find_statistic_index(index, shape)] ** 2


def check(scheme, shape):
    """Every sentence about every element of a tensor of this shape."""
    x = 1 + noise(0, *shape)
    result = normalize(x, scheme, 0.0)
    centred_there = len(scheme.fields) == 2 and len({field.simplify(shape) for field in scheme.fields}) == 1
    for index in list(np.ndindex(*shape))[:: max(x.size // LOOKED_AT, 1)]:
        for box in wording.SchemeOnShape(scheme, shape).describe_boxes(index):
            for name in box.names:
                field = scheme.summation if name == "mean" else scheme.suppression
                inside = members(field, index, shape)
                others = list(map(tuple, np.argwhere(inside)))
                assert box.where.startswith(wording.pluralize(len(others), "element") + ": ")
                value = statistic(scheme, result, name, index, shape)
                how = {"mean": np.mean(x[inside]), "mean square": np.mean(result.v[inside] ** 2)}
                np.testing.assert_allclose(value, (how | {"variance": np.var(x[inside])})[name], atol=1e-12)
                if "of its own" in box.what:
                    assert wording.find_windowed_axes(field, shape)
                    continue
                assert all(np.array_equal(members(field, other, shape), inside) for other in others)
                np.testing.assert_allclose(
                    [statistic(scheme, result, name, other, shape) for other in others], value, atol=1e-12
                )
                assert ("they share" in box.what) == (len(others) > 1)
                assert (name == "mean square") <= (not centred_there)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("key", [key for key, row in SCHEMES.items() if row.is_general_form])
def test_of_every_scheme(key, shape):
    odd = any(n % 2 for n in SCHEMES[key].find_grouped_axes(shape).values())
    check(get_scheme(key, groups=1 if odd else 2), shape)


def test_of_whitening():
    scheme, shape = SCHEMES["whitening"], (4, 3, 2, 6)
    mean, matrix = wording.SchemeOnShape(scheme, shape).describe_boxes((1, 2, 0, 4))
    assert mean.sentence == "It shares a mean among 24 elements: all n, h, w of channel 4."
    assert matrix.sentence == "It shares a covariance matrix among 72 elements: all n, h, w of channels 3 to 5."
    assert (
        wording.SchemeOnShape(scheme, shape).describe_sharing()
        == "a mean over one field, a covariance matrix over another"
    )
    assert wording.SchemeOnShape(scheme, shape).describe_statistic_counts() == (
        "6 means, each of 24 elements; 2 covariance matrices, each of 72 elements"
    )
    x = noise(0, *shape)
    changed = x.copy()
    changed[..., 3] *= 2
    same = np.isclose(*(normalize(a, scheme, 0.1).xhat for a in (x, changed))).all((0, 1, 2))
    assert same.tolist() == [True] * 3 + [False] * 3
    alone = get_scheme("whitening", groups=6)
    (box,) = wording.SchemeOnShape(alone, shape).describe_boxes((1, 2, 0, 4))
    assert box == wording.SchemeOnShape(SCHEMES["batch"], shape).describe_boxes((1, 2, 0, 4))[0]
    assert aims.summarize_scheme(scheme) == "N·H·W, ÷ √Σ"


@examples(100)
@given(shape_fields=shapes_with_fields(2))
def test_of_any_fields(shape_fields):
    shape, first, second = shape_fields
    shape = tuple(min(n, 3) for n in shape) if np.prod(shape) > 100 else shape
    for fields in ((first, second), (first, first), (first, None), (None, second)):
        scheme = CUSTOM.with_fields(*fields)
        if scheme.fits(shape):
            check(scheme, shape)


def test_elements_that_share_in_windows_are_told_from_those_that_do_not():
    shape, field = (3, 4, 1, 2), Field.parse("full, window(1), own, own")
    scheme = CUSTOM.with_fields(field, field)
    assert (
        wording.SchemeOnShape(scheme, shape).describe_sharing()
        == "every position has a mean and a mean square of its own"
    )
    assert (
        wording.SchemeOnShape(scheme, (3, 2, 1, 2)).describe_sharing() == "a mean and a variance"
    )  # the windows hold both rows
    assert (
        wording.SchemeOnShape(SCHEMES["divisive"], (1, 4, 4, 4)).describe_sharing()
        == "every element has a mean and a mean square of its own"
    )


@pytest.mark.parametrize(
    ("a", "b", "words", "counts"),
    [
        ("own, full, full, own", "own, own, own, full", "a mean over one field, a mean square over another",
         "24 means, each of 16 elements; 64 mean squares, each of 6 elements"),
        ("own, full, full, own", None, "a mean", "24 statistics, each of 16 elements"),
        (None, "own, own, own, full", "a mean square", "64 statistics, each of 6 elements"),
        ("own, window(1), own, own", "full, full, full, own",
         "every element has a mean of its own; a mean square",
         "384 means, each of 2 to 3 elements; 6 mean squares, each of 64 elements"),
        ("own, own, own, own", "own, own, own, groups(6)", "a mean and a variance",
         "384 statistics, each of 1 element"),
    ],
)  # fmt: skip
def test_of_two_fields(a, b, words, counts):
    scheme = CUSTOM.with_fields(*(None if text is None else Field.parse(text) for text in (a, b)))
    assert wording.SchemeOnShape(scheme, (4, 4, 4, 6)).describe_sharing() == words
    assert wording.SchemeOnShape(scheme, (4, 4, 4, 6)).describe_statistic_counts() == counts


def test_the_picture_names_both_fields():
    scheme = CUSTOM.with_fields(Field.parse("own, full, full, own"), Field.parse("own, own, own, full"))
    text = wording.SchemeOnShape(scheme, (4, 4, 4, 6)).describe_cube((0, 0, 0, 1), "folded", "field")
    assert text.endswith(
        "lit is the field of its mean square, 6 elements: all c of example 0, row 0, column 0; "
        "dashed that of its mean, 16 elements: all h, w of example 0, channel 1."
    )
    assert wording.SchemeOnShape(scheme, (4, 4, 4, 6)).describe_axes((1, 2)) == "H and W averaged in A, kept in B"
    assert wording.SchemeOnShape(scheme, (4, 4, 4, 6)).describe_axes((0,)) == "N kept"


@pytest.mark.parametrize(
    ("key", "name", "label"),
    [
        ("batch", "batch normalization", "Batch"),
        ("group", "group normalization with G = 3", "Group, G = 3"),
        ("divisive", "divisive normalization with R = 2", "Divisive, R = 2"),
    ],
)
def test_a_scheme_is_named_with_its_parameter(key, name, label):
    scheme = get_scheme(key, groups=3, radius=2)
    assert (wording.format_scheme_name(scheme), wording.format_scheme_label(scheme)) == (name, label)
