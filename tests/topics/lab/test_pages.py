"""The tensor lab as a user meets it, run by Streamlit without a browser."""

import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from lab_page import (
    ACTIVATION,
    ROOT,
    beside,
    computed,
    live,
    open_lab,
    pick,
    plots,
    replaced,
    said,
    sound,
    texts,
    traces,
    view_of,
)
from pairs import each_value

from normviz.charts.colourings import format_colouring_name, list_colourings
from normviz.charts.cube import compute_value_levels
from normviz.charts.cube_layout import LAYOUT_FUNCTIONS
from normviz.charts.palette import THEMES
from normviz.core.fields import MAX_DRAWN_ELEMENTS, find_divisors
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.statistics import build_statistics_table
from normviz.core.theory import explain_degeneracy
from normviz.data.samples import SAMPLES
from normviz.describe import notation, wording
from normviz.describe.parameters import list_parameter_shapes
from normviz.topics.lab import state as lab
from normviz.ui import tensor
from normviz.ui.link import clean_values

EVERY_SCHEME = pytest.mark.parametrize("key", SCHEMES)

WORDS = st.sampled_from(["", "nan", "-inf", "1e999", "-1", "0", "true", "own", "groups(7)", "window(3)", "0,1,2", "HW"])
TEXTS = (
    st.text(max_size=12)
    | WORDS
    | st.integers(-9, 99).map(str)
    | st.sampled_from([*SCHEMES, *tensor.COLOURING_NAMES, *SAMPLES])
)
COMMON = {"tab", "scheme", "n", "h", "w", "c", "data", "seed", "view", "colour"}
AFFINE = {"eps", "gain", "bias"}
OFFERED = {
    "none": set(),
    "batch": AFFINE,
    "layer": AFFINE,
    "layer-channels": AFFINE,
    "instance": AFFINE,
    "group": {"groups", *AFFINE},
    "whitening": {"groups", *AFFINE},
    "rms": {"eps", "gain"},
    "ghost-batch": {"groups", *AFFINE},
    "mean-only-batch": {"bias"},
    "filter-response": {"threshold", *AFFINE},
    "scale": {"eps", "gain"},
    "pixel": {"eps"},
    "query-key": {"groups", "eps", "gain"},
    "divisive": {"radius", "radius_a", "over", *AFFINE},
    "weight": {"gain"},
    "weight-standardization": {"eps"},
    "spectral": set(),
    "layer-weight": AFFINE,
    "custom": {"centre", "divide", "apart", "front", "a_n", "a_h", "a_w", "a_c", *AFFINE},
}


def offered(at):
    """The values of the link that have a widget on the page."""
    widgets = [*at.button_group, *at.number_input, *at.selectbox, *at.slider, *at.select_slider, *at.toggle]
    return {str(widget.key).removesuffix(" shown").partition(" of ")[0] for widget in widgets} & {
        param.key for param in lab.PARAMS
    }


# --- it opens -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("script", ["app.py", "pages/tensor_lab.py"])
def test_the_page_opens(script):
    at = open_lab(script)
    assert any(text.startswith("## Batch normalization") for text in texts(at.markdown))
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)
    assert at.query_params == {}


@EVERY_SCHEME
def test_every_scheme_in_every_view_and_colour(key):
    at = open_lab(scheme=key)
    name, first = SCHEMES[key].name, list(SCHEMES).index(key) % 2
    colours = list_colourings(lab.has_affine(SCHEMES[key]))
    names = [format_colouring_name(colour, SCHEMES[key]) for colour in colours]
    assert at.segmented_control(key="colour").options == names
    assert ("w" in names, "w\u0302" in names) == (SCHEMES[key].is_weight_scheme,) * 2
    for number, (colour, named) in enumerate(zip(colours, names, strict=True)):
        view = list(LAYOUT_FUNCTIONS)[(number + first) % 2]
        at.segmented_control(key="view shown").set_value(view)
        sound(at.segmented_control(key="colour").set_value(colour).run())
        assert texts(at.markdown)[0].startswith(f"## {name[0].upper()}{name[1:]}\n")
        alt = plots(at)["cube"]["alt"]
        assert f"drawn as cells in 3-D, {view}, coloured by {named.lower()}." in alt


