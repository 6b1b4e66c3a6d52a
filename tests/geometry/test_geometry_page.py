"""The page on geometry as a user meets it, run by Streamlit without a browser."""

import re

import pytest
from lab_page import open_lab, plots, said, texts

from normviz.geometry.panels import PANELS
from normviz.geometry.recurrent import SCALES, SCHEMES, Unrolled, flow
from normviz.geometry.state import BELONGS, PARAMS, PREFIX, SHOWN, has
from normviz.ui.palette import THEMES
from normviz.ui.stories import STORIES

SCRIPT = "pages/geometry.py"
FIGURES = {
    "fisher": {"without", "with", "weights_block", "gain_block", "exact", "drawn"},
    "rate": {"lengths", "effective", "losses"},
    "slices": {"slice_without", "slice_with", "slice_line"},
    "recurrent": {"steps_back", "factors"},
}
EXTREMES = {
    "fisher": (
        {"outputs": "bernoulli", "length": "4", "scale": "4", "gain": "4", "scheme": "layer", "distance": "1"},
        {"outputs": "bernoulli", "length": "0.25", "scale": "0.25", "gain": "0.25", "distance": "1", "draws": "10"},
        {"scheme": "weight", "length": "0.25", "distance": "0.01", "draws": "3000"},
    ),
    "rate": (
        {"rate": "1", "steps": "400", "delta": "0.1"},
        {"rate": "0.01", "steps": "20", "delta": "1"},
        {"rate": "0.01", "delta": "10"},
    ),
    "slices": (
        {"trained": "0", "directions": "fixed", "times": "10", "reach": "2", "beside": "layer"},
        {"trained": "400", "times": "0.1", "reach": "0.1"},
        {"trained": "400", "times": "10", "directions": "fixed", "reach": "2"},
    ),
    "recurrent": (
        {"activation": "linear", "strength": "4", "unrolled": "50", "gamma": "2"},
        {"strength": "0.5", "unrolled": "50", "gamma": "0.1", "inputs": "1"},
        {"unrolled": "5", "strength": "1.234"},
    ),
}
WRONG = re.compile(r"\d[eE][-−+]?\d|\b(?:inf|nan|None)\b|-\d")


def open_page(**link):
    return open_lab(SCRIPT, **link)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("show", SHOWN)
def test_every_panel(show, theme):
    at = open_lab(SCRIPT, theme, show=show)
    assert set(plots(at)) == FIGURES[show]
    assert all(len(plot["alt"]) > 20 for plot in plots(at).values())
    assert next(iter(plots(at).values()))["figure"]["layout"]["font"]["color"] == THEMES[theme].ink
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)
    assert said(at).startswith("### ")


@pytest.mark.parametrize(("show", "link"), [(show, link) for show, links in EXTREMES.items() for link in links])
def test_every_extreme(show, link):
    at = open_page(show=show, **link)
    assert set(plots(at)) == FIGURES[show]
    words = re.sub(r"\(\S*\)|\[[^\]]*\]", "", " ".join([said(at), *texts(at.caption)]))
    assert not WRONG.search(words), words


@pytest.mark.parametrize("show", SHOWN)
def test_every_control_that_means_something_is_offered(show):
    at = open_page(show=show)
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.toggle, *at.selectbox]
    offered = {widget.key.removeprefix(PREFIX) for widget in widgets}
    assert offered == {param.name for param in PARAMS if has({"show": show}, param.name)}


def test_every_value_belongs_somewhere_and_every_panel_is_there():
    assert set(BELONGS) < {param.name for param in PARAMS}
    assert all(set(shown) <= set(SHOWN) for shown in BELONGS.values())
    assert set(PANELS) == set(SHOWN)


# --- distance -----------------------------------------------------------------------------------------------------


def test_the_sentences_on_distance_are_those_of_the_claims():
    words = said(open_page(scheme="batch"))
    assert "multiplied by ¼ with batch normalization, by 1 without" in words
    assert (
        "where weights are twice as large with batch, weight and layer norm, and where the data are with batch" in words
    )
    assert "0 to rounding** of the largest" in words
    assert "x̂² is 1 on average, the squared prediction error 1, and F of a unit's γ 1." in words


