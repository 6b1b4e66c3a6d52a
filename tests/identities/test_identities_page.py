"""The identities page as a user meets it, run by Streamlit without a browser."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import ROOT, open_lab, plots, replaced, sound, texts
from streamlit.testing.v1 import AppTest

from normviz.core.equality import compare, difference, is_rounding
from normviz.core.fields import Field
from normviz.core.schemes import SCHEMES
from normviz.core.text import measured
from normviz.data.samples import SAMPLES
from normviz.describe.wording import gap_text, sentence
from normviz.identities import state
from normviz.identities.identities import IDENTITIES, both, residual
from normviz.identities.panels.known import result_words, stacked, use_words
from normviz.lab import state as lab
from normviz.ui.custom import SIZES
from normviz.ui.stories import STORIES

SCRIPT = "pages/identities.py"


def open_page(**link):
    return open_lab(SCRIPT, **link)


def test_the_story_does_not_call_schemes_of_one_xhat_interchangeable():
    """Claims of the page hold of x̂, while the two sides learn γ and β of other shapes."""
    shape = (1, 1, 1, 1)
    sides = [tuple(side.scheme(shape) for side in each.sides) for each in IDENTITIES.values() if each.holds]
    assert any((left.gain, left.bias) != (right.gain, right.bias) for left, right in sides)
    why = next(story.why for story in STORIES if story.page == "identities")
    assert "no difference" not in why


def shape_of(at):
    return tuple(at.session_state[size] for size in SIZES)


def row_of(at, identity):
    """What the row of a claim says came out: the text behind that of the claim."""
    said = texts(at.markdown)
    return said[said.index(f"**{identity.claim}**") + 1]


def expected(identity, x, eps):
    """The row's text, from the core."""
    found = residual(identity, x, eps)
    words = result_words(identity, identity.condition.met(x.shape), is_rounding(found, x.dtype))
    schemes = [side.scheme(x.shape) for side in identity.sides]
    differ = {(each.gain, each.bias) for each in schemes}
    return f"{words}  \nγ and β differ in shape" if len(differ) > 1 else words


def type_in(at, **fields):
    for name, text in fields.items():
        at.text_input(key=state.PREFIX + name).set_value(text)
    return sound(at.run())


# --- the claims ---------------------------------------------------------------------------------------------------


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
def test_every_claim_is_measured_on_the_tensor_of_the_link(link):
    at = open_page(**link)
    eps = float(link.get("eps", 1e-5))
    x = SAMPLES[link.get("data", "uneven")].make(shape_of(at), int(link.get("seed", 0)))
    for identity in IDENTITIES.values():
        assert row_of(at, identity) == expected(identity, x, eps)
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)


def test_the_first_view_is_the_link_without_a_word():
    at = open_page()
    assert state.RESIDUAL in texts(at.caption)
    assert at.query_params == {}
    assert "**equal** up to rounding  \nγ and β differ in shape" in row_of(at, IDENTITIES["one-group"])
    assert "equal for C = 1" in row_of(at, IDENTITIES["one-channel"])
    assert any(each.help and each.help.endswith("the largest x̂: 0.") for each in at.markdown)


def test_the_former_panel_of_refuted_pairs_opens_known_pairs():
    at = open_page(panel="belief", row="layer-is-over-positions")
    assert at.session_state[f"{state.PREFIX}panel"] == "same"
    assert not replaced(at)


@pytest.mark.parametrize("key", IDENTITIES)
def test_a_shape_where_it_is_so_is_one_click_away(key):
    identity = IDENTITIES[key]
    always = identity.condition.words == "any shape"
    axes = dict(zip(SIZES, (18, 18, 2, 2), strict=True))
    axes |= {"c": 18} if "C ≤" in identity.condition.words else {}
    if not identity.holds:
        axes = dict.fromkeys(SIZES, 1) | {"n": 1 if "or" in identity.condition.words else 3}
    at = open_page(**{size: str(n) for size, n in axes.items()})
    buttons = [button for button in at.button if button.key == f"use {key}"]
    assert bool(buttons) == (not always)
    if always:
        return
    mended = identity.condition.mend(shape_of(at))
    assert buttons[0].label == f"Use {use_words(shape_of(at), mended)}"
    at = sound(buttons[0].click().run())
    assert shape_of(at) == mended
    assert ("**equal** up to rounding" in row_of(at, identity)) == identity.holds
    assert ("**different**" in row_of(at, identity)) != identity.holds
    assert not [button for button in at.button if button.key == f"use {key}"]