def test_cells_show_y_and_where_nothing_is_learned_the_same_of_the_result():
    at = open_lab(colour="output", gain="2", bias="1")
    x, result = computed(at)[1], computed(at)[3]
    levels, _ = compute_value_levels(result.y)
    cells = next(trace for trace in traces(at, "cube") if trace["name"] == "cells")
    np.testing.assert_array_equal(np.reshape(cells["intensity"], x.shape), levels)
    pick(at, "spectral")
    assert (at.session_state["colour"], len(at.error)) == ("normalized", 0)


def open_panel(at, name):
    """The page with another panel open below the cube."""
    at.session_state["tab"] = name
    return sound(at.run())


@EVERY_SCHEME
def test_every_panel_below_the_cube(key):
    at = open_lab(scheme=key)
    scheme, x, _, result = computed(at)
    tables = [table.value for table in open_panel(at, "statistics").dataframe]
    assert len(tables) == (1 if scheme.fields else 0)
    for table in tables:
        for column, values in build_statistics_table(x, scheme, result).items():
            np.testing.assert_array_equal(table[column], values)
    lines = [formula for formula in notation.build_formulas(scheme) if formula.name != "where"]
    assert [line.value.strip("$\n") for line in open_panel(at, "formula").latex] == [line.latex for line in lines]
    (code,) = open_panel(at, "code").code
    compile(code.value, "snippet", "exec")
    assert len(open_panel(at, "parameters").table) == bool(list_parameter_shapes(scheme, x.shape))
    for panel in ("distribution", "response", "picture"):
        open_panel(at, panel)


@pytest.mark.parametrize("preset", tensor.PRESETS)
@pytest.mark.parametrize("scheme", ["group", "weight"])
def test_every_preset(preset, scheme):
    at = open_lab(scheme=scheme, n="9")
    sound(at.selectbox(key="preset").select(preset).run())
    view = {key.rpartition(" ")[2]: value for key, value in view_of(at).items()}
    assert tensor.PRESETS[preset].items() <= view.items()
    assert (SCHEMES[at.session_state["scheme"]].acts_on == "weight") == (preset == "Conv weights")
    assert at.selectbox(key="preset").value == preset
    sound(at.number_input(key="h").set_value(7).run())
    assert at.selectbox(key="preset").value is None


@pytest.mark.parametrize(("before", "preset"), each_value(tensor.PRESETS, [*tensor.PRESETS][::-1]))
def test_a_preset_leaves_nothing_of_another_one_behind(before, preset):
    if before == preset:
        return
    at = open_lab(n="9", gain="3", eps="0.5", seed="7", focus="1,0,0,1")
    for name in (before, preset):
        sound(at.selectbox(key="preset").select(name).run())
    alone = open_lab(n="9")
    sound(alone.selectbox(key="preset").select(preset).run())
    assert view_of(at) == view_of(alone)
    assert at.query_params == alone.query_params


def test_presets_bring_a_scheme_that_fits():
    schemes = {name: preset["scheme"] for name, preset in tensor.PRESETS.items()}
    assert schemes["Transformer tokens (B, T, C)"] == "layer-channels"
    for name, preset in tensor.PRESETS.items():
        shape = tensor.get_view_shape(preset)
        assert not explain_degeneracy(get_scheme(schemes[name], radius=4), shape, 1e-5), name


def test_divisive_opens_unfolded_until_a_view_is_chosen():
    at = open_lab()
    assert at.segmented_control(key="view shown").value == "folded"
    at.session_state["scheme"] = "divisive"
    assert sound(at.run()).segmented_control(key="view shown").value == "unfolded"
    assert "view" not in at.query_params
    sound(at.segmented_control(key="view shown").set_value("folded").run())
    assert "drawn as cells in 3-D, folded" in plots(at)["cube"]["alt"]
    assert at.query_params["view"] == "folded"
    for scheme in ("layer", "divisive"):
        at.session_state["scheme"] = scheme
        sound(at.run())
    assert at.segmented_control(key="view shown").value == "folded"


@pytest.mark.parametrize(
    ("link", "view"),
    [
        ({"scheme": "divisive"}, "unfolded"),
        ({"scheme": "divisive", "view": "folded"}, "folded"),
        ({"scheme": "batch"}, "folded"),
        ({"scheme": "batch", "view": "unfolded"}, "unfolded"),
        ({"scheme": "batch", "view": "unfoled"}, "unfolded"),
    ],
)
def test_the_view_of_a_link(link, view):
    assert open_lab(**link).segmented_control(key="view shown").value == view


def cells_of(at):
    return next(trace for trace in traces(at, "cube") if trace["name"] == "cells")


