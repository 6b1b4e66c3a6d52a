"""What a link may say, as pure functions: any text becomes a valid value, and valid text stays as it is."""

from math import isfinite, prod

import pytest
from declared import EVERY_PAGE, PAGES
from hypothesis import example, given
from hypothesis import strategies as st
from lab_page import sound
from streamlit.testing.v1 import AppTest

from normviz.core.fields import MAX_DRAWN_ELEMENTS, Rule, check_shape, find_divisors, shrink_shape
from normviz.core.registry import SCHEMES
from normviz.core.settings import Choice, MultipleChoice, Real, Switch, get_declarations
from normviz.data.samples import SAMPLES
from normviz.topics.lab import state as lab
from normviz.ui import custom, tensor
from normviz.ui import scheme as chosen
from normviz.ui.link import (
    clean_values,
    format_repair_note,
    make_choice_fitter,
    make_integer_fitter,
)

KEYS = [param.key for param in lab.PARAMS]
RULES = st.builds("{}({})".format, st.sampled_from(["groups", "window"]), st.integers(0, 70_000))
WORDS = st.sampled_from(
    ["", "nan", "inf", "-inf", "-0", "1e999", "true", "same", "HW", "0,1,2", ",,,,,", "own", *SCHEMES]
)
NUMBERS = st.integers().map(str) | st.integers(0, 40).map(str) | st.floats().map(str)
TEXTS = st.text(max_size=20) | WORDS | NUMBERS | RULES
links = st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=5), TEXTS)


def text_of(view):
    return {param.key: param.format_for_link(view[param.key]) for param in lab.PARAMS}


def shape_and_scheme(raw):
    """The scheme and the shape that a link leads to, as the page makes them fit."""
    view, _ = clean_values(lab.PARAMS, raw)
    view, _ = clean_values(
        lab.PARAMS,
        view | dict(zip(tensor.SIZE_NAMES, shrink_shape(tensor.get_view_shape(view), MAX_DRAWN_ELEMENTS), strict=True)),
    )
    return view, chosen.build_scheme(view), tensor.get_view_shape(view)


def is_number(text):
    """Whether the text is a number, of which NaN is none."""
    try:
        return float(text) == float(text)
    except ValueError:
        return False


# --- the readers --------------------------------------------------------------------------------------------------


@given(text=TEXTS, lo=st.integers(-50, 50), length=st.integers(0, 20))
def test_a_whole_number_becomes_the_nearest_in_its_range(text, lo, length):
    hi = lo + length
    try:
        value = make_integer_fitter(lo, hi)(text, {})
    except (ValueError, OverflowError):
        assert not (is_number(text) and isfinite(float(text)))
        return
    assert type(value) is int
    assert abs(value - float(text)) <= min(abs(k - float(text)) for k in range(lo, hi + 1))


@given(text=TEXTS, lo=st.floats(-50, 50), length=st.floats(0, 100))
def test_a_real_number_becomes_the_nearest_in_its_range(text, lo, length):
    hi = lo + length
    try:
        value = Real(lo, lo, hi).find_nearest_value(text, {})
    except ValueError:
        assert not is_number(text)
        return
    assert value == sorted([lo, float(text), hi])[1]


@pytest.mark.parametrize(
    ("text", "value"), [("inf", 3.0), ("-inf", -2.0), ("1e999", 3.0), ("-0.5", -0.5), (" 1 ", 1.0)]
)
def test_real_numbers_by_example(text, value):
    assert Real(-2.0, -2.0, 3.0).find_nearest_value(text, {}) == value


@given(text=TEXTS)
def test_a_choice_is_one_of_the_words(text):
    words = ["own", "full", "groups(2)"]
    try:
        assert make_choice_fitter(words)(text, {}) in words
    except ValueError:
        assert text not in words


@pytest.mark.parametrize(
    ("text", "word"),
    [("batch", "batch"), ("BATCH", "batch"), ("instnce", "instance"), ("grop", "group"), ("rm", "rms")],
)
def test_a_misspelt_word_becomes_the_most_alike(text, word):
    assert make_choice_fitter(list(SCHEMES))(text, {}) == word


def test_the_words_may_depend_on_the_values_before():
    nearest = make_choice_fitter(lambda view: view["words"])
    assert nearest("b", {"words": ["a", "b"]}) == "b"
    with pytest.raises(ValueError, match="is like none of"):
        nearest("b", {"words": ["a"]})


