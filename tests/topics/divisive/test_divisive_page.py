"""The page "Contrast" as a user meets it, run by Streamlit without a browser."""

import io
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import latex, open_lab, plots, replaced, said, sound, texts, traces
from PIL import Image

from normviz.charts.palette import NOT_FINITE_COLOUR, THEMES
from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Field, Rule
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.data.samples import SAMPLES
from normviz.describe import notation
from normviz.topics.divisive import panels as divisive_panels
from normviz.topics.divisive.contrast import apply_fading_light, compute_contrast_ratio
from normviz.topics.divisive.panels import FORMULA_IN_WORDS
from normviz.topics.divisive.state import EDGE_SHARE, PARAMS, PREFIX, SHAPES, is_relevant
from normviz.ui.response_charts import CONTRASTS

SCRIPT = "pages/divisive.py"
FIGURES = {"contrast picture", "eps drag", "response"}
DATA = pytest.mark.parametrize("data", SHAPES)


def open_page(**link):
    return open_lab(SCRIPT, **link)


def value(at, name):
    return at.session_state[PREFIX + name]


def windows(radius_a, radius_b, axes="HW"):
    """Divisive norm, written out."""
    fields = (Field(tuple(Rule("window", r) if a in axes else OWN for a in "NHWC")) for r in (radius_a, radius_b))
    return SCHEMES["divisive"].with_fields(*fields)


def levels(at, name):
    """What the picture shows "before" or "after" normalization, in 8 bits."""
    *_, before, after = plots(at)["contrast picture"]["images"]
    return np.asarray({"before": before, "after": after}[name], dtype=int)


def drawn(values, low, high):
    """Numbers in 8 bits, written out."""
    return np.rint(255 * np.clip((values - low) / (high - low), 0, 1)).ravel()


def ring(at):
    """Row and column of the pixel with the ring."""
    return tuple(plots(at)["contrast picture"]["focus"])


def contrasts(at):
    """The contrast of the right half over the left half, before and after, in per cent."""
    return [int(re.search(r"(\d+)%", note)[1]) for note in plots(at)["contrast picture"]["notes"][-2:]]


def picture(data="photo", seed=0, light=0.03):
    return apply_fading_light(SAMPLES[data].make(SHAPES[data], seed), light)


# --- it opens -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
@DATA
def test_every_picture(data, theme):
    at = open_lab(SCRIPT, theme, data=data)
    assert set(plots(at)) == FIGURES
    assert all(len(plot["alt"]) > 20 for key, plot in plots(at).items() if key != "eps drag")
    assert plots(at)["response"]["figure"]["layout"]["font"]["color"] == THEMES[theme].ink
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)
    assert at.query_params == ({} if data == "photo" else {"data": data})


@DATA
def test_every_control_that_means_something_is_offered(data):
    at = open_page(data=data)
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.selectbox]
    view = {"data": data}
    offered = {each.key.removeprefix(PREFIX) for each in widgets} | {"eps"}
    assert plots(at)["eps drag"]["label"].startswith("ε")
    assert offered == {p.name for p in PARAMS if is_relevant(view, p.name)} - {"row", "column"}  # which a click picks


def test_the_formulas_are_those_of_the_scheme():
    lines = notation.build_formulas(windows(2, 3))
    assert latex(open_page(radius="3", radius_a="2")) == [
        FORMULA_IN_WORDS, *(f.latex for f in lines if f.name not in ("output", "where")),
    ]  # fmt: skip


