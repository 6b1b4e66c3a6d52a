"""The training and inference page as a user meets it, run by Streamlit without a browser."""

import re
from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
import torch
from checked import checked
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import open_lab, plots, replaced, said, sound, texts, traces
from PIL import Image

from normviz.charts.palette import THEMES
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.describe.wording import format_decimals
from normviz.topics.running import effects as running_effects
from normviz.topics.running import stream as running
from normviz.topics.running.averages import CONVENTIONS, compute_running_averages
from normviz.topics.running.figures import draw_strips
from normviz.topics.running.modes import MODES
from normviz.topics.running.state import PANELS, PARAMS, PREFIX, is_relevant
from normviz.topics.running.stream import Setting
from normviz.topics.running.stream_figures import (
    ANSWER_UID,
    BatchOutputs,
    TrackedStatistic,
    draw_batch,
    draw_stream,
    format_output,
)

SCRIPT = "pages/running.py"
VIEWS = [{"panel": panel} for panel in PANELS if panel != "switch"]


def open_page(**link):
    return open_lab(SCRIPT, **link)


def view_of(at):
    return {param.name: at.session_state[param.key] for param in PARAMS}


def layout_of(at):
    return plots(at)["stream"]["figure"]["layout"]


def press(at, name):
    return sound(next(button for button in at.button if button.label == name).click().run())


def step_of(at):
    """Where the stream is: in the session, and on its slider."""
    slider = next(slider for slider in at.slider if slider.label == "Training batches seen")
    assert slider.value == at.session_state[PREFIX + "step"]
    return slider.value


def pairs(at):
    """Mean and variance as they stand beside the digits, by whose they are."""
    (shown,) = (each.proto.body for each in at.get("html") if "nv-pairs" in each.proto.body)
    found = re.findall(r"</em>. ([^<]*)</b><span>mean ([^,]*), variance ([^<]*)</span>", shown)
    return {name: (mean, variance) for name, mean, variance in found}


def used(at):
    """Whose pair is marked."""
    (shown,) = (each.proto.body for each in at.get("html") if "nv-pairs" in each.proto.body)
    return re.findall(r'class="used"[^>]*><b><em>in use</em>[●◆] ([^<]*)', shown)


def plays(at):
    return at.button[0].label == "Pause"


def test_the_stream_shows_the_core_up_to_the_position():
    at = open_page(layer="conv", batch="8", drift="2", unit="3", step="50", seed="4")
    setting = Setting("conv", 8, 2.0, 4)
    seen = running.trace_stream(setting)
    averages = compute_running_averages(seen.mean, seen.variance, setting.element_count, CONVENTIONS["pytorch"], 0.1)
    shown = traces(at, "stream")
    for row, (batch, kept, whole) in enumerate(
        ((seen.mean, averages.mean, seen.population_mean), (seen.variance, averages.variance, seen.population_variance))
    ):
        dots, population, line, now = (np.asarray(trace["y"]) for trace in shown[4 * row : 4 * row + 4])
        np.testing.assert_array_equal(dots, batch[:50, 2])
        np.testing.assert_array_equal(population, whole[:, 2])
        np.testing.assert_array_equal(line, kept[:51, 2])
        assert now == [kept[50, 2]]
    assert pairs(at) == {
        "This batch of 8": (format_decimals(seen.mean[49, 2]), format_decimals(seen.variance[49, 2])),
        "Running averages": (format_decimals(averages.mean[50, 2]), format_decimals(averages.variance[50, 2])),
    }


@pytest.mark.parametrize(("statistic", "symbol"), [("mean", r"\mu"), ("variance", r"\sigma^2")])
def test_one_statistic_is_shown_over_the_first_batches(statistic, symbol):
    at = open_page(statistic=statistic, window="5", step="1")
    (axis,) = {tuple(axis["range"]) for key, axis in layout_of(at).items() if key.startswith("xaxis")}
    assert 5 < axis[1] < 6
    assert len(traces(at, "stream")) == {"mean": 4, "variance": 5}[statistic]  # the variance starts at 1
    (update,) = at.latex
    assert symbol in update.value
    assert update.value.count("run") == 1
    assert statistic in plots(at)["stream"]["alt"].lower()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("layer", running.LAYERS)
