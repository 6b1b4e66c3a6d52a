"""The identities page as a user meets it, run by Streamlit without a browser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import ROOT, open_lab, plots, replaced, said, sound, texts
from streamlit.testing.v1 import AppTest

from normviz.core.equality import compare_schemes, is_within_rounding
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES
from normviz.core.text import format_number
from normviz.data.samples import SAMPLES
from normviz.describe.aims import describe_scope
from normviz.describe.wording import capitalize_first, format_gap, format_scheme_label, format_shape, pluralize
from normviz.topics.lab import state as lab
from normviz.topics.same import state
from normviz.topics.same.identities import IDENTITIES, measure_residual
from normviz.topics.same.panels.own_pair import TYPED_KEY
from normviz.topics.same.panels.pair_questions import PAIR_GUESSES, describe_measurement, stack_formula
from normviz.topics.same.state import PAIRS
from normviz.ui.custom import SIZE_NAMES
from normviz.ui.page_texts import PAGE_TEXTS

SCRIPT = "pages/identities.py"


def open_page(**link):
    return open_lab(SCRIPT, **link)


def test_the_story_does_not_call_schemes_of_one_xhat_interchangeable():
    """Claims of the page hold of x̂, while the two sides learn γ and β of other shapes."""
    shape = (1, 1, 1, 1)
    sides = [tuple(side.scheme(shape) for side in each.sides) for each in IDENTITIES.values() if each.holds]
    assert any((left.gain, left.bias) != (right.gain, right.bias) for left, right in sides)
    why = next(story.why for story in PAGE_TEXTS if story.page == "identities")
    assert "no difference" not in why


def shape_of(at):
    return tuple(at.session_state[size] for size in SIZE_NAMES)


def type_in(at, **fields):
    at.session_state[TYPED_KEY] = True
    at = sound(at.run())
    for name, text in fields.items():
        at.text_input(key=state.PREFIX + name).set_value(text)
    return sound(at.run())


# --- the pairs ----------------------------------------------------------------------------------------------------


def list_notes(at):
    """Return what stands over each cube in place of x̂."""
    return [each["note"] for each in plots(at)["cubes"]["hover"]["labels"]["each"]]


def guess(at, vote):
    return sound(at.button(key=f"guess {vote}").click().run())


def verdict(at):
    """The heading of the answer; None while it is covered."""
    return next((text.partition("\n")[0] for text in texts(at.markdown) if text.startswith("### ")), None)


def measurement(at):
    """What is said of both x̂ on the tensor of the link."""
    return next(text for text in texts(at.caption) if "he two x̂" in text)


def said_of_sides(at, identity):
    """Return True if a line names each side and says its scope."""
    schemes = [side.scheme(identity.condition.mend(shape_of(at))) for side in identity.sides]
    lines = [text for text in texts(at.markdown) if text.startswith("**") and text.endswith(".")]
    return all(
        any(line.startswith(f"**{format_scheme_label(scheme)}") and describe_scope(scheme) in line for line in lines)
        for scheme in schemes
    )


def test_every_pair_is_asked_once_and_the_first_link_is_empty():
    assert sorted(PAIRS) == sorted(IDENTITIES)
    at = open_page()
    assert at.query_params == {}
    assert f"## {IDENTITIES[PAIRS[0]].question}" in texts(at.markdown)


@pytest.mark.parametrize("key", IDENTITIES)
@pytest.mark.parametrize("vote", PAIR_GUESSES)
def test_the_answer_is_hidden_until_the_guess(key, vote):
    identity = IDENTITIES[key]
    at = open_page(row=key)
    assert verdict(at) is None
    assert not at.latex
    words = said(at)
    assert identity.because not in words
    assert "differ:" not in words
    assert said_of_sides(at, identity)
    cubes = plots(at)["cubes"]["hover"]["copies"]
    assert cubes[1]["bounds"] is None  # the field on the right would tell
    assert list_notes(at) == ["\u00a0"] * 2
    at = guess(at, vote)
    assert list_notes(at) == ["", ""]  # the browser writes x̂
    assert verdict(at) == f"### {'= Same' if identity.holds else '≠ Different'} x̂"
    assert ("**Right.**" in texts(at.markdown)) == ((vote == "yes") == identity.holds)
    assert (f"**Not quite:** you guessed “{PAIR_GUESSES[vote]}”." in texts(at.markdown)) != (
        (vote == "yes") == identity.holds
    )
    assert identity.because in said(at)
    assert said_of_sides(at, identity)
    assert at.latex


@pytest.mark.parametrize(
    "link",
    [
        {},
        {"n": "1"},
        {"c": "1"},
        {"h": "1", "w": "1", "c": "5", "eps": "0.1"},
        {"n": "18", "c": "1", "h": "2", "w": "2"},
        {"data": "digits", "n": "2", "h": "8", "w": "8", "c": "3", "seed": "5"},
    ],
    ids=str,
)
def test_what_is_said_holds_on_the_tensor_of_the_link(link):
    for key, identity in IDENTITIES.items():
        at = open_page(row=key, reveal="1", **link)
        x = SAMPLES[link.get("data", "uneven")].make(shape_of(at), int(link.get("seed", 0)))
        equal = is_within_rounding(measure_residual(identity, x, float(link.get("eps", 1e-5))))
        assert measurement(at) == describe_measurement(identity, x.shape, equal)
        met = identity.condition.met(x.shape)
        assert not met or equal == identity.holds
        assert ("has another shape" in measurement(at)) != met
        drawn = identity.condition.mend(x.shape)
        count, size = pluralize(drawn[0], "example"), f"{drawn[1]} × {drawn[2]} positions"
        if key == "weight-length":
            count, size = "Weights", f"kh × kw × Cin × Cout = {format_shape(drawn)}."
        assert any(text.startswith(count) and size in text for text in texts(at.caption))
        assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)


@pytest.mark.parametrize(
    "key", [key for key in IDENTITIES if key not in ("rms-is-layer", "centred-rms", "weight-length")]
)
def test_the_cubes_show_equal_fields_where_the_answer_is_the_same(key):
    at = open_page(row=key, reveal="1", n="2", h="3", w="2", c="4")
    left, right = plots(at)["cubes"]["hover"]["copies"]
    same = all(np.array_equal(a, b) for a, b in zip(left["bounds"], right["bounds"], strict=True))
    assert same == (IDENTITIES[key].holds)


def test_what_else_differs_is_said_beside_the_answer():
    assert "**γ and β differ:** γ and β along C on the left, γ and β along H, W, C on the right." in said(
        open_page(row="one-group", reveal="1")
    )
    words = said(open_page(row="one-case", reveal="1", n="1"))
    assert "Both learn γ and β along C." in words
    assert "For inference, batch normalization keeps a running mean and a running variance." in words


def test_the_next_pair_has_no_guess_yet_and_right_guesses_are_counted():
    at = guess(open_page(), "yes")
    at = sound(next(each for each in at.button if each.label == "Next pair").click().run())
    assert at.query_params["row"] == PAIRS[1]
    assert verdict(at) is None
    at = guess(at, "yes")
    assert "Pair 2 of 19 · 1 of 2 guesses right" in texts(at.caption)
    at = sound(at.selectbox(key=state.PREFIX + "row").set_value(PAIRS[0]).run())
    assert verdict(at) is not None
    at = sound(next(each for each in at.button if each.label == "Next pair").click().run())
    assert at.query_params["row"] == PAIRS[2]


def test_a_lecturer_reveals_all_and_starts_again():
    at = sound(next(each for each in open_page().button if each.label == "Reveal all").click().run())
    assert at.query_params["reveal"] == "1"
    assert verdict(at) is not None
    assert "**Right.**" not in texts(at.markdown)
    at = sound(next(each for each in at.button if each.label == "Start again").click().run())
    assert verdict(at) is None
    assert at.query_params == {}


def test_links_of_before_open_their_pair():
    at = open_page(panel="belief", row="layer-is-over-positions")
    assert at.session_state[f"{state.PREFIX}panel"] == "same"
    assert f"## {IDENTITIES['layer-is-over-positions'].question}" in texts(at.markdown)
    assert not replaced(at)
    assert not replaced(open_page(row=""))


def test_special_data_do_not_make_a_pair_the_same():
    own = np.ones((2, 2, 2, 4))
    at = with_own(own, data="own", row="layer-is-over-the-batch", reveal="1")
    assert verdict(at) == "### ≠ Different x̂"
    assert "equal up to rounding, because of its special values" in measurement(at)


# --- the tensor ---------------------------------------------------------------------------------------------------


def test_the_tensor_is_the_one_of_the_tensor_lab():
    lab_params = {param.key: param for param in lab.PARAMS}
    assert {param.key: param for param in state.PARAMS if param.key in lab_params} == {
        key: lab_params[key] for key in state.SHARED_TENSOR_VALUES
    }


def with_own(array, **link):
    at = AppTest.from_file(ROOT / SCRIPT, default_timeout=60)
    at.session_state["own"], at.session_state["own name"] = array, "mine.npy"
    at.query_params.update(link)
    return sound(at.run())


def test_ones_own_data_are_measured_and_bring_their_shape():
    own = np.random.default_rng(3).standard_normal((2, 3, 1, 4)).astype(np.float32)
    at = sound(with_own(own, reveal="1").selectbox(key="data").set_value("own").run())
    assert shape_of(at) == own.shape
    assert all(at.number_input(key=size).disabled for size in SIZE_NAMES)
    for key, identity in IDENTITIES.items():
        at = with_own(own, data="own", row=key, reveal="1")
        equal = is_within_rounding(measure_residual(identity, own, 1e-5), own.dtype)
        assert measurement(at) == describe_measurement(identity, own.shape, equal)


def test_data_that_are_not_finite_spoil_no_identity():
    own = np.random.default_rng(3).standard_normal((2, 3, 2, 4))
    own[0, 1, 0, 2], own[1, 0, 0, 0] = np.nan, np.inf
    for key in ("one-group", "all-groups", "over-positions", "centred-rms", "windows-batch", "windows-layer"):
        at = with_own(own, data="own", row=key, reveal="1")
        assert measurement(at) == "On your tensor the two x̂ are equal up to rounding."


def test_a_tensor_that_is_too_large_is_told_with_one_that_fits():
    at = open_page(n="1", h="1", w="1", c="1")
    for size in ("n", "h"):
        at.number_input(key=size).set_value(1000)
    at = sound(at.run())
    assert "more than the 32,768 that are drawn" in at.error[0].value
    (fits,) = [button for button in at.button if button.label.startswith("Use")]
    at = sound(fits.click().run())
    assert shape_of(at) == (181, 181, 1, 1)
    assert not at.error


# --- two of one's own ---------------------------------------------------------------------------------------------


def test_two_schemes_that_differ_come_with_a_counter_example():
    at = open_page(panel="own")
    found = compare_schemes(SCHEMES["layer"], SCHEMES["instance"], shape_of(at))
    (verdict,) = texts(at.info)
    assert "**They differ.**" in verdict
    assert f"256 random tensors is {format_gap(found.worst.residual)}" in verdict
    for number in (found.x[found.worst.index], found.worst.left, found.worst.right):
        assert format_number(number) in verdict
    for key in ("layer", "instance"):
        assert f"{capitalize_first(describe_scope(SCHEMES[key]))}." in texts(at.markdown)
    assert plots(at)["cubes"]["labels"] == ["Layer", "Instance"]
    assert [box.value for box in at.selectbox if "known" in box.key] == ["layer", "instance"]


def test_two_schemes_that_are_the_same():
    at = open_page(panel="own", c="1")
    assert "They are the same on this shape" in at.success[0].value
    assert "same others" in at.success[0].value
    at = type_in(at, left_mean="N=own", right_mean="W=window(0)", right_divide="")
    assert "its own mean" in at.success[0].value
    at = type_in(
        at, left_mean="H=groups(2)", left_divide="H=groups(2)", right_mean="H=groups(2)", right_divide="C=full"
    )
    assert "each is as far from it as the other" in at.success[0].value
    assert plots(at)["cubes"]["labels"] == ["Left, G = 2", "Right, G = 2"]


def test_axes_are_typed_in_a_part_that_opens_where_a_link_has_some_without_a_name():
    assert not open_page(panel="own").text_input
    at = open_page(panel="own", left_mean="H=groups(2)")
    assert at.text_input(key="identities left_mean").value == "H=groups(2)"
    assert "On this shape: no scheme that has a name." in said(at)


@pytest.mark.parametrize("key", state.KNOWN_SCHEMES)
def test_every_known_scheme_fills_the_fields_and_is_named(key):
    at = open_page(panel="own")
    at = sound(at.selectbox(key="identities left known").set_value(key).run())
    scheme = state.parse_side(
        {f"left_{step}": at.session_state[f"identities left_{step}"] for step in state.FIELD_LABELS}, "left"
    )
    assert (scheme.summation, scheme.suppression) == (SCHEMES[key].summation, SCHEMES[key].suppression)
    assert at.selectbox(key="identities left known").value == key
    assert not at.error
    assert plots(at)["cubes"]["labels"][0].startswith(SCHEMES[key].label)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("N=fill", "'fill' is not a rule"),
        ("T=full", "'T' is not an axis; N, H, W, C are"),
        ("C=groups(4)", "4 groups do not divide C = 6; 1, 2, 3 or 6 do"),
        ("full, full", "a field has a rule for each of N, H, W, C"),
        ("N=groups", "groups is not a rule"),
    ],
)
def test_what_is_no_field_is_told_in_its_place_and_the_rest_stays(text, message):
    at = open_page(panel="own", right_mean="N=full", right_divide="N=full")
    at = type_in(at, left_divide=text)
    (error,) = texts(at.error)
    assert capitalize_first(message) in error
    assert (len(at.success), len(at.info)) == (0, 0)
    assert at.session_state["identities left_divide"] == text
    assert at.query_params["right_mean"] == "N=full"
    at = type_in(at, left_divide="")
    assert not at.error


def test_windows_that_are_too_much_are_told():
    at = open_page(panel="own", n="32768", h="1", w="1", c="1", left_mean="N=window(30000)")
    assert "full and radii up to 31 are not" in at.error[0].value


@pytest.mark.parametrize(
    ("field", "text"),
    [(None, ""), ("full, own, own, groups(2)", "N=full,C=groups(2)"), ("own, own, own, own", "N=own")],
)
def test_a_field_as_one_types_it(field, text):
    parsed = None if field is None else Field.parse(field)
    assert state.format_field_text(parsed) == text
    assert parsed is None or Field.parse(text) == parsed


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in state.PARAMS if param.name not in SIZE_NAMES]),
        st.sampled_from(
            [
                "",
                "nan",
                "-1",
                "x",
                "own",
                "belief",
                "variants",
                "detect",
                "N=full",
                "C=groups(0)",
                "=",
                "N=window(999999)",
            ]
        ),
        max_size=4,
    )
)
def test_whatever_the_link_the_page_shows_its_claims_or_two_schemes(link):
    at = open_page(**link)
    open_panel = at.session_state["identities panel"]
    if open_panel == "own":
        assert bool(plots(at)) != bool(at.error)
        return
    if open_panel != "same":
        assert plots(at) or at.success or at.warning or at.info or at.error
        return
    assert not at.error
    asked = f"## {IDENTITIES[at.session_state['identities row']].question}"
    assert asked in texts(at.markdown)


def test_a_bad_link_is_mended_with_a_note():
    at = open_page(n="-3", row="one-grup")
    question = IDENTITIES["one-group"].question
    assert replaced(at) == [
        "N batch: −3 is too small; 1 is used.",
        f"Pair: one-grup is not one of the choices; “{question}” is used.",
    ]
    assert replaced(open_page(panel="detct")) == ["Show: detct is not one of the choices; Detect a layer is used."]


def test_in_a_column_the_parts_of_a_formula_stand_below_each_other():
    at = open_page(row="groups-are-sizes", c="12", reveal="1")
    members = next(
        formula.value for formula in at.latex if "mathcal{G}" in formula.value and "gathered" in formula.value
    )
    assert r"-1\}, \\  g = 0,\dots,G-1, \\  G = 2\text{ groups of }" in members
    assert stack_formula(r"\mu = 0") == r"\mu = 0"