# --- contrast -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("eps", ["0", "1e-7", "1e-5", "0.1"])
def test_the_pictures_and_the_ratios_are_those_of_the_core(eps):
    at = open_page(eps=eps, radius="3", radius_a="2", light="0.1", seed="1")
    x, scheme = picture(seed=1, light=0.1), windows(2, 3)
    result = normalize(x, scheme, float(eps))
    bright = picture(seed=1, light=1.0)
    np.testing.assert_array_equal(levels(at, "before"), drawn(x, bright.min(), bright.max()))
    np.testing.assert_array_equal(levels(at, "after"), drawn(result.xhat, -3, 3))
    sent = plots(at)["contrast picture"]
    np.testing.assert_array_equal(np.asarray(sent["images"][0], dtype=int), drawn(bright, bright.min(), bright.max()))
    ratios = [compute_contrast_ratio(values) for values in (normalize(bright, scheme).v, result.v, result.xhat)]
    assert sent["notes"] == [f"contrast on the right: {ratio:.0%} of the left" for ratio in ratios]
    assert (sent["focus"], sent["reach"]) == (list(ring(at)), [3, 3])
    assert "**Nearby**: up to 3 pixels to each side (the square), for the mean up to 2." in said(at)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({}, "Normalization brings back the contrast of the right half."),
        ({"eps": "0.01"}, "The right half fades: ε = 0.01 exceeds the mean of v² there."),
        ({"eps": "1"}, "ε = 1 far exceeds the mean of v² nearby: every v is divided by about 1."),
        ({"light": "1"}, "In even light no half is dark: contrast {before}%, normalized {after}%."),
        (
            {"data": "features", "light": "0.9"},
            "The contrast of the right half is {before}%, after normalization {after}%.",
        ),
    ],
)
def test_the_headline_names_the_effect_on_the_dark_half(link, words):
    at = open_page(**link)
    before, after = contrasts(at)
    assert "### " + words.format(before=before, after=after) in said(at)
    x, eps = picture(link.get("data", "photo"), light=float(link.get("light", "0.03"))), float(link.get("eps", "1e-5"))
    squares = normalize(x, windows(16, 16), 0.0).deviation ** 2
    assert ("far exceeds" in words) == (eps > 10 * squares.max())
    assert ("fades" in words) <= (eps > np.median(squares[:, :, x.shape[2] // 2 :]))
    assert ("brings back" in words) <= (after > 0.75 * 72 > 2 * before)


@pytest.mark.parametrize("light", ["1", "0.03"])
def test_the_picture_is_darkened_only_in_fading_light(light):
    at = open_page(light=light)
    sent = plots(at)["contrast picture"]
    assert sent["names"] == ["original", *(["darkened"] if light != "1" else []), "normalized"]


@DATA
def test_the_ring_is_at_first_inside_the_picture(data):
    (row, column), (_, height, width, _) = ring(open_page(data=data)), SHAPES[data]
    assert min(row, height - 1 - row) >= height // EDGE_SHARE
    assert min(column, width - 1 - column) >= width // EDGE_SHARE


def test_no_radius_has_a_symbol_before_it_differs_from_the_other():
    at = open_page()
    assert "R_" not in said(at) + at.slider(key=PREFIX + "radius").label


def test_contrast_comes_back_for_a_small_eps_only():
    found = [contrasts(open_page(eps=eps))[1] for eps in ("0", "1e-5", "1")]
    assert found == sorted(found, reverse=True)
    assert contrasts(open_page())[0] < 20
    assert found[0] > 80
    assert found[2] < 20


@pytest.mark.parametrize("link", [{"radius": "0"}, {"radius_a": "0"}])
def test_an_element_that_is_its_own_mean_leaves_nothing(link):
    at = open_page(**link)
    assert "v = 0, and nothing is left" in said(at)
    assert "x̂ is 0 for every c" in said(at)
    assert set(levels(at, "after")) == {128}  # the middle, x̂ = 0


def test_windows_across_channels():
    at = open_page(data="features", over="HC", radius="1", eps="0.01", row="2", column="5", channel="3")
    x = picture("features")
    result = normalize(x, windows(1, 1, "HC"), 0.01)
    np.testing.assert_array_equal(levels(at, "after"), drawn(result.xhat[0, :, :, 3], -3, 3))


def test_eps_is_seen_to_act_in_scales_that_stay():
    weak, strong = (open_page(eps=eps) for eps in ("1e-5", "0.1"))
    assert np.abs(levels(weak, "after") - levels(strong, "after")).mean() > 5
    np.testing.assert_array_equal(levels(weak, "before"), levels(strong, "before"))
    assert levels(strong, "after").std() < 0.5 * levels(weak, "after").std()


def test_eps_of_a_link_is_a_stop_of_its_slider():
    sent = plots(open_page(eps="0.005"))["eps drag"]
    assert sent["texts"][sent["index"]] == "0.005"


def test_light_is_seen_to_fall():
    bright, dim = (levels(open_page(light=light), "before").reshape(96, 128) for light in ("1", "0.01"))
    np.testing.assert_array_equal(bright[:, 0], dim[:, 0])
    assert dim[:, -1].max() < 5 < bright[:, -1].max()


def test_no_windows_are_answered_in_words():
    at = open_page()
    at = sound(at.button_group(key=PREFIX + "over").set_value([]).run())
    assert value(at, "over") == []
    assert at.query_params == {"over": "none"}
    assert "**No axis has windows**, so every element is its own mean" in said(at)
    assert set(levels(at, "after")) == {128}
    again = open_page(over="none")
    assert (value(again, "over"), len(again.info)) == ([], 0)
    back = sound(again.button_group(key=PREFIX + "over").set_value(["H", "W"]).run())
    assert back.query_params == {}
    assert "No axis" not in said(back)


# --- one pixel ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("link", [{}, {"row": "50", "column": "30"}, {"row": "50"}])
def test_the_response_of_the_pixel_in_the_ring(link):
    at = open_page(**link, eps="0.001", light="0.1")
    x, scheme = picture(light=0.1), windows(16, 16)
    v = normalize(x, scheme, 0.0).v[0, :, :, 0]
    row, column = ring(at)
    assert all(str(found) == link.get(name, str(found)) for name, found in (("row", row), ("column", column)))
    inside = (v[50] if "row" in link else v[24:-24])[..., 80:-32]  # in the dark half, a quarter away from the edges
    assert v[row, column] == (v[50, 30] if "column" in link else inside.max())
    shown = traces(at, "response")[0]
    assert shown["name"] == "ε = 0.001"
    for k in (0, 20, 24, 28, 48):
        exact = normalize(CONTRASTS[k] * x, scheme, 0.001).xhat[0, row, column, 0]
        assert np.asarray(shown["y"])[k] == pytest.approx(exact, rel=1e-9)
    root = normalize(x, scheme, 0.0).deviation[0, row, column, 0]
    after = normalize(x, scheme, 0.001).xhat[0, row, column, 0]
    assert re.search(rf"Normalized: .*/√\(0.001 \+ .*\) = \*\*{after:.2g}\*\*", said(at).replace("−", "-"))
    told = said(at).replace("−", "-")
    assert f"= **{0.001**0.5 / root:.3g}**, x̂ is proportional to c" in told
    assert f"slope $v/\\sqrt{{\\varepsilon}}$ = {v[row, column] / 0.001**0.5:.3g};" in told
    assert f"= {v[row, column]:.3g} / {root:.3g} = **{v[row, column] / root:.3g}**" in told


def test_without_eps_all_is_saturated():
    at = open_page(eps="0")
    assert "there is no linear part" in said(at)
    curve = np.asarray(traces(at, "response")[0]["y"])
    np.testing.assert_allclose(curve, curve[0])


def test_a_number_chooses_the_channel_and_an_empty_one_that_of_the_largest():
    x = picture("features")
    largest = int(normalize(x, windows(16, 16), 0.0).v[0, 2:6, 5:6].max((0, 1)).argmax())
    at, found = open_page(data="features"), []
    for channel in (None, (largest + 1) % 6):
        at = sound(at.number_input(key=PREFIX + "channel").set_value(channel).run())
        found.append(levels(at, "before"))
        assert at.query_params == {"data": "features"} | ({} if channel is None else {"channel": str(channel)})
    expected = (picture("features", light=1.0)[..., largest], x[..., largest])
    np.testing.assert_array_equal(found[0], drawn(expected[1], expected[0].min(), expected[0].max()))
    assert (found[0] != found[1]).any()


# --- one's own picture --------------------------------------------------------------------------------------------


def upload(at, name, content):
    at.file_uploader(key="upload").set_value((name, content, "application/octet-stream"))
    return sound(at.run())


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def png(pixels):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "PNG")
    return stream.getvalue()


def test_a_photograph_of_ones_own_is_shown_in_colour_and_a_file_that_is_no_good_changes_nothing():
    at = open_page(data="own", light="1", eps="0.01")
    assert "A photograph is shown until a file is here." in texts(at.info)
    assert any("**Your own file is not here**: this is a photograph" in text for text in texts(at.caption))
    np.testing.assert_array_equal(levels(at, "before"), levels(open_page(light="1"), "before"))
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 3), dtype=np.uint8)
    at = upload(at, "mine.png", png(pixels))
    assert any(text.startswith("mine.png") for text in texts(at.caption))
    x = pixels[None] / 255
    np.testing.assert_array_equal(levels(at, "before"), drawn(x, x.min(), x.max()))
    xhat = normalize(x, windows(16, 16), 0.01).xhat
    np.testing.assert_array_equal(levels(at, "after"), drawn(xhat, -3, 3))
    assert plots(at)["contrast picture"]["shape"] == [20, 30]
    assert at.query_params == {"data": "own", "light": "1", "eps": "0.01"}
    held = levels(at, "after")
    at = upload(at, "broken.png", b"no picture")
    assert "not a whole .png or .jpg picture" in texts(at.error)[0]
    assert "mine.png is still shown." in texts(at.error)[0]
    np.testing.assert_array_equal(levels(at, "after"), held)