def test_the_switch_changes_what_the_same_digits_become(layer, theme):
    link = {"layer": layer, "batch": "8", "unit": "2", "step": "40", "digit": "3", "eps": "0.1"}
    shown = {mode: open_lab(SCRIPT, theme, **link, mode=mode) for mode in MODES}
    setting, unit = Setting(layer, 8), 1
    seen = running.trace_stream(setting, 0.1)
    kept = compute_running_averages(seen.mean, seen.variance, setting.element_count, CONVENTIONS["pytorch"], 0.1)
    x = running.compute_stream_pre_activations(setting, [39])[0][
        :, setting.output_side // 2, setting.output_side // 2, unit
    ]
    layer = torch.nn.BatchNorm1d(1, eps=0.1, affine=False, dtype=torch.float64)
    layer.running_mean[:], layer.running_var[:] = kept.mean[40, unit], kept.variance[40, unit]
    own = seen.mean[39, unit], seen.variance[39, unit]
    expected = {
        "training": (x - own[0]) / np.sqrt(own[1] + 0.1),
        "inference": layer.eval()(torch.as_tensor(x)[:, None])[:, 0].numpy(),
    }
    assert np.abs(expected["training"] - expected["inference"]).max() > 0.02
    for mode, at in shown.items():
        drawn = {trace["name"]: trace for trace in traces(at, "batch") if "name" in trace}
        assert {name for name in drawn if name.startswith("x̂ in")} == {f"x̂ in {name}" for name in MODES}
        for name in MODES:
            values, trace = expected[name], drawn[f"x̂ in {name}"]
            if (name, mode) == ("inference", "training"):  # not chosen yet: the followed digit's only
                values = np.where(np.arange(8) == 3, values, np.nan)
                assert trace["uid"] == ANSWER_UID
            np.testing.assert_allclose(np.asarray(trace["y"]), values, rtol=1e-9, atol=1e-12)
            assert trace["marker"]["color"] == getattr(THEMES[theme], name if name == mode else "muted")
            assert trace["marker"]["symbol"].endswith("-open") == (name != mode)
            written = [format_output(value) if name == mode or k == 3 else "" for k, value in enumerate(values)]
            assert trace["text"] == written
        assert used(at) == ["This batch of 8" if mode == "training" else "Running averages"]
        label = running.load_digit_split()[1][running.sample_batch_indices(setting)[39, 3]]
        followed = f"fourth digit, a{'n' if label == 8 else ''} {label}"
        values = {name: format_output(expected[name][3]) for name in MODES}
        other = f"; x̂ in inference {values['inference']}." if mode == "inference" else "."
        assert f"In the frame the {followed}: x̂ in training {values['training']}{other}" in plots(at)["batch"]["alt"]
        this, other = sorted(MODES, key=lambda name: name != mode)
        words = f"x̂ = {values[this]} in {this}, but {values[other]} in {other}."
        if values[this] == values[other]:
            words = f"x̂ = {values[this]} in training and in inference."
        assert f"### The framed {label} gives {words}" in texts(at.markdown)
        (cards,) = (each.proto.body for each in at.get("html") if "nv-pairs" in each.proto.body)
        assert f"<p>x = {format_output(x[3])}: what a neuron computes from the framed {label}<br>" in cards
        assert "√(variance + 0.1)" in cards
        assert re.findall(r"→ x̂ = (\S+) in (\w+)", cards) == [(values[name], name) for name in MODES]


def test_outputs_of_inference_stay_once_it_was_chosen():
    at = open_page(mode="inference")
    at = sound(at.segmented_control(key=PREFIX + "mode").set_value("training").run())
    drawn = {trace["name"] for trace in traces(at, "batch") if "name" in trace}
    assert {"x̂ in training", "x̂ in inference"} <= drawn


def test_the_switch_is_in_the_link_and_keeps_the_place():
    at = press(open_page(step="31"), "Play")
    before = traces(at, "stream")
    at = sound(at.segmented_control(key=PREFIX + "mode").set_value("inference").run())
    assert at.query_params["mode"] == "inference"
    assert (step_of(at), plays(at)) == (31, True)
    np.testing.assert_array_equal(traces(at, "stream")[0]["y"], before[0]["y"])


