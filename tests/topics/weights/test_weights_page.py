"""The weights page as a user meets it, run by Streamlit without a browser."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import latex, open_lab, plots, replaced, said, sound

from normviz.charts.palette import THEMES
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.describe import notation
from normviz.topics.weights import panels
from normviz.topics.weights.descent import PARAMETRIZATIONS, STEPS, Setting, run_sgd
from normviz.topics.weights.state import BELONGS, ITERATION_COUNT, PARAMS, PREFIX, RUN_NAMES, SHOWN, is_relevant
from normviz.topics.weights.weights import (
    FIRST_LAYERS,
    PAIR_COUNT,
    build_operator_matrix,
    compute_lipschitz_ratios,
    flatten_to_matrix,
    run_power_iteration,
    sample_digit_pairs,
    train_first_layer,
)

SCRIPT = "pages/weights.py"
FIGURES = {"norm": {"plane", "loss", "length"}, "spectral": {"ellipses", "ratios"}}
"""The figures of each panel; the length of weight norm from the first step on."""
LAST = {"step": ("norm", STEPS), "iteration": ("spectral", ITERATION_COUNT)}
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


def shown_figures(at):
    """The figures that the state calls for."""
    show = value(at, "show")
    return {"plane", "loss"} if show == "norm" and value(at, "step") == 0 else FIGURES[show]


# --- it opens -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("layer", FIRST_LAYERS)
@pytest.mark.parametrize("show", SHOWN)
def test_every_view(show, layer, theme):
    at = open_lab(SCRIPT, theme, show=show, layer=layer, step="1")
    assert set(plots(at)) == FIGURES[show]
    assert all(len(plot["alt"]) > 20 for plot in plots(at).values())
    assert next(iter(plots(at).values()))["figure"]["layout"]["font"]["color"] == THEMES[theme].ink
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)


@pytest.mark.parametrize("show", SHOWN)
def test_every_control_that_means_something_is_offered(show):
    at = open_page(show=show)
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.selectbox, *at.toggle]
    view = {"show": show, "length": 4.0, "start": 1.0}
    expected = {param.name for param in PARAMS if is_relevant(view, param.name)}
    sliders = [slider.label for slider in at.slider]
    assert sliders == {"norm": ["Training step"], "spectral": ["Step of the power iteration"]}[show]
    offered = {widget.key.removeprefix(PREFIX) for widget in widgets if widget.label not in sliders}
    assert offered | {name for name in LAST if LAST[name][0] == show} == expected


def test_every_value_belongs_somewhere():
    names = {param.name for param in PARAMS}
    assert set(BELONGS) < names
    assert all(set(shown) <= set(SHOWN) for shown in BELONGS.values())


def test_the_formulas_are_those_of_the_schemes():
    assert [formula.latex for formula in notation.build_formulas(SCHEMES["spectral"])] == latex(
        open_page(show="spectral")
    )
    at = open_page(step="1")
    for name, line in notation.WEIGHT_NORM_FORMULAS.items():
        assert (line in said(at)) if name == "growth" else (line in latex(at))


# --- weight norm --------------------------------------------------------------------------------------------------


def runs_of(setting=None):
    return {key: run_sgd(PARAMETRIZATIONS[key], setting or Setting()) for key in RUN_NAMES}


def test_the_numbers_of_weight_norm_are_those_of_the_run():
    at = open_page(step="20", rate="5", length="2", start="0.5", batch="32", seed="3")
    runs = runs_of(Setting(5.0, 32, 2.0, 0.5, 3))
    run, shown = runs["weight"], said(at).replace("−", "-")
    weight, plain = (f"{runs[key].losses[20]:.2f}" for key in ("weight", "plain"))
    assert f"Step 20: the loss is {weight} with weight norm, {plain} without." in shown
    assert "A short v acts as a 16 times larger learning rate for the direction of w.**" in shown
    assert "v is 4 times shorter than w" in shown
    assert "so 4 × 4 = 16." in shown
    assert f"v only gets longer: ‖v‖ from 0.5 to {run.lengths[20]:.3g}" in shown
    assert f"the first step turned v by {run.turn_angles[0]:.2g}°, the last one by {run.turn_angles[-1]:.2g}°" in shown
    assert "in this run equal up to rounding" in shown


@pytest.mark.parametrize(
    ("setting", "signs", "words"),
    [
        (Setting(), (-1, -1), "Yes, here: the same loss takes 15 steps with weight norm, 200 without."),
        (Setting(rate=1.0), (-1, 0), "Here it is faster at first. After 200 steps both losses are about equal."),
        (
            Setting(start=2.0, length=2.0),
            (0, -1),
            "Yes, here: the same loss takes 173 steps with weight norm, 200 without.",
        ),
        (Setting(length=1.0, rate=3.0), (0, 0), "Here it is as fast at first. After 200 steps both losses are"),
        (Setting(start=4.0), (0, 1), "No, here: the same loss takes 200 steps with weight norm, 157 without."),
        (Setting(start=4.0, rate=1.0), (1, 0), "Here it is slower at first. After 200 steps both losses are"),
        (Setting(start=10.0), (1, 1), "No, here: the same loss takes 200 steps with weight norm, 42 without."),
        (Setting(rate=100.0), (1, -1), "Here the loss ends at 0.10 with weight norm, at 0.17 without."),
    ],
)
def test_the_headline_is_the_answer_of_the_setting(setting, signs, words):
    link = {"rate": setting.rate, "start": setting.start, "length": setting.length}
    weight, plain = (runs_of(setting)[key].losses for key in ("weight", "plain"))
    ratios = weight[1:21].mean() / plain[1:21].mean(), weight[-1] / plain[-1]
    assert signs == tuple(int(ratio > 1 / 0.95) - int(ratio < 0.95) for ratio in ratios)
    at = open_page(**link, step=str(STEPS))
    assert f"### {words}" in said(at)
    assert f"### {words}" not in said(open_page(**link, step=str(STEPS - 1)))
    arrows = [each for each in plots(at)["loss"]["figure"]["layout"].get("annotations", ()) if each["showarrow"]]
    assert len(arrows) == ("the same loss" in words)
    for arrow in arrows:
        better, other = (weight, plain) if signs[1] < 0 else (plain, weight)
        ends = arrow["x"], arrow["ax"]
        assert [int(number) for number in re.findall(r"\d+", words)] == list(ends if signs[1] < 0 else ends[::-1])
        assert arrow["y"] == arrow["ay"] == other[-1]
        for losses, end in zip((better, other), ends, strict=True):
            assert losses[:end].min() > other[-1] >= losses[end]


def test_a_run_that_ends_no_lower_than_it_began_has_no_equal_loss():
    plain = run_sgd(PARAMETRIZATIONS["plain"], Setting())
    runs = {"weight": plain, "plain": plain._replace(losses=plain.losses[::-1])}
    assert panels._format_headline(runs, STEPS) == "Here the loss ends at 0.23 with weight norm, at 0.84 without."


@pytest.mark.parametrize(
    ("link", "name"),
    [
        ({}, "without weight norm, at 16 times the learning rate"),
        ({"start": "10"}, "without weight norm, at 0.16 times"),
    ],
)
def test_the_run_at_another_learning_rate_is_shown_on_demand(link, name):
    at = open_page(**link)
    assert list(drawn(at, "loss")) == [*RUN_NAMES.values()]
    assert "Is it the step size?" not in said(at)
    at = sound(at.toggle(key=PREFIX + "scaled").set_value(True).run())
    assert at.query_params == link | {"scaled": "1"}
    factor = 16.0 if not link else 0.16
    scaled = run_sgd(PARAMETRIZATIONS["plain"], Setting(rate=factor * Setting().rate)).losses
    *_, (found, values) = drawn(at, "loss").items()
    assert found.startswith(name)
    np.testing.assert_allclose(values, scaled)
    assert f"at **{scaled[-1]:.2f}** {name}" in said(at)
    assert ("larger steps alone explain" in said(at)) == (not link)


def test_equal_lengths_have_no_other_learning_rate():
    at = open_page(start="4", scaled="1")
    assert list(drawn(at, "loss")) == [*RUN_NAMES.values()]
    run = runs_of(Setting(start=4.0))["weight"]
    factor = (run.g[-1] / run.lengths[-1]) ** 2
    assert run.g[-1] < run.g[0]
    assert "**Why? v is as long as w, so at first w turns as without weight norm.** Then v gets longer" in said(at)
    assert f"w gets shorter: after 200 steps w turns as with {factor:.2g} times the learning rate." in said(at)
    assert not at.toggle


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({}, "**Why? A short v acts as a 16 times larger"),
        ({"start": "8", "length": "2"}, "**Why? A long v acts as a 16 times smaller"),
        ({"start": "0.3", "length": "8"}, "A short v acts as a 711 times larger"),
        ({"rate": "300"}, "**A short v acts"),
    ],
)
def test_the_length_of_v_is_a_reason_where_the_answer_agrees(link, words):
    at = open_page(**link)
    assert words in said(at)


@pytest.mark.parametrize("start", ["1", "4", "8"])
def test_the_map_shows_w_at_both_ends_and_the_first_v(start):
    at = open_page(start=start)
    layout, runs = plots(at)["plane"]["figure"]["layout"], runs_of(Setting(start=float(start)))
    arrows = [(each["x"], each["y"]) for each in layout["annotations"] if each["showarrow"]]
    np.testing.assert_allclose(arrows, [*(runs[key].w[-1] for key in RUN_NAMES), runs["plain"].w[0]])
    (band,) = layout["shapes"]
    np.testing.assert_allclose([band["x1"], band["y1"]], runs["weight"].v[0])


@pytest.mark.parametrize("link", [{}, {"start": "8", "length": "2"}])
def test_no_curve_crosses_the_name_of_the_arrow(link):
    layout = plots(open_page(**link))["loss"]["figure"]["layout"]
    name, arrow = (next(each for each in layout["annotations"] if each["showarrow"] == shown) for shown in (0, 1))
    curves = [run.losses for run in runs_of(Setting(**{k: float(v) for k, v in link.items()})).values()]
    gaps = [curve[name["x"]] - arrow["y"] for curve in curves]
    assert (name["yanchor"] == "bottom") == (max(gaps) > -min(gaps))


def test_before_the_first_step_the_answer_is_hidden():
    at = open_page(step="0")
    loss = runs_of()["plain"].losses[0]
    assert set(plots(at)) == {"plane", "loss"}
    assert f"Before the first step the loss of all runs is {loss:.2f}." in said(at)
    assert legends(at) == [True]


def legends(at):
    """Whether each legend of the page explains both runs."""
    shown = [each.proto.body for each in at.get("html") if "nv-legend" in each.proto.body]
    return ["trains w." in each and "trains v and g" in each for each in shown]


def drawn(at, key):
    """The numbers of each curve, up to the step."""
    found = plots(at)[key]["figure"]["data"]
    return {each["name"]: np.asarray(each["y"]) for each in found if "name" in each and len(each["y"])}


def axes(at):
    layouts = {key: plot["figure"]["layout"] for key, plot in plots(at).items()}
    return {key: (layout["xaxis"]["range"], layout["yaxis"]["range"]) for key, layout in layouts.items()}


@pytest.mark.parametrize("step", [1, 7, STEPS])
def test_the_pictures_show_the_steps_so_far(step):
    at = open_page(step=str(step))
    runs, until = runs_of(), slice(0, step + 1)
    run = runs["weight"]
    for key, name in RUN_NAMES.items():
        np.testing.assert_allclose(drawn(at, "plane")[name], runs[key].w[until, 1])
        np.testing.assert_allclose(drawn(at, "loss")[name], runs[key].losses[until])
    np.testing.assert_allclose(drawn(at, "length")["‖v‖"], run.lengths[until])
    np.testing.assert_allclose(drawn(at, "length")["g"], run.g[until])
    assert axes(at) == axes(open_page(step="100"))  # nothing jumps


@pytest.mark.parametrize("batch", ["1", "128"])
def test_the_largest_learning_rate(batch):
    at = open_page(rate="1000", start="0.1", step=str(STEPS), batch=batch)
    layout = plots(at)["length"]["figure"]["layout"]["yaxis"]
    values = np.concatenate(list(drawn(at, "length").values()))
    shown = np.log10(values) if layout.get("type") == "log" else values
    assert np.all((layout["range"][0] < shown) & (shown < layout["range"][1]))
    assert not re.search(r"\de[-−+]?\d|\b(inf|nan)\b", said(at))


def test_a_g_below_zero_is_drawn_as_such():
    at = open_page(seed="4", step=str(STEPS), rate="3", start="4")
    assert drawn(at, "length")["g"][-1] == pytest.approx(runs_of(Setting(rate=3.0, start=4.0, seed=4))["weight"].g[-1])
    assert drawn(at, "length")["g"][-1] < 0


@pytest.mark.parametrize("link", [{}, {"rate": "1000", "batch": "1"}, {"rate": "0.01", "start": "0.1"}, {"rate": "10"}])
def test_a_larger_turn_of_a_longer_v_has_a_reason(link):
    run = runs_of(Setting(**{k: type(getattr(Setting(), k))(v) for k, v in link.items()}))["weight"]
    grown = run.turn_angles[-1] > run.turn_angles[0]
    assert ("although the gradient of v is larger there" in said(open_page(**link, step="1"))) == grown
    assert not grown or np.linalg.norm(run.dv[-1]) > np.linalg.norm(run.dv[0])


# --- spectral norm ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layer", FIRST_LAYERS)
def test_the_numbers_of_power_iteration(layer):
    at = open_page(show="spectral", layer=layer, trained="50", iteration="9", seed="2")
    run = run_power_iteration(flatten_to_matrix(train_first_layer(FIRST_LAYERS[layer], 50, 2)), ITERATION_COUNT, 2)
    before, after = run.values[0], run.values[0] / run.sigma[9]
    assert f"up to {before:.3g} times as long as inputs; divided by σ, up to {after:.3g} times." in said(at)
    ends = {each["name"]: np.max(each["x"]) for each in plots(at)["ellipses"]["figure"]["data"]}
    assert list(ends.values()) == pytest.approx([before, after, 1])


@pytest.mark.parametrize("layer", FIRST_LAYERS)
def test_the_upper_bound_holds_for_dense_layers_and_nothing_bounds_from_below(layer):
    at = open_page(show="spectral", layer=layer)
    assert ("No pair gets further apart" in said(at)) == (layer != "conv")
    assert ("A convolution may still stretch" in said(at)) == (layer == "conv")
    assert ("32 of the 64 directions of the input are mapped to 0" in said(at)) == (layer == "dense")
    assert "Nothing is bounded from below" in said(at)


@pytest.mark.parametrize("layer", FIRST_LAYERS)
def test_the_histograms_are_of_pairs_before_and_after_spectral_norm(layer):
    w, first = train_first_layer(FIRST_LAYERS[layer], 200, 6), FIRST_LAYERS[layer]
    pairs = sample_digit_pairs(PAIR_COUNT, 6)
    after = normalize(w, SCHEMES["spectral"]).xhat
    most = [compute_lipschitz_ratios(build_operator_matrix(each, first), *pairs).max() for each in (w, after)]
    told = plots(open_page(show="spectral", layer=layer))["ratios"]["alt"]
    assert f"up to {most[0]:.3g}, then {most[1]:.3g}." in told


def test_a_largest_ratio_below_1_is_not_said_to_be_above_it():
    text = said(open_page(show="spectral", layer="conv", trained="0", seed="1"))
    count, largest = re.search(
        r"([\d,]+) of 2,000 pairs have a ratio above 1, the largest is ([\d.]+)\.", text
    ).groups()
    assert (count == "0") == (float(largest) < 1)


@pytest.mark.parametrize("layer", FIRST_LAYERS)
@pytest.mark.parametrize("seed", ["5", "13"])
def test_the_steps_of_power_iteration_stay_in_axes_that_do_not_move(layer, seed):
    at = open_page(show="spectral", layer=layer, seed=seed, iteration="0")
    assert axes(at) == axes(open_page(show="spectral", layer=layer, seed=seed))
    figure = plots(at)["ellipses"]["figure"]
    widest = max(np.max(each["x"]) for each in figure["data"])
    assert widest < figure["layout"]["xaxis"]["range"][1]


# --- steps --------------------------------------------------------------------------------------------------------


@EVERY_PLAYER
def test_what_is_shown_is_the_step_of_the_slider(name):
    show, _ = LAST[name]
    at = sound(open_page(show=show).slider[0].set_value(12).run())
    assert (place(at, name), at.query_params.get(name)) == (12, "12")
    assert "Step" not in {button.label for button in at.button}  # the slider is enough
    if name == "step":
        assert f"‖v‖ from 1 to {runs_of()['weight'].lengths[12]:.3g}" in said(at)
        assert len(drawn(at, "length")["g"]) == 13
    else:
        assert "estimate of σ₁ after step 12 of" in " ".join(caption.value for caption in at.caption)


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


def test_a_control_keeps_the_step_and_leaving_stops_the_play():
    at = press(open_page(step="12"), "Play")
    at = sound(at.number_input(key=PREFIX + "seed").set_value(8).run())
    assert (place(at, "step"), plays(at)) == (12, True)
    at = sound(at.segmented_control(key=PREFIX + "show").set_value("spectral").run())
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
    at = open_page(show="norm", rate="1e9", step="900")
    assert {"Learning rate: 1e9 is too large; 1000 is used.", "Step: 900 is too large; 200 is used."} <= set(
        replaced(at)
    )


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in PARAMS]),
        st.sampled_from(["", "nan", "inf", "-1", "0", "1", "x", "all", "spectral", "conv", "1e-3"]),
        max_size=4,
    )
)
def test_whatever_the_link_the_page_shows_what_is_chosen(link):
    at = open_page(**link)
    assert not at.error
    assert plots(at).keys() == shown_figures(at)


@pytest.mark.parametrize(
    ("link", "show"),
    [
        ({"inputs": "pixels", "step": "30", "pace": "2"}, "norm"),
        ({"show": "spectral", "relu": "1", "iteration": "3"}, "spectral"),
        ({"show": "all", "layer": "conv"}, "spectral"),
    ],
)
def test_a_link_with_a_setting_of_before_opens_its_panel(link, show):
    at = open_page(**link)
    assert plots(at).keys() == shown_figures(at)
    assert value(at, "show") == show
    assert value(at, "layer") == link.get("layer", "dense")
