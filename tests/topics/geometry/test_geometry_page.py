"""The page "Step size" as a user meets it, run by Streamlit without a browser."""

import re

import numpy as np
import pytest
import torch
from lab_page import open_lab, plots, replaced, said, sound, texts

from normviz.charts.palette import THEMES
from normviz.topics.geometry.panels import PANELS
from normviz.topics.geometry.panels.vectors import format_stage_headline
from normviz.topics.geometry.state import BELONGS, PARAMS, PREFIX, SHOWN, is_relevant
from normviz.topics.geometry.three_channels import (
    CIRCLE_RADIUS,
    LEARNING_RATE,
    STAGES,
    ThreeChannelExample,
    normalize_example,
    take_step,
)

SCRIPT = "pages/geometry.py"
DRAGGED = {"x1 drag", "x2 drag", "x3 drag", "eps drag"}
FIGURES = {
    "vectors": {"space", *DRAGGED},
    "rate": {"lengths", "effective"},
}
EXTREMES = {
    "vectors": (
        {"x1": "2", "x2": "2", "x3": "2", "stage": "normalize"},
        {"x1": "2", "x2": "2", "x3": "2", "eps": "0", "stage": "normalize"},
        {"x1": "2", "x2": "2", "x3": "2", "eps": "0", "stage": "gradient"},
        {"x1": "2", "x2": "2", "x3": "2", "eps": "0", "stage": "step"},
        {"x1": "3", "x2": "-3", "x3": "0.1", "eps": "10", "stage": "gradient"},
        {"x1": "-3", "x2": "-3", "x3": "-3", "stage": "step"},
        {"x1": "3", "x2": "-3", "x3": "0.1", "eps": "10", "stage": "step"},
        {"x1": "0.001", "x2": "0", "x3": "0", "eps": "10", "stage": "normalize"},
        {"x1": "0", "x2": "1.5", "x3": "-0.75", "eps": "0", "stage": "step"},
    ),
    "rate": (
        {"rate": "1", "steps": "400", "delta": "0.1"},
        {"rate": "0.01", "steps": "20", "delta": "1"},
        {"rate": "0.01", "delta": "10"},
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
    view = {"show": show}
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.toggle, *at.selectbox]
    offered = {widget.key.removeprefix(PREFIX).partition(" ")[0] for widget in widgets}
    offered |= {key.removesuffix(" drag") for key in plots(at) if key.endswith(" drag")}
    assert offered == {param.name for param in PARAMS if is_relevant(view, param.name)}


def test_every_value_belongs_somewhere_and_every_panel_is_there():
    assert set(BELONGS) < {param.name for param in PARAMS}
    assert all(set(shown) <= set(SHOWN) for shown in BELONGS.values())
    assert set(PANELS) == set(SHOWN)


@pytest.mark.parametrize(
    ("link", "panel", "stage"),
    [({"scheme": "layer"}, "rate", None), ({"show": "fisher", "length": "1"}, "rate", None),
     ({"show": "rate"}, "rate", None),
     ({"show": "slices", "times": "3", "beside": "layer"}, "rate", None), ({}, "vectors", "normalize"),
     *(({"stage": stage}, "vectors", "normalize") for stage in ("example", "centre", "divide")),
     ({"gradient": "1", "x1": "2"}, "vectors", "step"), ({"stage": "step"}, "vectors", "step")],
)  # fmt: skip
def test_links_of_before_open_what_is_nearest(link, panel, stage):
    at = open_page(**link)
    assert set(plots(at)) == FIGURES[panel]
    assert stage is None or at.session_state[PREFIX + "stage"] == stage
    assert replaced(at) == []


def test_the_recurrent_panel_leads_to_the_experiment(monkeypatch):
    led = []
    monkeypatch.setattr("normviz.ui.frame.st.switch_page", lambda page, query_params: led.append((page, query_params)))
    open_page(show="recurrent")
    assert led == [("pages/experiments.py", {"show": "recurrent"})]


# --- layer norm in space -------------------------------------------------------------------------------------------


def ends_of(at):
    """The drawn vectors, from start to end, by the first word of their label."""
    drawn = plots(at)["space"]["figure"]["data"]
    return {
        trace["name"].partition(" =")[0]: [float(trace[axis][-1] - trace[axis][0]) for axis in "xyz"]
        for trace in drawn
        if "name" in trace
    }


@pytest.mark.parametrize("eps", ["0", "1e-05", "1", "10"])
def test_the_picture_has_the_vectors_of_layer_norm(eps):
    x = torch.tensor([2.0, -1.0, 0.5], dtype=torch.float64)
    drawn = ends_of(open_page(x1="2", x2="-1", x3="0.5", eps=eps))
    xhat = torch.nn.functional.layer_norm(x, (3,), eps=float(eps)).numpy()
    assert set(drawn) == {"x", "v", "x̂"}
    for name, end in {"x": x.numpy(), "v": (x - x.mean()).numpy(), "x̂": xhat}.items():
        np.testing.assert_allclose(drawn[name], end, atol=1e-9)


@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.parametrize("x", [(3, 1, -1), (2, 2, 2), (0, 1.5, -0.75)])
@pytest.mark.parametrize("eps", [0.0, 10.0])
def test_each_stage_has_a_headline_of_at_most_12_words(stage, x, eps):
    assert len(format_stage_headline(ThreeChannelExample(*map(float, x), eps, stage)).split()) <= 12


def test_the_button_shows_one_stage_after_the_other_and_then_the_first():
    at = open_page()
    for label, stage in (*(("Next stage", stage) for stage in list(STAGES)[1:]), ("Start again", "normalize")):
        (button,) = (each for each in at.button if each.label in ("Next stage", "Start again"))
        assert button.label == label
        at = sound(button.click().run())
        assert at.session_state[PREFIX + "stage"] == stage
        names = {name.partition(" ")[0] for name in ends_of(at)}
        assert ("x̂" in names) == (stage != "step")


def test_the_sentence_says_whether_the_end_is_on_the_circle():
    for eps, words in (
        ("0", "ends on the **circle**"),
        ("1e-05", "ends on the **circle**"),
        ("1", "ε keeps x̂ inside the circle"),
    ):
        assert words in said(open_page(eps=eps, stage="divide"))
        gap = CIRCLE_RADIUS - np.linalg.norm(normalize_example([3, 1, -1], float(eps)).xhat)
        assert ("ends" in words) == (gap < 1e-3)
    assert "v is 0, and so is x̂" in said(open_page(x1="2", x2="2", x3="2"))


def test_the_step_is_drawn_from_both_lengths_and_its_angles_are_told():
    at = open_page(x1="3", x2="1", x3="-1", eps="0", stage="step")
    drawn = ends_of(at)
    for label, times in (("long: v", 1.0), ("short: ½ v", 0.5)):
        step = take_step(times * np.array([3.0, 1.0, -1.0]), 0.0)
        np.testing.assert_allclose(drawn[label], step.before.v, atol=1e-9)
        np.testing.assert_allclose(drawn[f"step: {step.angle:.0f}°"], step.change, atol=1e-9)
    assert "A step turns the short vector 3.3 times as far." in said(at)
    assert "so the step is longer." in said(at)
    assert f"learning rate {LEARNING_RATE}" in said(at)
    along = open_page(x1="0", x2="1.5", x3="-0.75", eps="0", stage="step")
    assert "a gradient step does not turn the vector" in said(along)
    assert "so the step is longer." not in said(along)


@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.3, 10.0])
def test_the_shorter_vector_has_the_longer_step(eps):
    rng = np.random.default_rng(0)
    for x in rng.uniform(-4, 4, (40, 3)):
        long, short = (np.linalg.norm(take_step(times * x, eps).change) for times in (1.0, 0.5))
        assert short > long


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