@pytest.mark.parametrize("on", [True, "1", "true", "True", "YES", "on"])
def test_what_is_on(on):
    assert Switch(False).find_nearest_value(on, {}) is True


@pytest.mark.parametrize("off", [False, "0", "false", "", "2", "off", None, 0])
def test_what_is_off(off):
    assert Switch(True).find_nearest_value(off, {}) is False


# --- cleaning -----------------------------------------------------------------------------------------------------


@given(raw=links)
@example(raw={"n": "nan", "groups": "inf", "eps": "nan", "focus": "1e999,,-1", "radius": "-inf", "radius_a": "x"})
@example(raw={"c": "12", "scheme": "custom", "a_c": "groups(12)", "b_c": "window(99)", "b_n": "groups(0)"})
def test_any_text_gives_a_valid_view(raw):
    view, _ = clean_values(lab.PARAMS, raw)
    assert list(view) == KEYS
    shape = tensor.get_view_shape(view)
    assert all(type(n) is int and 1 <= n <= MAX_DRAWN_ELEMENTS for n in shape)
    assert view["scheme"] in SCHEMES
    assert view["groups"] in find_divisors(view["c"])
    assert all(view[key] in custom.list_axis_rules(view[size]) for key, (size, _) in custom.DEFAULT_RULES.items())
    assert 0 <= view["radius"] <= chosen.MAX_RADIUS
    assert view["radius_a"] in ("same", *map(str, range(chosen.MAX_RADIUS + 1)))
    assert view["over"] == [axis for axis in "HWC" if axis in view["over"]] != []
    assert 0 <= view["eps"] <= 1e3
    assert all(-10 <= view[key] <= 10 for key in ("gain", "bias"))
    assert view["data"] in (*SAMPLES, tensor.OWN_DATA)
    assert 0 <= view["seed"] <= 9999
    assert view["colour"] in tensor.COLOURING_NAMES
    assert all(0 <= i < n for i, n in zip(view["focus"], shape, strict=True))


@given(raw=links)
def test_cleaning_twice_changes_nothing_and_has_nothing_to_say(raw):
    view, _ = clean_values(lab.PARAMS, raw)
    assert clean_values(lab.PARAMS, view) == (view, {})


@given(raw=links)
def test_the_text_of_a_view_reads_back_as_the_view(raw):
    view, _ = clean_values(lab.PARAMS, raw)
    assert clean_values(lab.PARAMS, text_of(view)) == (view, {})


@given(raw=links)
def test_the_scheme_of_a_view_fits_its_shape(raw):
    view, scheme, shape = shape_and_scheme(raw)
    scheme.check(shape)
    check_shape(shape, scheme.axes, MAX_DRAWN_ELEMENTS)
    for index in [(0,) * 4, tuple(n - 1 for n in shape), view["focus"]]:
        for field in scheme.fields:
            assert 1 <= field.count_elements(index, shape) <= prod(shape)


@given(raw=links)
def test_there_is_a_note_for_each_value_that_was_replaced_and_for_no_other(raw):
    view, notes = clean_values(lab.PARAMS, raw)
    for param in lab.PARAMS:
        if param.key in notes:
            assert param.key in raw
            assert notes[param.key] == (raw[param.key], view[param.key])
        elif raw.get(param.key, "") != "" and param.key not in ("over", "focus"):
            given = raw[param.key]
            assert param.format_for_link(view[param.key]) == given or float(given) == float(
                param.format_for_link(view[param.key])
            )


def test_what_is_not_in_the_link_has_its_default_and_no_note():
    view, notes = clean_values(lab.PARAMS, {"c": "5"})
    assert (view["groups"], notes) == (1, {})  # the default, 2, does not divide 5, but nobody asked for it
    view, notes = clean_values(lab.PARAMS, {})
    assert (view, notes) == ({param.key: param.declared.default for param in lab.PARAMS}, {})