@pytest.mark.parametrize("key", IDENTITIES)
def test_every_row_opens_to_both_sides_and_closes(key):
    identity = IDENTITIES[key]
    at = open_page()
    closed = len(at.latex)
    at = sound(at.button(key=f"open {key}").click().run())
    assert at.query_params["row"] == key
    assert len(at.latex) > closed == 0
    said = " ".join(texts(at.markdown))
    assert identity.because in said
    x = SAMPLES["uneven"].make(shape_of(at), 0)
    worst = difference(*both(identity, x))
    assert f"x̂ = **{measured(worst.left)}**" in said
    assert f"x̂ = **{measured(worst.right)}**" in said
    shown = plots(at)
    assert ("row map" in shown) == (not is_rounding(worst.residual))
    at = sound(at.button(key=f"open {key}").click().run())
    assert (len(at.latex), plots(at)) == (0, {})


def test_what_else_differs_is_said():
    said = texts(open_page(row="one-group").caption)
    assert any("γ and β along C on the left, γ and β along H, W, C on the right" in text for text in said)
    said = texts(open_page(row="one-case", n="1").caption)
    assert any(
        "for inference, batch normalization keeps a running mean and a running variance" in text for text in said
    )
    assert not any("learned" in text for text in said)


@pytest.mark.parametrize(
    ("met", "equal", "holds", "word"),
    [
        (True, True, True, ":material/check: **equal** up to rounding"),
        (True, False, True, ":material/close: **different**, against the claim"),
        (False, False, True, ":material/close: **different** here; equal for C = 1"),
        (True, False, False, ":material/close: **different**"),
        (True, True, False, ":material/check: **equal** up to rounding, on these data only"),
        (False, True, False, ":material/check: **equal** up to rounding here; different for C > 1"),
    ],
)
def test_the_words_of_a_result(met, equal, holds, word):
    identity = IDENTITIES["one-channel" if holds else "layer-is-over-positions"]
    assert result_words(identity, met, equal) == word


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ((4, 4, 4, 6), (1, 4, 4, 6), "N = 1"),
        ((4, 4, 4, 6), (4, 1, 1, 6), "H = W = 1"),
        ((4, 4, 4, 1), (1, 4, 4, 2), "N = 1, C = 2"),
    ],
)
def test_the_words_of_another_shape(before, after, words):
    assert use_words(before, after) == words


# --- the tensor ---------------------------------------------------------------------------------------------------


def test_the_tensor_is_the_one_of_the_tensor_lab():
    lab_params = {param.key: param for param in lab.PARAMS}
    assert {param.key: param for param in state.PARAMS if param.key in lab_params} == {
        key: lab_params[key] for key in state.SHARED
    }


def with_own(array, **link):
    at = AppTest.from_file(ROOT / SCRIPT, default_timeout=60)
    at.session_state["own"], at.session_state["own name"] = array, "mine.npy"
    at.query_params.update(link)
    return sound(at.run())


def test_ones_own_data_are_measured_and_bring_their_shape():
    own = np.random.default_rng(3).standard_normal((2, 3, 1, 4)).astype(np.float32)
    at = with_own(own)
    at = sound(at.selectbox(key="data").set_value("own").run())
    assert shape_of(at) == own.shape
    assert all(at.number_input(key=size).disabled for size in SIZES)
    for identity in IDENTITIES.values():
        assert row_of(at, identity) == expected(identity, own, 1e-5)
    at = sound(at.button(key="use one-channel").click().run())
    assert at.session_state["data"] == "uneven"
    assert shape_of(at) == (2, 3, 1, 1)


def test_data_that_are_not_finite_spoil_no_identity():
    own = np.random.default_rng(3).standard_normal((2, 3, 2, 4))
    own[0, 1, 0, 2], own[1, 0, 0, 0] = np.nan, np.inf
    at = with_own(own, data="own")
    for key in ("one-group", "all-groups", "over-positions", "centred-rms", "windows-batch", "windows-layer"):
        assert "**equal** up to rounding" in row_of(at, IDENTITIES[key])
    at = sound(at.button(key="open one-channel").click().run())
    assert not at.error