def test_the_digits_are_those_of_the_batch():
    at = open_page(batch="32", step="7", digit="5")
    setting = Setting(batch=32)
    chosen = running.sample_batch_indices(setting)[6, : running.MAX_SHOWN_DIGITS]
    pictures, classes = (values[chosen] for values in running.load_digit_split())
    images = plots(at)["batch"]["figure"]["layout"]["images"]
    assert len(images) == running.MAX_SHOWN_DIGITS
    for image, picture in zip(images, pictures, strict=True):
        found = np.asarray(Image.open(BytesIO(b64decode(image["source"].partition(",")[2]))))
        np.testing.assert_array_equal(found[..., 3], np.round(255 * picture))  # a pixel for a pixel
    labels = plots(at)["batch"]["figure"]["layout"]["xaxis"]["ticktext"]
    assert labels == list(map(str, classes))
    alt = plots(at)["batch"]["alt"]
    assert alt.startswith(f"Batch 7, the first 8 of 32 digits, of the classes {', '.join(labels)}, and")
    (frame,) = plots(at)["batch"]["figure"]["layout"]["shapes"]
    assert (frame["x0"] + frame["x1"]) / 2 == 5


@pytest.mark.parametrize("theme", THEMES)
def test_the_batch_figure_has_one_place_for_everything(theme):
    rng, shown = np.random.default_rng(0), []
    for count in (1, running.MAX_SHOWN_DIGITS):
        outputs = {name: rng.standard_normal(count) for name in MODES}
        batch = BatchOutputs(rng.random((count, 8, 8)), np.arange(count) % 10, outputs, 4.0, 16)
        shown += [checked(draw_batch(batch, 0, mode, theme)) for mode in MODES]
    for axis in ("xaxis", "xaxis2", "yaxis", "yaxis2"):
        assert len({tuple(figure.layout[axis].range) for figure in shown}) == 1
    assert [len(figure.layout.images) for figure in shown] == [1, 1, 8, 8]


def test_fewer_digits_than_the_one_that_is_followed():
    at = open_page(digit="7")
    at = sound(at.select_slider(key=PREFIX + "batch").set_value(4).run())
    assert at.number_input(key=PREFIX + "digit").value == 3
    assert at.number_input(key=PREFIX + "digit").max == 3
    assert "In the frame the fourth digit, a" in plots(at)["batch"]["alt"]


def test_drift_is_told_where_it_is_set_and_where_it_is_seen():
    titles = {}
    for drift in ("0", "2"):
        at = open_page(drift=drift)
        titles[drift] = [text["text"] for text in plots(at)["stream"]["figure"]["layout"]["annotations"]]
        assert any("During training the weights change" in text for text in texts(at.caption))
    whole = running.trace_stream(Setting(drift=2.0)).population_mean[:, 0]
    assert (
        titles["2"][0] == f"Mean of neuron 1<br>all digits: {format_decimals(whole[0])} → {format_decimals(whole[-1])}"
    )
    assert titles["0"][0] == f"Mean of neuron 1<br>all digits: {format_decimals(whole[0])}"


def test_a_panel_has_titles_on_its_axes():
    for link in VIEWS:
        for key, shown in plots(open_page(**link)).items():
            layout = shown["figure"]["layout"]
            axes = [layout[name] for name in layout if name.startswith(("xaxis", "yaxis"))]
            titled = [axis.get("title", {}).get("text") for axis in axes if axis.get("visible", True)]
            assert any(titled), (link, key)


def test_no_position_has_other_words():
    words = [[caption.value for caption in open_page(step=step).caption] for step in ("31", "32")]
    assert words[0] == words[1]  # in another line they moved the page


def test_before_the_first_batch():
    at = open_page(step="0", mode="inference")
    assert pairs(at)["Running averages"][1] == "1.000"  # nothing is averaged yet
    assert not at.latex  # no update
    x = running.compute_stream_pre_activations(Setting(), [0])[0][0, 0, 0, 0]
    inferred = next(trace for trace in traces(at, "batch") if trace.get("name") == "x̂ in inference")
    np.testing.assert_allclose(inferred["y"][0], x / np.sqrt(1 + DEFAULT_EPS))