@pytest.mark.parametrize(
    "shape", [(1, 1, 1, 1), (1, 1, 1, 12), (3, 7, 1, 2), (2, 1, 9, 1), (2, 5, 4, 3), (1, 4096, 2, 1), (1, 64, 1024, 1)]
)
def test_arrays_of_any_shape(shape):
    array = np.random.default_rng(1).standard_normal(shape)
    at = upload(open_page(data="own"), "mine.npy", npy(array))
    assert not at.error
    assert plots(at)["contrast picture"]["shape"] == list(shape[1:3])
    assert any(f"the first of the {shape[0]} examples" in text for text in texts(at.caption)) == (shape[0] > 1)
    assert set(value(at, "over")) <= {axis for axis, n in zip("HWC", shape[1:], strict=True) if n > 1}
    if shape[1:] == (1, 1, 1):
        assert "The picture is one number" in said(at)


@pytest.mark.parametrize("array", [np.full((1, 6, 8, 1), np.nan), np.zeros((1, 6, 8, 1)), None])
def test_numbers_that_leave_nothing_to_tell(array):
    if array is None:
        array = np.random.default_rng(2).standard_normal((1, 6, 8, 1))
        array[0, 2, 3, 0], array[0, 4, 4, 0] = np.inf, np.nan
    at = upload(open_page(data="own", radius="1"), "mine.npy", npy(array))
    assert not at.error
    assert not re.search(r"\b(nan|inf)\b", said(at))
    finite = np.isfinite(array).all()
    assert ("Purple: no finite number." in " ".join(texts(at.caption))) == (not finite)
    if not finite:
        purple = [int(NOT_FINITE_COLOUR[k : k + 2], 16) for k in (1, 3, 5)]
        assert purple in levels(at, "before").reshape(-1, 3).tolist()