def test_a_tensor_that_is_too_large_is_told_with_one_that_fits():
    at = open_page(n="1", h="1", w="1", c="1")
    for size in ("n", "h"):
        at.number_input(key=size).set_value(1000)
    at = sound(at.run())
    assert "more than the 65,536 that are drawn" in at.error[0].value
    (fits,) = [button for button in at.button if button.label.startswith("Use")]
    at = sound(fits.click().run())
    assert shape_of(at) == (256, 256, 1, 1)
    assert not at.error


# --- two of one's own ---------------------------------------------------------------------------------------------


def test_two_schemes_that_differ_come_with_a_counter_example():
    at = open_page(panel="own")
    found = compare(SCHEMES["layer"], SCHEMES["instance"], shape_of(at))
    (verdict,) = texts(at.info)
    assert "**They differ.**" in verdict
    assert f"256 random tensors is {gap_text(found.worst.residual)}" in verdict
    for number in (found.x[found.worst.index], found.worst.left, found.worst.right):
        assert measured(number) in verdict
    assert any("**Left.** It shares a mean and a variance among 96 elements" in text for text in texts(at.markdown))
    assert plots(at)["own map"]["alt"].startswith("How far the two x̂ are apart")
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
    assert "own map" not in plots(at)


@pytest.mark.parametrize("key", state.KNOWN)
def test_every_known_scheme_fills_the_fields_and_is_named(key):
    at = open_page(panel="own")
    at = sound(at.selectbox(key="identities left known").set_value(key).run())
    scheme = state.scheme_of(
        {f"left_{step}": at.session_state[f"identities left_{step}"] for step in state.FIELD_LABELS}, "left"
    )
    assert (scheme.summation, scheme.suppression) == (SCHEMES[key].summation, SCHEMES[key].suppression)
    assert at.selectbox(key="identities left known").value == key
    assert not at.error
    if key != "divisive":
        assert any(SCHEMES[key].name in text for text in texts(at.caption))


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
    assert sentence(message) in error
    assert (len(at.success), len(at.info)) == (0, 0)
    assert at.session_state["identities left_divide"] == text
    assert at.query_params["right_mean"] == "N=full"
    at = type_in(at, left_divide="")
    assert not at.error


def test_windows_that_are_too_much_are_told():
    at = open_page(panel="own", n="65536", h="1", w="1", c="1", left_mean="N=window(30000)")
    assert "full and radii up to 15 are not" in at.error[0].value


@pytest.mark.parametrize(
    ("field", "text"),
    [(None, ""), ("full, own, own, groups(2)", "N=full,C=groups(2)"), ("own, own, own, own", "N=own")],
)
def test_a_field_as_one_types_it(field, text):
    parsed = None if field is None else Field.parse(field)
    assert state.field_text(parsed) == text
    assert parsed is None or Field.parse(text) == parsed


@settings(max_examples=25)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in state.PARAMS if param.name not in SIZES]),
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
    claims = {row.claim for row in IDENTITIES.values()}
    said = [text.strip("*") for text in texts(at.markdown)]
    assert sorted(text for text in said if text in claims) == sorted(claims)


def test_a_bad_link_is_mended_with_a_note():
    at = open_page(n="-3", row="one-grup")
    claim = IDENTITIES["one-group"].claim
    assert replaced(at) == [
        "N batch: −3 is too small; 1 is used.",
        f"Open row: one-grup is not one of the choices; “{claim}” is used.",
    ]
    assert replaced(open_page(panel="detct")) == ["Show: detct is not one of the choices; Detect a layer is used."]


def test_in_a_column_the_parts_of_a_formula_stand_below_each_other():
    at = open_page(row="groups-are-sizes", c="12")
    members = next(
        formula.value for formula in at.latex if "mathcal{G}" in formula.value and "gathered" in formula.value
    )
    assert r"-1\}, \\  g = 0,\dots,G-1, \\  G = 2\text{ groups of }" in members
    assert stacked(r"\mu = 0") == r"\mu = 0"
