"""The weights page as a user meets it, run by Streamlit without a browser."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import latex, open_lab, plots, replaced, said, sound, texts

from normviz.core.schemes import SCHEMES
from normviz.describe import notation
from normviz.ui.link import clean
from normviz.ui.palette import THEMES
from normviz.ui.player import TICK
from normviz.weights.descent import INPUTS, PARAMETRIZATIONS, STEPS, Setting, descend
from normviz.weights.panels import LEAST_ANGLE
from normviz.weights.state import BELONGS, ITERATIONS, PARAMS, PREFIX, SHOWN, has
from normviz.weights.things import DIRECTION, PLAIN, THINGS, V
from normviz.weights.weights import (
    FIRST_LAYERS,
    WEIGHT_SCHEMES,
    compared,
    matrix,
    power_iteration,
    trained_weights,
)

SCRIPT = "pages/weights.py"
CURVES = {"lengths", "turned", "gains", "losses"}
FIGURES = {
    "norm": {"plane"} | CURVES,
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
    assert f"from 0.5 to {run.lengths[20]:.4g}." in said(at)
    assert f"the first step turned it by {run.turned[0]:.2g}°, the next will by {run.turned[20]:.2g}°" in said(at)
    assert "the two sides differ by 0 to rounding" in said(at)
    g, kept, plain = f"{run.g[20]:.4g}".replace("-", "−"), runs["direction"], runs["plain"]
    assert f"g went from 1 to {g}, and the loss from {run.losses[0]:.3g} to {run.losses[20]:.3g}" in said(at)
    assert f"only v is learned, g stays 1, and the loss is {kept.losses[20]:.3g}; that of plain w" in said(at)
    assert f"plain w is {plain.losses[20]:.3g}." in said(at)
    assert set(plots(at)) == CURVES | {"plane" if inputs == "plane" else "pictures"}


def drawn(at, key):
    """The numbers of each curve, up to the step that is shown."""
    found = plots(at)[key]["figure"]["data"]
    return {each["name"]: np.asarray(each["y"]) for each in found if "name" in each and len(each["y"])}


def axes(at):
    layouts = {key: plot["figure"]["layout"] for key, plot in plots(at).items()}
    return {key: (layout["xaxis"]["range"], layout["yaxis"]["range"]) for key, layout in layouts.items()}


@pytest.mark.parametrize("step", [0, 7, STEPS])
def test_the_pictures_show_the_steps_so_far(step):
    at = open_page(step=str(step))
    runs = {key: descend(form, Setting()) for key, form in PARAMETRIZATIONS.items()}
    run, until = runs["weight"], slice(0, step + 1)
    np.testing.assert_allclose(np.asarray(trace(at, "plane", "v")["x"]), run.v[until, 0])
    np.testing.assert_allclose(drawn(at, "plane")["w = g v/‖v‖"], run.w[until, 1])
    np.testing.assert_allclose(drawn(at, "lengths")["v"], run.lengths[until])
    np.testing.assert_allclose(drawn(at, "gains")["length g"], run.g[until])
    np.testing.assert_allclose(drawn(at, "losses")["plain w"], runs["plain"].losses[until])
    assert {len(values) for values in drawn(at, "turned").values()} == ({step} if step else set())
    assert axes(at) == axes(open_page(step="100"))  # nothing jumps


@pytest.mark.parametrize("theme", THEMES)
def test_a_thing_looks_the_same_in_the_map_and_in_the_curves(theme):
    at = open_lab(SCRIPT, theme)
    looks = {}
    for plot in plots(at).values():
        for each in plot["figure"]["data"]:
            if "name" in each:
                looks.setdefault(each["name"], set()).add((each["line"]["color"], each["line"]["dash"]))
    assert looks.keys() == {thing.name for thing in THINGS}
    assert all(len(found) == 1 for found in looks.values())
    assert len(set.union(*looks.values())) == len(looks)


@pytest.mark.parametrize("batch", ["1", "128"])
@pytest.mark.parametrize("inputs", INPUTS)
def test_the_largest_learning_rate(inputs, batch):
    at = open_page(rate="1000", start="0.1", step=str(STEPS), batch=batch, inputs=inputs)
    for key in CURVES:
        layout = plots(at)[key]["figure"]["layout"]["yaxis"]
        values = np.concatenate(list(drawn(at, key).values()))
        shown = np.log10(values) if layout.get("type") == "log" else values
        assert np.all((layout["range"][0] < shown) & (shown < layout["range"][1]))
        assert layout["automargin"]
    small = any(drawn(at, "turned")[thing.name].min() == LEAST_ANGLE for thing in (V, DIRECTION, PLAIN))
    assert small == ("Below 0.001° it is drawn at that." in " ".join(texts(at.caption)))
    assert not re.search(r"\de[-−+]?\d|\b(inf|nan)\b", said(at))


def test_pictures_of_directions_keep_their_scale_and_their_sign():
    at = open_page(inputs="pixels", start="10", step=str(STEPS))
    run = descend(PARAMETRIZATIONS["weight"], Setting("pixels", start=10.0))
    assert run.g[-1] < 0
    picture = plots(at)["pictures"]["figure"]
    shown = np.asarray(picture["data"][0]["z"]).ravel()
    np.testing.assert_allclose(shown, run.w[-1] / np.linalg.norm(run.w[-1]), atol=1e-12)
    early = plots(open_page(inputs="pixels", start="10", step="0"))["pictures"]["figure"]["layout"]["coloraxis"]
    assert early == picture["layout"]["coloraxis"]


@pytest.mark.parametrize(
    ("step", "words"),
    [("0", "the first step will turn it by 50°."), (str(STEPS), "the first step turned it by 50°, the last one by")],
)
def test_the_ends_of_a_run_are_told_as_such(step, words):
    assert words in said(open_page(step=step))


def test_a_g_below_zero_is_told():
    at = open_page(seed="4", step=str(STEPS))
    assert descend(PARAMETRIZATIONS["weight"], Setting(seed=4)).g[-1] < 0
    assert "g went from 1 to −6." in said(at)


# --- spectral norm ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", FIRST_LAYERS)
def test_the_numbers_of_power_iteration(layer):
    at = open_page(show="spectral", layer=layer, trained="50", iteration="9", seed="2")
    run = power_iteration(matrix(trained_weights(FIRST_LAYERS[layer], 50, 2)), ITERATIONS, 2)
    assert f"**Step 9**: the largest singular value is estimated at σ = {run.sigma[9]:.4g}; it is" in said(at)
    assert f"it becomes **{run.values[0] / run.sigma[9]:.4f}**" in said(at)
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


@pytest.mark.parametrize("layer", FIRST_LAYERS)
@pytest.mark.parametrize("seed", ["5", "13"])
def test_the_steps_of_power_iteration_stay_in_axes_that_do_not_move(layer, seed):
    at = open_page(show="spectral", layer=layer, seed=seed, iteration="0")
    assert axes(at) == axes(open_page(show="spectral", layer=layer, seed=seed))
    bounds = axes(at)
    for key, logarithmic in (("divided", False), ("power", True)):
        values = np.concatenate(list(drawn(at, key).values()))
        shown = np.log10(values) if logarithmic else values
        low, high = bounds[key][1]
        assert shown.max() < high
        assert low < shown[np.isfinite(shown)].min() or logarithmic  # a law falls below what is drawn


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
    assert "that PyTorch makes" not in said(open_page(show="all"))
    shown = said(open_page(show="all", torch="1"))
    for scheme in WEIGHT_SCHEMES:
        if scheme.torch:
            gap = re.search(re.escape(scheme.torch.format(layer="layer")) + r"`: (0|(\d·)?10⁻¹.)", shown)
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
    for button, step in (("Back", 12), ("Rewind", 0), ("Step", 1)):
        at = press(at, button)
        assert (place(at, name), at.query_params[name]) == (step, str(step))
        if name == "step":
            run = descend(PARAMETRIZATIONS["weight"], Setting())
            assert f"from 1 to {run.lengths[step]:.4g}." in said(at)
            assert len(drawn(at, "lengths")["v"]) == step + 1
        else:
            assert f"**Step {step}**: the largest" in said(at)


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
    assert {"Learning rate: 1e9 is too large; 1000 is used.", "Step: 900 is too large; 200 is used."} <= set(
        replaced(at)
    )


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
        "norm": CURVES,
        "spectral": {"divided", "power", "ratios", "slopes"},
        "all": {"lengths", "means", "values"},
    }
    assert figures[value(at, "show")] <= plots(at).keys()


@pytest.mark.parametrize("link", [{}, {"rate": "1000", "batch": "1"}, {"rate": "0.01", "start": "0.1"}, {"rate": "10"}])
@pytest.mark.parametrize("step", [0, 30, STEPS])
def test_a_larger_turn_of_a_longer_v_has_a_reason(link, step):
    at = open_page(step=str(step), **link)
    run = descend(PARAMETRIZATIONS["weight"], Setting(**{k: type(getattr(Setting(), k))(v) for k, v in link.items()}))
    at_step = min(step, STEPS - 1)
    grown = run.turned[at_step] > run.turned[0]
    assert ("as ∂l/∂v is larger there" in said(at)) == grown
    assert not grown or np.linalg.norm(run.dv[at_step]) > np.linalg.norm(run.dv[0])
    assert "a gradient turns it**:" not in said(at)


def test_a_largest_ratio_below_1_is_not_said_to_be_above_it():
    text = said(open_page(show="spectral", layer="conv", trained="0", seed="1", relu="1"))
    assert "0 of 4,000 pairs of pictures have a ratio above 1, the largest is 0.97" in text