@pytest.mark.parametrize(
    ("raw", "note"),
    [
        ({"n": "0"}, "N batch: 0 is too small; 1 is used."),
        ({"n": "7.6"}, "N batch: 7.6 is not a whole number; 8 is used."),
        ({"n": "many"}, "N batch: many is not a number; 4 is used."),
        ({"n": "inf"}, "N batch: inf is not a number; 4 is used."),
        ({"groups": 2, "c": 5}, "Groups G: 2 does not divide C = 5; 1 is used."),  # of the session, and the default
        ({"groups": "4"}, "Groups G: 4 does not divide C = 6; 3 is used."),
        ({"groups": "0"}, "Groups G: 0 does not divide C = 6; 1 is used."),
        ({"groups": "few"}, "Groups G: few is not a number; 2 is used."),
        ({"eps": "-1"}, "ε (smoothing term): −1 is too small; 0 is used."),
        ({"eps": "nan"}, "ε (smoothing term): nan is not a number; 10⁻⁵ is used."),
        ({"gain": "11"}, "γ (gain): 11 is too large; 10 is used."),
        ({"over": "xH"}, "Windows along: xH is not one of the choices; H is used."),
        ({"over": []}, "Windows along: nothing was chosen; C is used."),
        ({"scheme": "grop"}, "Scheme: grop is not one of the choices; Group is used."),
        ({"data": "digit"}, "Data: digit is not one of the choices; Handwritten digits is used."),
        ({"focus": "9,1,-1,2"}, "Locked element: 9,1,-1,2 is not within 4 × 4 × 4 × 6; 3,1,0,2 is used."),
        ({"view": "x" * 100}, f"View: {'x' * 39}… is not one of the choices; One cube is used."),
        ({"scheme": "weight", "n": "0"}, "kh kernel height: 0 is too small; 1 is used."),
        (
            {"scheme": "custom", "a_c": "groups(4)"},
            "C: averaged over: groups(4) is not one of the choices; 3 groups is used.",
        ),
    ],
)
def test_notes_say_what_became_what(raw, note):
    view, notes = clean_values(lab.PARAMS, raw)
    params = {param.name: param for param in lab.PARAMS}
    assert [format_repair_note(params[name], given, view) for name, (given, _) in notes.items()] == [note]


@pytest.mark.parametrize(
    "raw",
    [
        {"n": "4"},
        {"n": "1e1"},
        {"eps": "1e-5"},
        {"eps": "0.000012345678901"},
        {"gain": "0.12345678"},
        {"over": ["W", "H"]},
        {"focus": "1,1,1,1"},
        {"centre": "0", "apart": "1"},
        {"other": "anything"},
        {"scheme": "custom", "a_c": "groups(3)", "b_n": "window(3)"},
    ],
)
def test_valid_links_have_no_notes(raw):
    assert clean_values(lab.PARAMS, raw)[1] == {}


def test_a_number_keeps_all_its_digits():
    view, _ = clean_values(lab.PARAMS, {"gain": "0.12345678", "eps": "1.23456789e-05"})
    assert (view["gain"], view["eps"]) == (0.12345678, 1.23456789e-05)
    assert (text_of(view)["gain"], text_of(view)["eps"]) == ("0.12345678", "1.23456789e-05")


@pytest.mark.parametrize(
    ("n", "given", "rule"),
    [
        (12, "groups(12)", "own"),
        (12, "groups(1)", "full"),
        (12, "groups(5)", "groups(4)"),
        (5, "groups(2)", "full"),
        (32, "window(17)", "window(16)"),
        (12, "window(12)", "full"),
        (12, "window(0)", "own"),
        (12, "ful", "full"),
        (12, "nonsense", "own"),
        (1, "window(3)", "full"),
    ],
)
def test_a_rule_becomes_the_nearest_that_the_axis_has(n, given, rule):
    assert clean_values(lab.PARAMS, {"c": str(n), "a_c": given})[0]["a_c"] == rule


@given(n=st.integers(1, 40))
def test_a_rule_that_fits_keeps_its_boxes(n):
    groups = [f"groups({g})" for g in find_divisors(n)]
    windows = [f"window({radius})" for radius in range(chosen.MAX_RADIUS + 1)]
    for rule in ("own", "full", *groups, *windows):
        became = clean_values(lab.PARAMS, {"c": str(n), "a_c": rule})[0]["a_c"]
        assert Rule.parse(became).simplify(n) == Rule.parse(rule).simplify(n)