def test_the_table_has_what_every_block_is_multiplied_by():
    table = open_page().table[0].value.set_index("Block")
    assert list(table.loc["w, W′ = 2W"]) == ["× 1", "× ¼", "× ¼", "× ¼"]
    assert list(table.loc["γ, x′ = 2x"]) == ["× 4", "× 1", "× 4", "× 1"]
    assert open_page(outputs="bernoulli").table[0].value["None"][0].startswith("≈ 0.")


def test_the_length_of_w_moves_the_step_with_normalization_only():
    said_of = re.compile(
        r"is (\S+) long with layer normalization and (\S+) without; were \*\*w\*\* twice as long, (\S+) and (\S+)\."
    )
    one, two = (
        [float(number) for number in said_of.search(said(open_page(scheme="layer", length=length))).groups()]
        for length in ("1", "2")
    )
    assert two[0] == pytest.approx(2 * one[0], rel=0.01)
    assert one[2:] == pytest.approx(two[:2])
    assert one[1] == two[1] == one[3]


# --- effective rate -----------------------------------------------------------------------------------------------


def test_the_sentences_on_the_rate_are_those_of_the_claims():
    words = said(open_page(show="rate"))
    assert "SGD lengthens W, here by" in words
    assert "none ever got shorter" in words
    assert "at δ² times the learning rate with SGD, and at δ times with Adam" in words


def test_a_twin_as_long_as_its_original_is_the_original():
    assert "With δ = 1 the twin is the original" in said(open_page(show="rate", delta="1", steps="20"))


def test_weight_decay_is_a_link_with_the_settings_of_the_page():
    words = said(open_page(show="rate", rate="0.1", steps="100"))
    assert "(experiments?show=weight-decay&weight_decay_rate=0.1&weight_decay_steps=100)" in words


# --- loss slices --------------------------------------------------------------------------------------------------


def test_the_slices_say_what_does_not_hang_on_the_length():
    words = said(open_page(show="slices", times="3"))
    assert "so is the slice: it changes by 0 to rounding with batch normalization, 0 to rounding without" in words
    assert "3 times" not in texts(open_page(show="slices", times="3").caption)[0]
    assert "3 times that, W₁ 1/3 of it" in texts(open_page(show="slices", times="3", directions="fixed").caption)[0]


# --- recurrent ----------------------------------------------------------------------------------------------------


def test_the_recurrent_network_tells_what_the_invariance_is():
    words = said(open_page(show="recurrent", inputs="1"))
    assert "the factor is then the same at every s with batch, layer and RMS norm; without" in words
    assert "still hangs on it" in said(open_page(show="recurrent"))


def test_what_to_try_first_changes_the_wedge():
    assert "**KL of the border**" in next(story.first for story in STORIES if story.page == "geometry")
    first, second = (plots(open_page(show="fisher", distance=each)) for each in ("0.1", "0.3"))
    for name in ("without", "with"):
        assert str(first[name]["figure"]["data"]) != str(second[name]["figure"]["data"])


@pytest.mark.parametrize(("gain", "is_open"), [("0.25", True), ("1", False)])
def test_what_is_near_is_a_wedge_only_where_a_direction_is_far(gain, is_open):
    text = said(open_page(show="fisher", scheme="batch", gain=gain, distance="1"))
    assert ("reaches from the origin outwards" in text) != is_open
    assert ("all of the plane is filled" in text) == is_open


@pytest.mark.parametrize(("gamma", "seed"), [("1", 0), ("1", 1), ("2", 0), ("0.3", 0)])
@pytest.mark.parametrize("activation", ["tanh", "linear"])
def test_the_input_is_said_to_decide_only_where_the_gradient_vanishes_as_fast(activation, gamma, seed):
    setting = Unrolled(activation, float(gamma), seed=seed)
    least = {key: flow(key, setting, SCALES).factor.min() for key in SCHEMES}
    all_larger = all(least[key] > least["none"] for key in least if key != "none")
    text = said(open_page(show="recurrent", activation=activation, gamma=gamma, seed=str(seed)))
    assert ("the input decides" in text) != all_larger
    assert "need not be" not in text