def test_the_photograph_opens_as_a_picture():
    at = open_lab()
    sound(at.selectbox(key="preset").select("Photograph").run())
    assert at.session_state["colour"] == "value"
    assert [hue for _, hue in cells_of(at)["colorscale"]] == ["#000000", "#ffffff"]
    coloured = open_lab(n="1", h="4", w="5", c="3", data="photo", colour="value")
    pixels = SAMPLES["photo"].make((1, 4, 5, 3), 0).reshape(-1, 3)
    np.testing.assert_array_equal(np.array(cells_of(coloured)["meta"])[::3], np.rint(255 * pixels))


@pytest.mark.parametrize(
    "link", [{"data": "uneven", "c": "1"}, {"data": "photo", "c": "6"}, {"data": "photo", "w": "1"}]
)
def test_what_is_no_picture_keeps_the_scale_of_values(link):
    at = open_lab(**{"colour": "value"} | link)
    assert len(cells_of(at)["colorscale"]) == 3


def test_before_and_after_share_a_scale_or_say_that_they_do_not():
    at = open_lab(n="2", h="6", w="6", c="1", data="digits", tab="picture")
    _, x, _, result = computed(at)
    both = np.concatenate([x[0].ravel(), result.xhat[0].ravel()])
    drawn = traces(at, "picture")
    assert [(trace["zmin"], trace["zmax"]) for trace in drawn] == [(both.min(), both.max())] * 2
    sound(at.segmented_control(key="brightness").set_value("own").run())
    drawn = traces(at, "picture")
    assert [trace["zmin"] for trace in drawn] == [x[0].min(), result.xhat[0].min()]
    assert any("Scales of their own" in caption for caption in texts(at.caption))
    coloured = open_lab(n="1", h="6", w="5", c="3", data="photo", tab="picture")
    assert [trace["type"] for trace in traces(coloured, "picture")] == ["image", "image"]
    assert "in colour" in plots(coloured)["picture"]["alt"]


@pytest.mark.parametrize("data", SAMPLES)
@pytest.mark.parametrize("shape", [(4, 4, 4, 6), (1, 1, 1, 1)])
def test_every_kind_of_data(data, shape):
    at = open_lab(data=data, seed="3", **dict(zip(tensor.SIZE_NAMES, map(str, shape), strict=True)))
    assert beside(at) == live(at)
    assert plots(at)["cube"]["hover"]["shape"] == list(shape)


@pytest.mark.parametrize("theme", THEMES)
def test_figures_follow_the_theme(theme):
    figure = plots(open_lab(theme=theme))["cube"]["figure"]
    (edges,) = (trace for trace in figure["data"] if trace["name"] == "edges")
    assert edges["line"]["color"] == THEMES[theme].ink


# --- parameters and words -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", OFFERED)
def test_only_the_parameters_that_a_scheme_has_are_offered(key):
    both = {"statistic"} if len(SCHEMES[key].fields) == 2 else set()
    assert offered(open_lab(scheme=key)) == COMMON | OFFERED[key] | both


def test_the_custom_scheme_offers_what_is_switched_on():
    at = open_lab(scheme="custom", apart="1")
    assert {"a_n", "b_n", "eps"} <= offered(at)
    sound(at.toggle(key="divide").set_value(False).run())
    assert not {"apart", "b_n", "eps"} & offered(at)
    sound(at.toggle(key="centre").set_value(False).run())
    assert not {"a_n", "b_n", "eps"} & offered(at)
    assert plots(at)["element shown"]["says"].startswith("<b>Nothing is shared:</b>")


@pytest.mark.parametrize("channels", [1, 5, 12])
def test_groups_are_divisors_of_the_channels(channels):
    at = open_lab(scheme="group", c=str(channels))
    assert at.selectbox(key="groups").options == list(map(str, find_divisors(channels)))


@pytest.mark.parametrize(
    "key",
    [
        key
        for key in ACTIVATION
        if SCHEMES[key].fields and SCHEMES[key].is_general_form and key not in ("custom", "layer-weight")
    ],
)
def test_the_custom_scheme_says_what_it_equals(key):
    scheme = SCHEMES[key]
    rules = {f"a_{size}": str(rule) for size, rule in zip(tensor.SIZE_NAMES, scheme.field.rules, strict=True)}
    centre, divide = (str(int(field is not None)) for field in (scheme.summation, scheme.suppression))
    at = open_lab(scheme="custom", centre=centre, divide=divide, **rules)
    (info,) = texts(at.info)
    assert info.startswith("On this shape, x̂ is that of ")
    assert wording.format_scheme_name(scheme) in re.split(
        ", | and ", info.removeprefix("On this shape, x̂ is that of ").removesuffix(".")
    )