# --- the scheme that a link asks for ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "summation", "suppression"),
    [
        ({"scheme": "batch"}, "full,full,full,own", "full,full,full,own"),
        ({"scheme": "none"}, None, None),
        ({"scheme": "rms", "groups": "3", "radius": "5"}, None, "own,own,own,full"),
        ({"scheme": "group", "groups": "3"}, "own,full,full,groups(3)", "own,full,full,groups(3)"),
        ({"scheme": "divisive"}, "own,window(1),window(1),window(1)", "own,window(1),window(1),window(1)"),
        (
            {"scheme": "divisive", "radius": "2", "radius_a": "3", "over": "HC"},
            "own,window(3),own,window(3)",
            "own,window(2),own,window(2)",
        ),
        ({"scheme": "custom", "a_n": "own", "a_c": "groups(2)"}, "own,full,own,groups(2)", "own,full,own,groups(2)"),
        ({"scheme": "custom", "b_n": "own"}, "full,full,own,own", "full,full,own,own"),  # b counts only when apart
        ({"scheme": "custom", "b_n": "own", "apart": "1"}, "full,full,own,own", "own,full,own,own"),
        ({"scheme": "custom", "divide": "0"}, "full,full,own,own", None),
        ({"scheme": "custom", "centre": "0", "apart": "1", "b_n": "own"}, None, "full,full,own,own"),
        ({"scheme": "custom", "centre": "0", "divide": "0"}, None, None),
    ],
)
def test_the_scheme_that_a_link_asks_for(raw, summation, suppression):
    scheme = chosen.build_scheme(clean_values(lab.PARAMS, raw)[0])
    assert scheme.key == raw["scheme"]
    assert [field and str(field) for field in (scheme.summation, scheme.suppression)] == [summation, suppression]


@pytest.mark.parametrize(
    ("key", "numbers"),
    [
        ("batch", (0.5, 3, 2)),
        ("rms", (0.5, 3, 0)),
        ("weight", (0, 3, 0)),
        ("weight-standardization", (0.5, 1, 0)),
        ("none", (0, 1, 0)),
    ],
)
def test_numbers_that_a_scheme_does_not_have_do_not_count(key, numbers):
    view, _ = clean_values(lab.PARAMS, {"scheme": key, "eps": "0.5", "gain": "3", "bias": "2"})
    scheme = chosen.build_scheme(view)
    assert lab.get_layer_scalars(view, scheme)[:3] == numbers


# --- declared values ----------------------------------------------------------------------------------------------

ODD = ["", "nan", "inf", "-inf", "1e999", "-1e999", "9" * 40, "NaN,NaN", "no such", "true", "1.5", "0x10", "½", "-0"]
DECLARED = [(page, each) for page in PAGES.values() for each in get_declarations(page.Page).values()]
EVERY_VALUE = pytest.mark.parametrize(
    ("page", "declared"), DECLARED, ids=[f"{page.PREFIX}{each.name}" for page, each in DECLARED]
)


@EVERY_PAGE
def test_a_bare_link_is_the_declared_defaults(page):
    view, notes = clean_values(page.PARAMS, {})
    made = vars(page.Page())
    assert ({name: view[name] for name in made}, notes) == (
        {name: list(value) if isinstance(value, tuple) else value for name, value in made.items()}, {}
    )  # fmt: skip
    assert {param.key for param in page.PARAMS if param.name in made} == {page.PREFIX + name for name in made}


@EVERY_VALUE
@pytest.mark.parametrize("text", ODD)
def test_an_odd_text_becomes_a_valid_value_with_a_note(page, declared, text):
    view, notes = clean_values(page.PARAMS, {declared.name: text})
    value = view[declared.name]
    if not getattr(declared, "entered", None):
        declared.check(value, view)
    assert clean_values(page.PARAMS, view) == (view, {})
    assert clean_values(
        page.PARAMS, {param.name: param.format_for_link(view[param.name]) for param in page.PARAMS}
    ) == (view, {})
    written = declared.format_for_link(value)
    if declared.name in notes:
        assert notes == {declared.name: (text, value)}
        (param,) = (param for param in page.PARAMS if param.name == declared.name)
        told = format_repair_note(param, text, view)
        assert told.endswith(f"; {declared.format_for_page(value)} is used.")
        assert not declared.label or told.startswith(f"{declared.resolve_label(view)}: ")
    else:
        assert notes == {}
        assert text == written or float(text) == float(written)