def test_every_control_is_offered():
    for panel in PANELS:
        at = open_page(panel=panel, seed="93")
        widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider]
        offered = {widget.key.removeprefix(PREFIX).partition(" ")[0] for widget in widgets}
        meant = {param.name for param in PARAMS if is_relevant({"panel": panel}, param.name)} - {"step"}
        assert {name for name in offered if not name.startswith("step")} == meant


def test_links_of_before_open_what_they_opened():
    for link, panel in (
        ({}, "switch"),
        ({"step": "20", "pace": "5"}, "switch"),
        ({"wrong": "shift"}, "wrong"),
        ({"panel": "wrong", "wrong": "one"}, "wrong"),
        ({"panel": "noise"}, "companions"),
        *(({"panel": former}, "switch") for former in ("bias", "folding", "shards")),
    ):
        at = open_page(**link)
        assert not replaced(at)
        assert at.session_state[PREFIX + "panel"] == panel
        assert ("stream" in plots(at), "effect" in plots(at)) == (panel == "switch", panel != "switch")


def test_both_conventions_keep_one_average_of_the_mean():
    shown = {key: traces(open_page(framework=key, share="0.3", batch="4"), "stream") for key in CONVENTIONS}
    means, variances = ([np.asarray(rows[k]["y"]) for rows in shown.values()] for k in (2, 6))
    np.testing.assert_allclose(*means, rtol=1e-12)
    assert (variances[0][5:] > variances[1][5:]).all()
    sliders = {slider.label: slider for slider in open_page(share="0.3").select_slider}
    assert "0.3 / 0.7" in sliders["Momentum: PyTorch / Keras"].options
    assert any("share of the new batch" in text for text in texts(open_page().caption))


def test_the_slider_moves_the_stream():
    at = sound(open_page(step="199").slider[0].set_value(77).run())
    assert at.query_params["step"] == "77"
    assert step_of(at) == 77
    assert at.query_params["step"] == "77"
    assert len(np.asarray(traces(at, "stream")[0]["y"])) == 77


def test_a_view_control_keeps_the_place_also_while_it_plays():
    at = press(open_page(step="30"), "Play")
    for name, value in (("unit", 2), ("framework", "keras"), ("share", 0.01), ("drift", 3.0)):
        at.session_state[PREFIX + name] = value
        at = sound(at.run())
        assert (step_of(at), plays(at)) == (30, True)
    at = press(at, "Pause")
    assert (step_of(at), plays(at)) == (30, False)


def test_the_stream_stands_still_behind_another_panel():
    at = press(open_page(), "Play")
    for panel in ("companions", "switch"):
        at.session_state[PREFIX + "panel"] = panel
        at = sound(at.run())
    assert (step_of(at), plays(at)) == (60, False)


def test_the_page_stands_still_when_it_is_opened_again():
    at = press(open_page(), "Play")
    assert plays(at)
    at.session_state["page"] = "lab"  # another page has been looked at
    at = sound(at.run())
    assert (step_of(at), plays(at)) == (60, False)


def test_the_stream_ends_where_the_core_does():
    seen = running.trace_stream(Setting())
    end = len(seen.mean)
    averages = compute_running_averages(seen.mean, seen.variance, Setting().element_count, CONVENTIONS["pytorch"], 0.1)
    for step in (end, end + 1):
        at = open_page(step=str(step))
        assert (step_of(at), at.slider[0].max) == (end, end)
        assert pairs(at)["Running averages"][0] == format_decimals(averages.mean[-1, 0])
        assert (len(np.asarray(traces(at, "stream")[0]["y"])), traces(at, "stream")[3]["x"]) == (end, [end])
        assert np.asarray(traces(at, "stream")[2]["y"])[-1] == averages.mean[-1, 0]


@pytest.mark.parametrize("link", VIEWS, ids=lambda link: " ".join(link.values()))
@pytest.mark.parametrize("layer", running.LAYERS)
def test_every_panel(link, layer):
    at = open_page(layer=layer, **link)
    assert not at.error
    assert "effect" in plots(at)
    for figure in plots(at).values():
        assert figure["alt"]


