"""The sentences about fields and statistics."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import shapes_with_fields

from normviz.core.fields import AXES, Field
from normviz.core.registry import SCHEMES, get_scheme
from normviz.describe import wording

SHAPE, WEIGHTS = (4, 4, 4, 6), (3, 3, 4, 8)


@pytest.mark.parametrize(
    ("key", "index", "words"),
    [
        ("batch", (0, 1, 2, 3), "64 elements: all n, h, w of channel 3"),
        ("layer", (2, 0, 0, 0), "96 elements: all h, w, c of example 2"),
        ("layer-channels", (2, 1, 3, 0), "6 elements: all c of example 2, row 1, column 3"),
        ("instance", (3, 0, 0, 5), "16 elements: all h, w of example 3, channel 5"),
        ("group", (1, 0, 0, 4), "48 elements: all h, w of example 1, channels 3 to 5"),
        ("divisive", (0, 0, 1, 5), "12 elements: example 0, rows 0 to 1, columns 0 to 2, channels 4 to 5"),
    ],
)
def test_a_field_in_words(key, index, words):
    assert wording.describe_field_box(SCHEMES[key].field, index, SHAPE, AXES["activation"]) == words


@pytest.mark.parametrize(
    ("key", "words"),
    [("weight", "36 elements: all r, s, i of unit 7"), ("spectral", "288 elements: all r, s, i, o")],
)
def test_a_field_of_weights_in_words(key, words):
    assert wording.describe_field_box(SCHEMES[key].field, (1, 1, 1, 7), WEIGHTS, SCHEMES[key].axes) == words


@pytest.mark.parametrize(
    ("rules", "shape", "words"),
    [
        ("own, own, own, own", SHAPE, "1 element: example 1, row 1, column 0, channel 0"),
        ("full, full, full, full", SHAPE, "384 elements: all n, h, w, c"),
        ("own, full, full, groups(1)", SHAPE, "96 elements: all h, w, c of example 1"),
        ("own, full, full, groups(6)", SHAPE, "16 elements: all h, w of example 1, channel 0"),
        ("own, window(9), own, own", SHAPE, "4 elements: all h of example 1, column 0, channel 0"),
        ("full, full, full, own", (64, 8, 8, 32), "4,096 elements: all n, h, w of channel 0"),
    ],
)
def test_any_field_in_words(rules, shape, words):
    assert wording.describe_field_box(Field.parse(rules), (1, 1, 0, 0), shape, AXES["activation"]) == words


@pytest.mark.parametrize(
    ("key", "shape", "words"),
    [
        ("batch", (8, 1, 1, 12), "8 elements: all n of channel 0"),
        ("layer-channels", (8, 1, 1, 12), "12 elements: all c of example 1"),
        ("layer-channels", (4, 8, 1, 6), "6 elements: all c of example 1, position 0"),
        ("layer", (4, 8, 1, 6), "48 elements: all h, c of example 1"),
        ("divisive", (4, 8, 1, 6), "4 elements: example 1, positions 0 to 1, channels 0 to 1"),
    ],
)
def test_a_dense_layer_has_no_rows_and_a_sequence_has_positions(key, shape, words):
    assert wording.describe_field_box(SCHEMES[key].field, (1, 0, 0, 0), shape, AXES["activation"]) == words


def test_an_example_and_a_channel_are_named_even_where_there_is_a_single_one():
    words = wording.describe_field_box(
        Field.parse("own, full, full, own"), (0, 1, 0, 2), (1, 4, 1, 6), AXES["activation"]
    )
    assert words == "4 elements: all h of example 0, channel 2"


@given(shape_fields=shapes_with_fields(1), data=st.data())
def test_the_words_count_the_elements_and_name_every_axis(shape_fields, data):
    shape, field = shape_fields
    index = data.draw(st.tuples(*[st.integers(0, n - 1) for n in shape]))
    count, _, rest = wording.describe_field_box(field, index, shape, AXES["activation"]).partition(": ")
    there = [n for axis, n in enumerate(shape) if n > 1 or axis in (0, 3)]  # a dense layer has no rows and columns
    assert count == wording.pluralize(field.count_elements(index, shape), "element")
    full, _, cut = rest.removeprefix("all ").partition(" of ") if rest.startswith("all ") else ("", "", rest)
    assert len([*filter(None, full.split(", ")), *filter(None, cut.split(", "))]) == len(there)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("none", "nothing"),
        ("batch", "a mean and a variance"),
        ("rms", "a mean square"),
        ("weight", "a mean square"),
        ("spectral", "the largest singular value"),
    ],
)
def test_what_a_field_shares(key, words):
    assert (
        wording.SchemeOnShape(SCHEMES[key], WEIGHTS if SCHEMES[key].is_weight_scheme else SHAPE).describe_sharing()
        == words
    )


def test_a_field_that_is_only_centred_shares_a_mean():
    scheme = SCHEMES["custom"].with_fields(SCHEMES["custom"].summation, None)
    assert wording.SchemeOnShape(scheme, SHAPE).describe_sharing() == "a mean"


@pytest.mark.parametrize(
    ("key", "shape", "words"),
    [
        ("none", SHAPE, "no statistics"),
        ("layer", SHAPE, "4 statistics, each of 96 elements"),
        ("layer", (1, 4, 4, 6), "1 statistic, of 96 elements"),
        ("instance", (2, 1, 1, 3), "6 statistics, each of 1 element"),
        ("divisive", SHAPE, "384 statistics, each of 8 to 27 elements"),
        ("batch", (1, 1, 1, 65_536), "65,536 statistics, each of 1 element"),
    ],
)
def test_how_many_statistics_there_are(key, shape, words):
    assert wording.SchemeOnShape(SCHEMES[key], shape).describe_statistic_counts() == words


@pytest.mark.parametrize(
    ("key", "axes", "words"),
    [
        ("batch", (3,), "C kept"),
        ("batch", (1, 2), "H and W averaged"),
        ("batch", (0,), "N averaged"),
        ("group", (3,), "C in 2 groups"),
        ("divisive", (1, 2), "H and W within ±1"),
        ("layer-channels", (1, 2), "H and W kept"),
        ("none", (1, 2), "H and W"),
        ("weight", (0, 1), "kh and kw averaged"),
        ("weight", (3,), "Cout kept"),
        ("custom", (1, 2), "H averaged, W kept"),
    ],
)
def test_the_title_of_an_axis(key, axes, words):
    assert wording.SchemeOnShape(SCHEMES[key], WEIGHTS if key == "weight" else SHAPE).describe_axes(axes) == words


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ((4, 1, 1, 6), ""),
        ((4, 5, 1, 6), "H (positions) averaged"),
        ((4, 1, 5, 6), "W (width) averaged"),
        ((4, 5, 2, 6), "H and W (positions) averaged"),
    ],
)
def test_the_title_of_a_pictures_axis_is_of_axes_that_are_there(shape, words):
    assert wording.SchemeOnShape(SCHEMES["batch"], shape).format_axis_title((1, 2)) == words


def test_a_window_on_a_single_index_keeps_it():
    assert wording.SchemeOnShape(SCHEMES["divisive"], (4, 1, 4, 6)).describe_axes((1,)) == "H kept"
    assert wording.SchemeOnShape(get_scheme("divisive", radius=3), SHAPE).describe_axes((1,)) == "H within ±3"


@pytest.mark.parametrize(
    ("key", "rest"),
    [
        (
            "layer",
            "Layer normalization: lit is the field of the chosen element, 96 elements: all h, w, c of example 2.",
        ),
        (
            "rms",
            "RMS normalization: lit is the field of the chosen element, "
            "6 elements: all c of example 2, row 0, column 0.",
        ),
        ("none", "No normalization: no elements share a statistic."),
    ],
)
def test_the_picture_in_a_sentence(key, rest):
    text = wording.SchemeOnShape(SCHEMES[key], SHAPE).describe_cube((2, 0, 0, 0), "folded", "value x")
    assert text == (
        f"A tensor with N = 4, H = 4, W = 4, C = 6, drawn as cells in 3-D, folded, coloured by value x. {rest}"
    )


def test_the_picture_of_weights_names_their_axes():
    text = wording.SchemeOnShape(SCHEMES["weight"], WEIGHTS).describe_cube((0, 0, 0, 5), "unfolded", "field")
    assert text.startswith("A tensor with kh = 3, kw = 3, Cin = 4, Cout = 8, drawn as cells in 3-D, unfolded, ")
    assert text.endswith("36 elements: all r, s, i of unit 5.")


@pytest.mark.parametrize(("number", "text"), [(0, "0 cells"), (1, "1 cell"), (2, "2 cells"), (4096, "4,096 cells")])
def test_plurals(number, text):
    assert wording.pluralize(number, "cell") == text


def test_a_shape_in_words():
    assert wording.format_shape(SHAPE) == "4\u00a0×\u00a04\u00a0×\u00a04\u00a0×\u00a06"


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.0, "0"), (-0.25, "−0.250"), (2.2e-16, "2·10⁻¹⁶"), (-3e-4, "−0.0003"), (12345.6, "12,345.600"), (5e-4, "0.001")],
)
def test_a_number_to_some_decimals(value, text):
    assert wording.format_decimals(value) == text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.01, "1 second"), (7.4, "7 seconds"), (44.0, "40 seconds"), (89.0, "90 seconds"), (200.0, "3 minutes"),
        (5400.0, "2 hours"), (43_200.0, "12 hours"), (86400.0 * 30, "30 days"),
    ],
)  # fmt: skip
def test_a_time_in_the_unit_that_suits_it(seconds, words):
    assert wording.format_duration(seconds) == words


@pytest.mark.parametrize(("groups", "words"), [(1, "averaged"), (2, "in 2 groups"), (6, "kept")])
def test_one_group_is_the_whole_axis_and_groups_of_one_keep_it(groups, words):
    scheme = get_scheme("group", groups=groups)
    assert wording.SchemeOnShape(scheme, (4, 4, 4, 6)).format_axis_title([3]) == f"C (channels) {words}"
