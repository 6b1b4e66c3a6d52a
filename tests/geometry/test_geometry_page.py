"""The page "Step size" as a user meets it, run by Streamlit without a browser."""

import re

import numpy as np
import pytest
import torch
from lab_page import open_lab, plots, said, sound, texts

from normviz.geometry.panels import PANELS
from normviz.geometry.state import ADVANCED, BELONGS, PARAMS, PREFIX, SHOWN, has
from normviz.geometry.three_channels import RADIUS, backpropagate, forward
from normviz.ui.palette import THEMES

SCRIPT = "pages/geometry.py"
DRAGGED = {"x1 drag", "x2 drag", "x3 drag", "eps drag"}
FIGURES = {
    "vectors": {"space", *DRAGGED},
    "fisher": {"without", "with", "weights_block", "gain_block", "exact", "drawn"},
    "rate": {"lengths", "effective"},
    "slices": {"slice_without", "slice_with", "slice_line"},
}
EXTREMES = {
    "vectors": (
        {"x1": "2", "x2": "2", "x3": "2", "eps": "0"},
        {"x1": "2", "x2": "2", "x3": "2", "eps": "0", "gradient": "1"},
        {"x1": "-3", "x2": "-3", "x3": "-3", "gradient": "1"},
        {"x1": "3", "x2": "-3", "x3": "0.1", "eps": "10", "gradient": "1"},
        {"x1": "0.001", "x2": "0", "x3": "0", "eps": "10"},
    ),
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
}
WRONG = re.compile(r"\d[eE][-−+]?\d|\b(?:inf|nan|None)\b|-\d")


def open_page(**link):
    return open_lab(SCRIPT, **link)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("show", SHOWN)
def test_every_panel(show, theme):
    at = open_lab(SCRIPT, theme, show=show)
    assert set(plots(at)) == FIGURES[show]
    assert all(len(plot["alt"]) > 20 for plot in plots(at).values() if "alt" in plot)
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
    offered = {widget.key.removeprefix(PREFIX).partition(" ")[0] for widget in widgets}
    offered |= {key.removesuffix(" drag") for key in plots(at) if key.endswith(" drag")}
    assert offered == {param.name for param in PARAMS if has({"show": show}, param.name)}


def test_every_value_belongs_somewhere_and_every_panel_is_there():
    assert set(BELONGS) < {param.name for param in PARAMS}
    assert all(set(shown) <= set(SHOWN) for shown in BELONGS.values())
    assert set(PANELS) == set(SHOWN)
    assert len(set(SHOWN) - set(ADVANCED)) + 1 <= 4


def test_links_of_before_open_what_they_opened():
    shown = {"fisher": {"scheme": "layer"}, "slices": {"show": "slices"}, "rate": {"show": "rate"}, "vectors": {}}
    for panel, link in shown.items():
        assert set(plots(open_page(**link))) == FIGURES[panel]
    assert open_page(scheme="layer").query_params["show"] == "fisher"


def test_the_recurrent_panel_leads_to_the_experiment(monkeypatch):
    led = []
    monkeypatch.setattr("normviz.ui.frame.st.switch_page", lambda page, query_params: led.append((page, query_params)))
    open_page(show="recurrent")
    assert led == [("pages/experiments.py", {"show": "recurrent"})]


def test_advanced_opens_its_first_panel_and_the_second_row_the_other():
    at = open_page()
    row = at.segmented_control(key=f"{PREFIX}show row")
    assert row.options[-1] == "Advanced"
    at = sound(row.set_value("advanced").run())
    assert set(plots(at)) == FIGURES["fisher"]
    at = sound(at.segmented_control(key=f"{PREFIX}show advanced").set_value("slices").run())
    assert set(plots(at)) == FIGURES["slices"]
    assert at.query_params["show"] == "slices"
    at = sound(at.segmented_control(key=f"{PREFIX}show row").set_value("vectors").run())
    assert set(plots(at)) == FIGURES["vectors"]


# --- layer norm in space -------------------------------------------------------------------------------------------


def vectors_of(at):
    """The ends of the drawn vectors, by the name in the legend."""
    drawn = plots(at)["space"]["figure"]["data"]
    named = {trace["name"]: [trace[axis] for axis in "xyz"] for trace in drawn if "name" in trace}
    return {name: np.array([[float(end) for end in axis] for axis in ends]).T for name, ends in named.items()}