def test_the_panels_numbers_are_the_cores():
    setting, unit = Setting(drift=0.0), 0
    shown = {trace["name"].split("  ")[0]: trace["x"] for trace in traces(open_page(panel="companions"), "effect")}
    for key, outputs in running_effects.normalize_in_random_batches(setting).items():
        np.testing.assert_array_equal(shown[SCHEMES[key].label], outputs[:, unit])


def test_other_examples_are_shown_at_the_epsilon_of_the_page():
    at = open_page(panel="companions", eps="1")
    shown = {trace["name"].split("  ")[0]: np.asarray(trace["x"]) for trace in traces(at, "effect")}
    for eps, same in ((1.0, True), (DEFAULT_EPS, False)):
        outputs = running_effects.normalize_in_random_batches(Setting(drift=0.0), eps=eps)["batch"][:, 0]
        assert np.array_equal(shown[SCHEMES["batch"].label], outputs) == same


def test_a_batch_of_one_is_refused_as_pytorch_does_and_nothing_else_is_lost():
    at = open_page(batch="1")
    assert "a batch of 2 would do" in at.error[0].value
    at.session_state[PREFIX + "framework"] = "keras"
    at = sound(at.run())
    assert not at.error
    assert set(plots(at)) == {"batch", "stream"}
    assert set(plots(open_page(batch="1", panel="companions"))) == {"effect"}


def test_a_running_variance_of_zero_is_told():
    at = open_page(batch="1", framework="keras", share="1", eps="0", mode="inference")
    assert "An ε of 10⁻⁵ would do." in said(at)
    assert "stream" in plots(at)


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_in_a_batch_of_one_there_are_no_others(layer):
    at = open_page(panel="companions", batch="1", layer=layer, framework="keras")
    assert any("In batches of one there are no other examples." in text for text in texts(at.markdown))


def test_a_bad_link_is_mended_with_a_note():
    at = open_page(batch="1000", layer="cnov")
    assert {
        "Batch size: 1000 is too large; 128 is used.",
        "Layer: cnov is not one of the choices; Conv is used.",
    } <= set(replaced(at))


@settings(max_examples=12)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in PARAMS]),
        st.sampled_from(["", "nan", "inf", "-1", "0", "1", "x", "conv", "keras", "companions", "wrong", "0.5"]),
        max_size=5,
    )
)
def test_whatever_the_link_the_page_shows_its_panel_or_says_why_not(link):
    at = open_page(**link)
    panel = at.session_state[PREFIX + "panel"]
    there = "stream" in plots(at) if panel == "switch" else "effect" in plots(at)
    assert there != bool(at.error)


@pytest.mark.parametrize("theme", THEMES)
def test_the_stream_figure_moves_only_what_is_drawn(theme):
    values = np.linspace(-1, 1, 10)
    kept = {"a": np.linspace(0, 3, 11), "b": np.zeros(11)}
    followed = [TrackedStatistic(title, "μ", 0.1, values, running, values) for title, running in kept.items()]
    shown = [checked(draw_stream(followed, position, theme)) for position in (0, 5, 10)]
    axes = [[figure.layout[name].range for name in ("xaxis", "yaxis", "yaxis2")] for figure in shown]
    assert axes[0] == axes[1] == axes[2]
    assert axes[0][1][1] > 3
    assert [len(figure.data[0].y) for figure in shown] == [0, 5, 10]
    assert shown[1].data[3].x == (5,)


def test_the_first_batches_show_what_is_left_of_the_start_value():
    values = np.zeros(10)
    running = np.linspace(2.0, 0, 11)
    followed = [TrackedStatistic("σ²", "σ²", 0.1, values, running, values)]
    (dotted,) = (each for each in checked(draw_stream(followed, 3, window=5)).data if "start" in str(each.name))
    np.testing.assert_allclose(dotted.y, [2, 1.8, 1.62, 1.458])
    assert not any("start" in str(each.name) for each in checked(draw_stream(followed, 3)).data)


def test_strips_stand_in_order():
    figure = checked(draw_strips({"first": np.arange(3.0), "second": np.ones(2)}, "x"))
    assert [trace.name for trace in figure.data] == ["first", "second"]
    assert figure.layout.yaxis.autorange == "reversed"
    assert set(figure.data[1].y) == {"second"}