def test_schemes_that_compute_the_same_are_named():
    assert texts(open_lab(scheme="whitening", groups="6").info) == ["On this shape, x̂ is that of batch normalization."]
    assert texts(open_lab(scheme="whitening").info) == []
    assert texts(open_lab(scheme="custom").info) == []
    assert texts(open_lab(scheme="group", groups="6").info)[0].startswith("On this shape, x̂ is that of ")


@pytest.mark.parametrize("key", [key for key in SCHEMES if key not in ACTIVATION])
def test_weights_have_axes_of_their_own(key):
    at = open_lab(scheme=key, n="3", h="2", w="4", c="5")
    labels = [at.number_input(key=size).label for size in tensor.SIZE_NAMES]
    assert labels == ["kh kernel height", "kw kernel width", "Cin input channels", "Cout units"]
    assert plots(at)["element shown"]["axes"] == [["r", 2], ["s", 1], ["i", 3], ["o", 4]]
    cube = plots(at)["cube"]
    assert (cube["names"], cube["symbol"]) == (["r", "s", "i", "o"], "w")
    titles = " ".join(cube["hover"]["labels"]["each"][0]["titles"])
    assert all(name in titles for name in ("kh", "kw", "Cin", "Cout"))


# --- changes that do not fit --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "groups", "after", "became"), [("6", "3", 4, 2), ("6", "2", 5, 1), ("12", "12", 8, 8), ("8", "8", 9, 9)]
)
def test_groups_that_no_longer_divide_become_the_nearest_divisor(before, groups, after, became):
    at = open_lab(scheme="group", c=before, groups=groups)
    assert replaced(at) == []
    sound(at.number_input(key="c").set_value(after).run())
    assert at.session_state["groups"] == became
    note = f"Groups G: {groups} does not divide C = {after}; {became} is used."
    assert replaced(at) == [note]
    sound(at.run())
    assert replaced(at) == [note]  # until it is read
    sound(at.button(key="replaced read").click().run())
    assert replaced(at) == []


def test_a_note_goes_once_its_value_is_another_or_what_was_asked_for_would_do():
    at = open_lab(scheme="group", groups="4")
    sound(at.selectbox(key="groups").set_value(6).run())
    assert replaced(at) == []
    at = open_lab(scheme="group", groups="4")
    sound(at.number_input(key="c").set_value(9).run())
    assert replaced(at) == ["Groups G: 4 does not divide C = 9; 3 is used."]
    sound(at.number_input(key="c").set_value(12).run())
    assert (replaced(at), at.session_state["groups"]) == ([], 3)


def test_there_is_no_note_on_what_the_scheme_does_not_have():
    at = open_lab(c="6")
    sound(at.number_input(key="c").set_value(5).run())
    assert texts(at.info) == []


def test_windows_may_be_picked_in_any_order():
    at = open_lab(scheme="divisive")
    sound(at.pills(key="over").set_value(["W", "H"]).run())
    assert (at.session_state["over"], texts(at.info)) == (["H", "W"], [])


def test_a_shape_over_the_limit_is_refused_and_a_button_makes_it_fit():
    chosen = {"scheme": "group", "groups": "3", "eps": "0.1", "gain": "2", "colour": "value", "view": "unfolded"}
    at = open_lab(**chosen)
    before = view_of(at)
    sound(at.number_input(key="n").set_value(60_000).run())
    (error,) = texts(at.error)
    assert error == (
        "60000 × 4 × 4 × 6 is 5,760,000 elements, more than the 65,536 that are drawn; 682 × 4 × 4 × 6 fits."
    )
    assert plots(at) == {}
    (button,) = at.button
    assert button.label == f"Use {wording.format_shape((682, 4, 4, 6))}"
    sound(button.click().run())
    assert (texts(at.error), len(at.button)) == ([], 0)
    assert view_of(at) == before | {"n": 682}
    assert at.query_params == chosen | {"n": "682"}