# --- the link -----------------------------------------------------------------------------------------------------


def test_the_link_holds_what_differs_and_no_other_pages_values():
    at = open_page(data="features", over="HWC", eps="0.5", channel="2", light="1")
    assert at.query_params == {"data": "features", "over": "HWC", "eps": "0.5", "channel": "2", "light": "1"}
    assert "radius" not in at.session_state
    assert (value(at, "over"), value(at, "channel")) == (["H", "W", "C"], 2)
    at = sound(at.selectbox(key=PREFIX + "data").set_value("photo").run())
    assert value(at, "over") == ["H", "W"]
    assert at.query_params == {"eps": "0.5", "light": "1"}


def test_a_bad_link_is_mended_with_a_note():
    at = open_page(radius="99", eps="-1", data="foo", row="500", over="C", light="0")
    assert replaced(at) == [
        "Data: foo is not one of the choices; Photographs is used.",
        "Radius R: 99 is too large; 16 is used.",
        "Windows along: C is not one of the choices; HW is used.",
        "ε (smoothing term): −1 is too small; 0 is used.",
        "Light at the right edge: 0 is too small; 0.001 is used.",
        "Row: 500 is too large; 95 is used.",
    ]


def test_what_the_core_refuses_is_told_and_the_choices_stay(monkeypatch):
    def refuse(*arguments):
        raise InvalidInput("not so")

    at = open_page(radius="2")
    monkeypatch.setattr(divisive_panels, "compute_saturation", refuse)
    at = sound(at.run())
    assert texts(at.error) == ["not so"]
    assert value(at, "radius") == 2


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in PARAMS]),
        st.sampled_from(
            ["", "nan", "inf", "-1", "0", "1", "x", "same", "features", "digits", "own", "none", "HC", "1e-3"]
        ),
        max_size=4,
    )
)
def test_whatever_the_link_the_page_shows_contrast_and_response(link):
    at = open_page(**link)
    assert not at.error
    assert plots(at).keys() == FIGURES


def test_a_negative_pixel_is_not_said_to_grow():
    at = open_page(data="digits", row="0", column="0")
    text = said(at)
    assert "slope $v/\\sqrt{\\varepsilon}$ = −" in text
    assert "x̂ grows" not in text
    assert "x̂ is proportional to c" in text