@pytest.mark.parametrize("eps", ["0", "1e-05", "1", "10"])
def test_the_picture_has_the_vectors_of_layer_norm(eps):
    x = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    drawn = vectors_of(open_page(x1="2", x2="-1", x3="0.5", eps=eps))
    xhat = torch.nn.functional.layer_norm(x, (3,), eps=float(eps)).numpy()
    for name, end in {"x": x.numpy(), "v = x − μ": (x - x.mean()).numpy(), "x̂ = v / √(σ² + ε)": xhat}.items():
        np.testing.assert_allclose(drawn[name], [np.zeros(3), end], atol=1e-9)


def test_the_sentence_says_whether_the_end_is_on_the_sphere():
    for eps, words in (
        ("0", "onto the sphere"),
        ("1e-05", "onto the sphere"),
        ("1", "inside the sphere, because of ε"),
    ):
        at = open_page(eps=eps)
        assert words in said(at)
        gap = RADIUS - np.linalg.norm(forward([3, 1, -1], float(eps)).xhat)
        assert ("onto" in words) == (gap < 1e-3)
    assert "x̂ = 0" in said(open_page(x1="2", x2="2", x3="2"))


def test_the_gradient_is_drawn_at_the_end_of_the_output():
    at = open_page(x1="2", x2="-1", x3="0.5", eps="0.1", gradient="1")
    drawn, one, back = vectors_of(at), forward([2, -1, 0.5], 0.1), backpropagate([2, -1, 0.5], 0.1)
    for name, part in {
        "gradient g = ∂l/∂x̂": back.incoming,
        "g without its mean": back.centred,
        "and without its part along x̂": back.projected,
    }.items():
        np.testing.assert_allclose(drawn[name], [one.xhat, one.xhat + part], atol=1e-9)
    assert "keeps some of its part along x̂" in said(at)
    assert "Only the part that turns x̂ is left" in said(open_page(gradient="1"))


# --- distance -----------------------------------------------------------------------------------------------------


def test_the_sentences_on_distance_are_those_of_the_claims():
    words = said(open_page(show="fisher"))
    assert "multiplies their Fisher information by ¼ with batch normalization, by 1 without" in words
    assert "unchanged with batch, weight and layer norm. Doubling the data leaves it unchanged with batch" in words
    assert "0 to rounding** of the largest" in words
    assert "x̂² is 1 on average, the squared prediction error is 1, and F of a unit's γ is 1." in words


def test_the_table_has_what_every_block_is_multiplied_by():
    table = open_page(show="fisher").table[0].value.set_index("Block")
    assert list(table.loc["w, W′ = 2W"]) == ["× 1", "× ¼", "× ¼", "× ¼"]
    assert list(table.loc["γ, x′ = 2x"]) == ["× 4", "× 1", "× 4", "× 1"]
    assert open_page(outputs="bernoulli").table[0].value["None"][0].startswith("≈ 0.")


def test_the_length_of_w_moves_the_step_with_normalization_only():
    said_of = re.compile(
        r"a step of length (\S+) changes .* the step has length (\S+)\. .* would be (\S+) and (\S+)\. They"
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
    assert re.search(r"SGD makes W [\d.]+% longer\. Its effective learning rate η/‖W‖² falls by [\d.]+%\.", words)
    assert "No weight vector of the 32 units ever got shorter" in words
    assert "SGD needs δ² times the learning rate, Adam δ times" in words


def test_a_twin_as_long_as_its_original_is_the_original():
    assert "With δ = 1 the twin equals the original" in said(open_page(show="rate", delta="1", steps="20"))


def test_weight_decay_is_a_link_with_the_settings_of_the_page():
    words = said(open_page(show="rate", rate="0.1", steps="100"))
    assert "(experiments?show=weight-decay&weight_decay_rate=0.1&weight_decay_steps=100)" in words


# --- loss slices --------------------------------------------------------------------------------------------------


def test_the_slices_say_what_does_not_hang_on_the_length():
    words = said(open_page(show="slices", times="3"))
    assert "the slice changes by 0 to rounding with batch normalization, 0 to rounding without" in words
    assert "3 times" not in texts(open_page(show="slices", times="3").caption)[0]
    assert "3 times that, W₁ 1/3 of it" in texts(open_page(show="slices", times="3", directions="fixed").caption)[0]


def test_another_distance_changes_the_wedge():
    first, second = (plots(open_page(show="fisher", distance=each)) for each in ("0.1", "0.3"))
    for name in ("without", "with"):
        assert str(first[name]["figure"]["data"]) != str(second[name]["figure"]["data"])


@pytest.mark.parametrize(("gain", "is_open"), [("0.25", True), ("1", False)])
def test_what_is_near_is_a_wedge_only_where_a_direction_is_far(gain, is_open):
    text = said(open_page(show="fisher", scheme="batch", gain=gain, distance="1"))
    assert ("reaches outwards from the origin" in text) != is_open
    assert ("all of the plane is filled" in text) == is_open