@pytest.mark.parametrize("key", ["batch", "whitening", "group", "divisive", "rms", "weight", "spectral"])
def test_the_words_and_the_formula_follow_the_focus(key):
    at = open_lab(scheme=key, eps="0.01", gain="1.5", bias="0.25", h="3", w="2")
    for focus in [(1, 0, 0, 0), (1, 2, 1, 5), (3, 1, 0, 2)]:
        at.session_state["focus"] = focus
        sound(at.run())
        scheme, x, _, _ = computed(at)
        assert at.session_state["focus"] == focus
        assert at.query_params["focus"] == ",".join(map(str, focus))
        assert plots(at)["cube"]["focus"] == list(focus)
        assert beside(at)[0].endswith(
            wording.SchemeOnShape(scheme, x.shape).describe_boxes(focus)[0].where.partition(": ")[2]
        )
        assert beside(at) == live(at)


@pytest.mark.parametrize("key", ["none", "rms", "weight", "weight-standardization", "spectral"])
def test_gain_and_bias_of_another_scheme_do_not_count(key):
    at = open_lab(gain="3", bias="0.5")
    pick(at, key)
    assert beside(at) == live(at)


# --- links --------------------------------------------------------------------------------------------------------

LINK = {"n": "2", "h": "3", "c": "12", "scheme": "divisive", "radius": "2", "radius_a": "3", "over": "HC", "eps": "0.1"}
LINK |= {"gain": "-1.5", "bias": "0.5", "data": "normal", "seed": "7", "view": "unfolded", "colour": "value"}
LINK |= {"focus": "1,2,3,4"}


def test_a_link_restores_the_view_and_stays_what_it_is():
    at = open_lab("app.py", **LINK, other="kept")
    assert (at.query_params, texts(at.info)) == (LINK | {"other": "kept"}, [])
    view, _ = clean_values(lab.PARAMS, LINK)
    assert view_of(at) == view
    assert beside(at) == live(at)
    shown = [at.number_input(key=key).value for key in ("n", "h", "w", "c", "gain", "bias", "seed")]
    assert shown == [2, 3, 4, 12, -1.5, 0.5, 7]
    assert (at.pills(key="over").value, at.select_slider(key="eps").value) == (["H", "C"], 0.1)


def test_a_bad_link_is_mended_with_a_note():
    at = open_lab(n="0", scheme="grop", groups="4", eps="-1", view="sideways", focus="9,9,9,9", colour="value")
    assert replaced(at) == [
        "N batch: 0 is too small; 1 is used.",
        "View: sideways is not one of the choices; One cube is used.",
        "Locked element: 9,9,9,9 is not within 1 × 4 × 4 × 6; 0,3,3,5 is used.",
        "Scheme: grop is not one of the choices; Group is used.",
        "Groups G: 4 does not divide C = 6; 3 is used.",
        "ε (smoothing term): −1 is too small; 0 is used.",
    ]
    mended = {"n": "1", "scheme": "group", "groups": "3", "eps": "0", "focus": "0,3,3,5", "colour": "value"}
    mended["view"] = "folded"  # one was asked for, so the scheme does not say it
    assert at.query_params == mended


def test_a_link_over_the_limit_opens_with_a_shape_that_fits():
    at = open_lab(n="60000", c="600000", scheme="group", groups="600000")
    n, c = at.session_state["n"], at.session_state["c"]
    assert n * 16 * c <= MAX_DRAWN_ELEMENTS
    assert replaced(at) == [
        f"N batch: 60000 is too large; {n} is used.",
        f"C channels: 600000 is too large; {c} is used.",
        f"Groups G: 600000 does not divide C = {c}; {c} is used.",
    ]


@settings(max_examples=15)
@given(st.dictionaries(st.sampled_from([param.key for param in lab.PARAMS]), TEXTS))
@example({"n": "1e999", "groups": "nan", "focus": "a,b", "eps": "inf"})
@example({"n": "65536", "h": "1", "w": "1", "c": "1", "view": "unfolded"})
def test_no_link_raises(link):
    at = open_lab(**link)
    assert len(at.error) == 0
    again = open_lab(**at.query_params)
    assert replaced(again) == []
    assert again.query_params == at.query_params


# --- imports ------------------------------------------------------------------------------------------------------

OPEN = """
import sys
sys.path[:0] = sys.argv[2:]
from streamlit.testing.v1 import AppTest
at = AppTest.from_file(sys.argv[1], default_timeout=60).run()
assert not at.exception, at.exception[0].message
print(*{"torch", "keras", "sklearn"} & set(sys.modules))
"""