@EVERY_VALUE
def test_a_text_becomes_the_nearest_value(page, declared):
    def became(text):
        return clean_values(page.PARAMS, {declared.name: text})[0][declared.name]

    default = clean_values(page.PARAMS, {})[0][declared.name]
    if isinstance(declared, Real):
        least, most = declared.entered or declared.compute_limits(vars(page.Page()))
        assert [became(text) for text in ("-1e99", "1e99", str(most + 1), str(least - 1))] == [least, most, most, least]
        assert became("nan") == became("no such") == became("") == default
    elif isinstance(declared, MultipleChoice):
        first, second, *_ = declared.list_options({})
        assert became(f"{second}, {first.upper()}x,{second},") == [second, first]
        assert became("") == []
        assert became("?") == default
    elif isinstance(declared, Choice):
        for key in declared.list_options({}):
            assert became(key) == became(key.upper()) == became(f"{key}x") == key
        assert became("?") == default
    elif isinstance(declared, Switch):
        assert [became(text) for text in ("1", "TRUE", "0", "off", "?")] == [True, True, False, False, False]


@EVERY_PAGE
def test_a_link_that_was_written_reads_back(page):
    """Every value as far from its default as it goes, as a link of today has it."""
    chosen = {}
    for name, declared in get_declarations(page.Page).items():
        view, _ = clean_values(page.PARAMS, chosen)
        if isinstance(declared, Real):
            chosen[name] = declared.format_for_link(declared.compute_limits(view)[1])
        elif isinstance(declared, Choice):
            chosen[name] = declared.list_options(view)[-1]
        elif isinstance(declared, Switch):
            chosen[name] = declared.format_for_link(not view[name])
    view, notes = clean_values(page.PARAMS, chosen)
    assert notes == {}
    assert {
        param.name: param.format_for_link(view[param.name]) for param in page.PARAMS if param.name in chosen
    } == chosen


# --- the link and the widgets -------------------------------------------------------------------------------------


def small_page():
    from dataclasses import dataclass

    import streamlit as st

    from normviz.core.settings import integer
    from normviz.ui.link import create_params, sync_page_values
    from normviz.ui.locks import make_widget_arguments

    @dataclass(frozen=True)
    class Page:
        first: int = integer(1, 0, 9)
        second: int = integer(1, 0, 9)

    hidden = st.session_state.get("hidden")
    with sync_page_values("small", create_params(Page, "small "), lambda view, name: name != hidden) as view:
        for name in view:
            st.number_input(name, 0, 9, **make_widget_arguments(f"small {name}"))


def values(at):
    return [at.session_state[f"small {name}"] for name in ("first", "second")]


@pytest.fixture
def small():
    """A page whose address said first = 3, until a widget set it to 5."""
    at = AppTest.from_function(small_page, default_timeout=60)
    at.query_params["first"] = "3"
    at = sound(at.run())
    assert values(at) == [3, 1]
    at = sound(at.number_input(key="small first").set_value(5).run())
    assert (values(at), at.query_params) == ([5, 1], {"first": "5"})
    return at


def test_a_widget_is_right_while_its_rerun_still_carries_the_address_of_before(small):
    small.query_params["first"] = "3"  # the browser has not yet been told
    at = sound(small.number_input(key="small second").set_value(7).run())
    assert (values(at), at.query_params) == ([5, 7], {"first": "5", "second": "7"})


def test_the_address_of_a_step_in_the_browsers_history_is_right(small, travelling):
    small.query_params["first"] = "3"
    at = sound(small.run())
    assert (values(at), at.query_params) == ([3, 1], {"first": "3"})


def test_a_step_back_to_an_address_without_values_is_the_page_without_them(small, travelling):
    small.session_state["page"] = "another"
    del small.query_params["first"]
    at = sound(small.run())
    assert (values(at), at.query_params) == ([1, 1], {})


def test_the_address_of_before_is_no_step_back_though_nothing_was_set_since(small):
    small.query_params["first"] = "3"  # Pause, then Play at once: the browser has not yet been told
    at = sound(small.run())
    assert (values(at), at.query_params) == ([5, 1], {"first": "5"})


def test_a_step_back_leaves_alone_what_means_nothing_there(travelling):
    at = AppTest.from_function(small_page, default_timeout=60)
    at.session_state["small second"] = 7
    at.session_state["hidden"] = "second"
    at.query_params["first"] = "3"
    at = sound(at.run())
    assert (values(at), at.query_params) == ([3, 7], {"first": "3"})


def test_an_address_that_stays_leaves_the_widgets_alone(small):
    at = sound(small.run())
    assert (values(at), at.query_params) == ([5, 1], {"first": "5"})


def test_a_page_that_is_come_back_to_is_as_it_was_left(small):
    small.session_state["page"] = "another"
    del small.query_params["first"]
    at = sound(small.run())
    assert (values(at), at.query_params) == ([5, 1], {"first": "5"})
