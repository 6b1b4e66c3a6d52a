"""The weights page as a user meets it, run by Streamlit without a browser."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import latex, open_lab, plots, said, sound, texts

from normviz.core.schemes import SCHEMES
from normviz.describe import notation
from normviz.ui.link import clean
from normviz.ui.palette import THEMES
from normviz.ui.player import TICK
from normviz.weights.descent import INPUTS, PARAMETRIZATIONS, STEPS, Setting, descend
from normviz.weights.state import BELONGS, ITERATIONS, PARAMS, PREFIX, SHOWN, has
from normviz.weights.weights import (
    FIRST_LAYERS,
    WEIGHT_SCHEMES,
    compared,
    matrix,
    power_iteration,
    trained_weights,
)

SCRIPT = "pages/weights.py"
FIGURES = {
    "norm": {"plane", "descent"},
    "spectral": {"divided", "power", "ratios", "slopes"},
    "all": {"lengths", "means", "values"},
}
LAST = {"step": ("norm", STEPS), "iteration": ("spectral", ITERATIONS)}
EVERY_PLAYER = pytest.mark.parametrize("name", LAST)


def open_page(**link):
    return open_lab(SCRIPT, **link)


def press(at, name):
    return sound(next(button for button in at.button if button.label == name).click().run())


def place(at, name):
    """Where the steps are: in the session, and on their slider."""
    (slider,) = at.slider
    assert slider.value == value(at, name)
    return slider.value


def plays(at):
    return at.button[0].label == "Pause"


def value(at, name):
    return at.session_state[PREFIX + name]


def trace(at, key, name):
    return next(each for each in plots(at)[key]["figure"]["data"] if each.get("name") == name)


# --- it opens -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("layer", FIRST_LAYERS)
@pytest.mark.parametrize("show", SHOWN)
def test_every_view(show, layer, theme):
    at = open_lab(SCRIPT, theme, show=show, layer=layer)
    assert texts(at.markdown)[0].startswith("# What do weight normalizations do to a weight matrix?")
    assert set(plots(at)) == FIGURES[show]
    assert all(len(plot["alt"]) > 20 for plot in plots(at).values())
    assert next(iter(plots(at).values()))["figure"]["layout"]["font"]["color"] == THEMES[theme].ink
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)


@pytest.mark.parametrize("show", SHOWN)
def test_every_control_that_means_something_is_offered(show):
    at = open_page(show=show)
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.toggle]
    expected = {param.name for param in PARAMS if has({"show": show}, param.name)}
    sliders = [slider.label for slider in at.slider]
    assert sliders == {"norm": ["Step of SGD"], "spectral": ["Step of the power iteration"], "all": []}[show]
    offered = {widget.key.removeprefix(PREFIX) for widget in widgets if widget.label not in sliders}
    assert offered | {name for name in LAST if LAST[name][0] == show} == expected


def test_every_value_belongs_somewhere():
    names = {param.name for param in PARAMS}
    assert set(BELONGS) < names
    assert all(set(shown) <= set(SHOWN) for shown in BELONGS.values())


def test_the_formulas_are_those_of_the_schemes():
    everything = latex(open_page(show="all"))
    for scheme in WEIGHT_SCHEMES:
        for formula in notation.formulas(scheme):
            assert (formula.latex in everything) == (formula.name not in ("where", "centred"))
    assert [formula.latex for formula in notation.formulas(SCHEMES["spectral"])] == latex(open_page(show="spectral"))
    at = open_page()
    for name, line in notation.WEIGHT_NORM.items():
        assert (line in said(at)) if name == "growth" else (line in latex(at))


# --- weight norm --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inputs", INPUTS)
def test_the_numbers_of_weight_norm_are_those_of_the_run(inputs):
    at = open_page(inputs=inputs, step="20", rate="5", start="0.5", batch="32", seed="3")
    runs = {key: descend(form, Setting(inputs, 5.0, 32, 0.5, 3)) for key, form in PARAMETRIZATIONS.items()}
    run = runs["weight"]
    assert f"from 0.5 to {run.lengths[20]:.4g}:" in said(at)
    assert f"turned it by {run.turned[0]:.2g}°, this one by {run.turned[20]:.2g}°" in said(at)
    assert re.search(r"here to \de−1[4-6] in every step", said(at))
    g, kept = f"{run.g[20]:.4g}".replace("-", "−"), runs["direction"]
    assert f"g went from 1 to {g}, the loss to {run.losses[20]:.3g}" in said(at)
    assert f"With v alone, g stays 1, and the loss is {kept.losses[20]:.3g}" in said(at)
    assert set(plots(at)) == {"descent", "plane" if inputs == "plane" else "pictures"}
    np.testing.assert_allclose(np.asarray(trace(at, "descent", PARAMETRIZATIONS["weight"].name)["y"]), run.lengths)


def test_the_picture_shows_the_steps_so_far():
    at = open_page(step="7")
    run = descend(PARAMETRIZATIONS["weight"], Setting())
    np.testing.assert_allclose(np.asarray(trace(at, "plane", "v")["x"]), run.v[:8, 0])
    np.testing.assert_allclose(np.asarray(trace(at, "plane", "w = g v/‖v‖")["y"]), run.w[:8, 1])


def test_a_g_below_zero_is_told():
    at = open_page(seed="4", step=str(STEPS))
    assert descend(PARAMETRIZATIONS["weight"], Setting(seed=4)).g[-1] < 0
    assert "g went from 1 to −6." in said(at)


# --- spectral norm ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", FIRST_LAYERS)
def test_the_numbers_of_power_iteration(layer):
    at = open_page(show="spectral", layer=layer, trained="50", iteration="9", seed="2")
    run = power_iteration(matrix(trained_weights(FIRST_LAYERS[layer], 50, 2)), ITERATIONS, 2)
    assert f"Step 9: the estimate is {run.sigma[9]:.6g}" in said(at)
    assert f"it becomes **{run.values[0] / run.sigma[9]:.6g}**" in said(at)
    np.testing.assert_allclose(np.asarray(trace(at, "divided", "over the estimate")["y"]), run.values / run.sigma[9])
    assert len(np.asarray(trace(at, "power", "σ")["y"])) == 10


@pytest.mark.parametrize("relu", ["0", "1"])
@pytest.mark.parametrize("layer", FIRST_LAYERS)
def test_the_upper_bound_holds_for_dense_layers_and_nothing_bounds_from_below(layer, relu):
    at = open_page(show="spectral", layer=layer, relu=relu)
    assert ("No pair is stretched" in said(at)) == (layer != "conv")
    assert ("A convolution may still stretch" in said(at)) == (layer == "conv")
    assert ("0 of 4,000 pairs have a ratio above 1" in said(at)) == (layer != "conv")
    assert ("32 of the 64 singular directions of the input are mapped to nothing" in said(at)) == (layer == "dense")
    assert "The division bounds nothing from below" in said(at)
    low, high = map(float, re.search(r"lies between ([\d.]+) and ([\d.]+)\.", said(at)).groups())
    assert low < high < 1
    assert ("ReLU" in plots(at)["ratios"]["figure"]["layout"]["title"]["text"]) == (relu == "1")


# --- side by side -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", FIRST_LAYERS)
def test_all_schemes_side_by_side(layer):
    at = open_page(show="all", layer=layer)
    made = compared(trained_weights(FIRST_LAYERS[layer], 200, 5))
    table = at.table[0].value
    assert list(table[""]) == ["before", *(scheme.label for scheme in WEIGHT_SCHEMES)]
    assert list(table["Largest singular value"]) == [f"{row.values[0]:.4g}" for row in made.values()]
    assert table["Vector lengths"][1] == "1"
    for scheme in WEIGHT_SCHEMES:
        np.testing.assert_allclose(trace(at, "values", scheme.label)["y"], made[scheme.key].values, atol=1e-12)
        found = np.sort(np.asarray(trace(at, "lengths", scheme.label)["y"]))
        np.testing.assert_allclose(found, np.sort(made[scheme.key].lengths), rtol=1e-9)


def test_pytorch_is_asked_when_wanted():
    assert "PyTorch" not in said(open_page(show="all"))
    shown = said(open_page(show="all", torch="1"))
    for scheme in WEIGHT_SCHEMES:
        if scheme.torch:
            gap = re.search(re.escape(scheme.torch.format(layer="layer")) + r"`: (0|\de−1\d)", shown)
            assert gap, shown


# --- steps --------------------------------------------------------------------------------------------------------


@EVERY_PLAYER
def test_step_moves_by_one_and_stays_at_the_end(name):
    show, last = LAST[name]
    at = open_page(show=show, **{name: str(last - 1)})
    for _ in range(2):
        at = press(at, "Step")
        assert place(at, name) == last
    defaults, _ = clean(PARAMS, {})
    held = {"show": show, name: last}
    assert at.query_params == {key: str(given) for key, given in held.items() if given != defaults[key]}


@EVERY_PLAYER
def test_what_is_shown_is_the_step_of_the_slider(name):
    show, _ = LAST[name]
    at = sound(open_page(show=show).slider[0].set_value(13).run())
    for button, step in (("Back", 12), ("Reset", 0), ("Step", 1)):
        at = press(at, button)
        assert (place(at, name), at.query_params[name]) == (step, str(step))
        if name == "step":
            run = descend(PARAMETRIZATIONS["weight"], Setting())
            assert f"from 1 to {run.lengths[step]:.4g}:" in said(at)
            shapes = plots(at)["descent"]["figure"]["layout"]["shapes"]
            assert {shape[end] for shape in shapes for end in ("x0", "x1")} == {step}
        else:
            assert f"Step {step}: the estimate" in said(at)


@EVERY_PLAYER
def test_play_starts_anew_from_the_end_and_pause_keeps_the_place(name):
    show, last = LAST[name]
    at = open_page(show=show, **{name: str(last)})
    assert not plays(at)
    at = press(at, "Play")
    assert (place(at, name), plays(at)) == (0, True)
    at.session_state[PREFIX + name] = 9
    for label in ("Pause", "Play"):
        at = press(at, label)
        assert (place(at, name), plays(at)) == (9, label == "Play")


@EVERY_PLAYER
def test_each_player_has_a_speed_at_which_it_takes_some_ten_seconds(name):
    show, last = LAST[name]
    pace = {"step": "pace", "iteration": "iteration_pace"}[name]
    assert 5 <= last / value(open_page(show=show), pace) * TICK <= 15
    at = open_page(show=show, **{pace: "10"})
    assert (at.segmented_control(key=PREFIX + pace).value, at.query_params[pace]) == (10, "10")


def test_a_control_keeps_the_step_and_leaving_stops_the_play():
    at = press(open_page(step="12"), "Play")
    at = sound(at.number_input(key=PREFIX + "seed").set_value(8).run())
    at.session_state[PREFIX + "inputs"] = "pixels"
    at = sound(at.run())
    assert (place(at, "step"), plays(at)) == (12, True)
    at = sound(at.segmented_control(key=PREFIX + "show").set_value("all").run())
    at = sound(at.segmented_control(key=PREFIX + "show").set_value("norm").run())
    assert (place(at, "step"), plays(at)) == (12, False)


def test_a_page_that_is_come_back_to_does_not_play():
    at = press(open_page(step="12"), "Play")
    assert plays(at)
    at.session_state["page"] = "another"
    at = sound(at.run())
    assert (place(at, "step"), plays(at)) == (12, False)


# --- the link -----------------------------------------------------------------------------------------------------


def test_the_link_holds_what_matters_and_differs():
    at = open_page(show="spectral", layer="conv", iteration="3", rate="9")
    assert at.query_params == {"show": "spectral", "layer": "conv", "iteration": "3"}
    assert value(at, "rate") == 9.0


def test_a_bad_link_is_mended_with_a_note():
    at = open_page(show="norm", rate="1e9", step="900", inputs="pixel")
    for part in ("rate = 1e9 became 1000", "step = 900 became 200", "inputs = pixel became pixels"):
        assert part in at.info[0].value


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in PARAMS]),
        st.sampled_from(["", "nan", "inf", "-1", "0", "1", "x", "all", "spectral", "conv", "pixels", "1e-3"]),
        max_size=4,
    )
)
def test_whatever_the_link_the_page_shows_what_is_chosen(link):
    at = open_page(**link)
    assert not at.error
    figures = {
        "norm": {"descent"},
        "spectral": {"divided", "power", "ratios", "slopes"},
        "all": {"lengths", "means", "values"},
    }
    assert figures[value(at, "show")] <= plots(at).keys()