def imported(script, *paths):
    """Which of the heavy libraries are there once a fresh interpreter has opened a page."""
    command = [sys.executable, "-c", OPEN, str(script), *map(str, paths)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_opening_the_page_imports_no_torch_keras_or_sklearn():
    assert imported(ROOT / "app.py") == set()


def test_a_page_that_imports_torch_is_caught(tmp_path):
    for name in ("torch", "keras", "sklearn"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / "page.py").write_text("import streamlit as st, torch, keras, sklearn\nst.title('heavy')\n")
    assert imported(tmp_path / "page.py", tmp_path) == {"torch", "keras", "sklearn"}


# --- what is open below the cube ------------------------------------------------------------------------------------


def test_a_link_holds_the_statistic_and_the_framework_where_they_are_seen():
    at = open_lab(statistic="mean", framework="keras")
    assert plots(at)["map"]["alt"].startswith("Heat map of the means")
    assert (at.query_params["statistic"], "framework" in at.query_params) == ("mean", False)
    open_panel(at, "code")
    assert "keras.layers.BatchNormalization" in at.code[0].value
    assert ("statistic" in at.query_params, at.query_params["framework"]) == (False, "keras")
    sound(at.button_group(key="framework").set_value("numpy").run())
    assert "import torch" not in at.code[0].value
    assert at.query_params["framework"] == "numpy"


def test_a_tab_that_is_not_there_becomes_the_nearest():
    assert open_lab(tab="statistic").dataframe
    assert open_lab(tab="kode").code
    assert open_lab(tab="zzz", statistic="median", framework="jax").dataframe


def test_one_statistic_is_not_offered_as_a_choice():
    at = open_lab(scheme="rms", statistic="mean")
    assert plots(at)["map"]["alt"].startswith("Heat map of the divisors")
    assert "statistic" not in offered(at)


def test_the_gain_of_weight_norm_is_g_as_in_its_paper():
    for key, symbol in (("weight", "g"), ("batch", "γ")):
        at = open_lab(scheme=key, gain="99", tab="parameters")
        assert at.number_input(key="gain").label == f"{symbol} (gain)"
        assert replaced(at) == [f"{symbol} (gain): 99 is too large; 10 is used."]
        assert ("γ" in said(at)) == (symbol == "γ")


def test_what_does_the_same_is_a_sentence():
    assert texts(open_lab(scheme="scale").info) == [
        "On this shape, x̂ is that of RMS normalization and pixel normalization."
    ]


@pytest.mark.parametrize(
    ("key", "words"), [("mean-only-batch", "is proportional to"), ("none", "is proportional to"), ("batch", None)]
)
def test_where_nothing_divides_the_contrast_stays(key, words):
    at = open_lab(scheme=key, tab="response")
    assert ("Nothing divides here" in said(at)) == (words is not None)
    assert words is None or words in said(at)
    assert "or it does without" not in said(at)


@pytest.mark.parametrize("key", ["dynamic-tanh", "none", "rms"])
def test_the_distribution_speaks_of_a_field_only_where_there_is_one(key):
    at = open_lab(scheme=key, tab="distribution")
    captions = " ".join(texts(at.caption))
    assert ("in the field" in captions) == (SCHEMES[key].field is not None)
    assert ("standard deviation 0 in" in captions) is False


@pytest.mark.parametrize("key", SCHEMES)
def test_the_legend_of_hues_says_whether_elements_share_a_statistic(key):
    at = open_lab(scheme=key, colour="statistic")
    legend = plots(at)["cube"]["legend"]
    assert ("share a statistic; hues come round again." in legend) == bool(SCHEMES[key].fields)
    assert ("No elements share a statistic." in legend) != bool(SCHEMES[key].fields)


@pytest.mark.parametrize("key", SCHEMES)
def test_histograms_name_the_tensor_and_what_is_chosen(key):
    scheme = SCHEMES[key]
    at = open_lab(scheme=key, tab="distribution")
    figure = plots(at)["histograms"]["figure"]
    symbol = "w" if scheme.is_weight_scheme else "x"
    titles = [each["text"] for each in figure["layout"]["annotations"][:2]]
    assert titles == [f"before: {symbol}", f"after: {symbol}̂"]
    chosen = "the field" if scheme.fields else "the element"
    assert {trace["name"] for trace in figure["data"]} == {"all elements", chosen}
    assert any(text.startswith(f"before: {symbol}") for text in texts(at.caption))
