"""The training and inference page as a user meets it, run by Streamlit without a browser."""

import numpy as np
import pytest
from checked import checked
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import open_lab, plots, sound, texts, traces

from normviz.core.schemes import DEFAULT_EPS, SCHEMES
from normviz.describe.wording import decimals
from normviz.running import effects as running_effects
from normviz.running import stream as running
from normviz.running.figures import Curve, Followed, Panel, panels_figure, stream_figure, strips
from normviz.running.state import PANELS, PARAMS, PREFIX, WRONG, averages_of, setting_of
from normviz.running.stream import BATCHES, CONVENTIONS, UNITS, Setting
from normviz.running.stream_panel import average_words
from normviz.ui.palette import THEMES
from normviz.ui.player import SPEEDS

SCRIPT = "pages/running.py"
VIEWS = [{"panel": panel} for panel in PANELS if panel != "wrong"] + [{"panel": "wrong", "wrong": w} for w in WRONG]
WITHOUT_FIGURE = ("folding", "shards")


def open_page(**link):
    return open_lab(SCRIPT, **link)


def view_of(at):
    return {param.name: at.session_state[param.key] for param in PARAMS}


def press(at, name):
    return sound(next(button for button in at.button if button.label == name).click().run())


def step_of(at):
    """Where the stream is: in the session, and on its slider."""
    slider = next(slider for slider in at.slider if slider.label == "Batches seen")
    assert slider.value == at.session_state[PREFIX + "step"]
    return slider.value


def plays(at):
    return at.button[0].label == "Pause"


def test_the_stream_shows_the_core_up_to_the_position():
    at = open_page(layer="conv", batch="8", drift="2", unit="3", step="50", seed="4")
    setting = Setting("conv", 8, 2.0, 4)
    seen = running.trace(setting)
    averages = running.running_averages(seen.mean, seen.variance, setting.count, CONVENTIONS["pytorch"], 0.1)
    shown = traces(at, "stream")
    for row, (batch, kept, whole) in enumerate(
        ((seen.mean, averages.mean, seen.population_mean), (seen.variance, averages.variance, seen.population_variance))
    ):
        dots, population, line, now = (np.asarray(trace["y"]) for trace in shown[4 * row : 4 * row + 4])
        np.testing.assert_array_equal(dots, batch[:50, 2])
        np.testing.assert_array_equal(population, whole[:, 2])
        np.testing.assert_array_equal(line, kept[:51, 2])
        assert now == [kept[50, 2]]
    table = at.table[0].value
    assert table.columns[0] == "Batch 50"
    assert list(table["mean"]) == [
        decimals(value)
        for value in (
            seen.mean[49, 2],
            seen.output_mean[49, 2],
            averages.mean[50, 2],
            seen.population_mean[49, 2],
            averages.mean[50, 2] - seen.population_mean[49, 2],
        )
    ] + [""]
    variance = seen.variance[49, 2]
    assert table["variance"].iloc[-1] == f"{variance / (variance + DEFAULT_EPS):.6g}"
    assert list(at.table[1].value["x̂ in training"]) == [decimals(seen.first_output[49, 2])]


def test_no_position_has_other_words():
    at = open_page(step="31")
    words = [caption.value for caption in at.caption]
    assert [caption.value for caption in press(at, "Step").caption] == words  # in another line they moved the page


def test_before_the_first_batch():
    at = open_page(step="0")
    assert list(at.table[0].value.iloc[:, 0]) == ["running average", "population", "running − population"]
    assert at.table[0].value["variance"].iloc[0] == "1.000"
    assert not at.latex


def test_every_control_is_offered():
    at = open_page(panel="shards")
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider]
    offered = {widget.key.removeprefix(PREFIX) for widget in widgets if widget.label != "Batches seen"}
    assert offered == {param.name for param in PARAMS} - {"step", "wrong"}
    assert "wrong" in {widget.key.removeprefix(PREFIX) for widget in open_page(panel="wrong").button_group}


def test_both_conventions_keep_one_average_of_the_mean():
    shown = {key: traces(open_page(framework=key, share="0.3", batch="4"), "stream") for key in CONVENTIONS}
    means, variances = ([np.asarray(rows[k]["y"]) for rows in shown.values()] for k in (2, 6))
    np.testing.assert_allclose(*means, rtol=1e-12)
    assert (variances[0][5:] > variances[1][5:]).all()
    sliders = {slider.label: slider for slider in open_page(share="0.3").select_slider}
    assert "0.3 / 0.7" in sliders["Momentum: PyTorch / Keras"].options
    assert any("share of the new batch" in text for text in texts(open_page().caption))


def test_step_back_and_reset():
    at = open_page(step="199")
    for name, expected in (("Step", 200), ("Step", 200), ("Back", 199), ("Reset", 0), ("Back", 0), ("Step", 1)):
        at = press(at, name)
        assert step_of(at) == expected
        assert at.query_params["step"] == str(expected)
    at = sound(at.slider[0].set_value(77).run())
    assert step_of(at) == 77
    assert at.query_params["step"] == "77"
    assert len(np.asarray(traces(at, "stream")[0]["y"])) == 77


def test_a_view_control_keeps_the_place_also_while_it_plays():
    at = press(open_page(step="30"), "Play")
    for name, value in (("unit", 2), ("panel", "noise"), ("framework", "keras"), ("share", 0.01), ("drift", 3.0)):
        at.session_state[PREFIX + name] = value
        at = sound(at.run())
        assert (step_of(at), plays(at)) == (30, True)
    at = press(at, "Pause")
    assert (step_of(at), plays(at)) == (30, False)


def test_the_page_stands_still_when_it_is_opened_again():
    at = press(open_page(), "Play")
    assert plays(at)
    at.session_state["page"] = "lab"  # another page has been looked at
    at = sound(at.run())
    assert (step_of(at), plays(at)) == (60, False)


def test_the_stream_ends_where_the_core_does():
    seen = running.trace(Setting())
    end = len(seen.mean)
    averages = running.running_averages(seen.mean, seen.variance, Setting().count, CONVENTIONS["pytorch"], 0.1)
    for step in (end - 1, end, end + 1):
        at = press(open_page(step=str(step)), "Step")
        assert (step_of(at), at.slider[0].max) == (end, end)
        assert at.table[0].value.columns[0] == f"Batch {end}"
        assert (len(np.asarray(traces(at, "stream")[0]["y"])), traces(at, "stream")[3]["x"]) == (end, [end])
        assert np.asarray(traces(at, "stream")[2]["y"])[-1] == averages.mean[-1, 0]


@pytest.mark.parametrize("link", VIEWS, ids=lambda link: " ".join(link.values()))
@pytest.mark.parametrize("layer", running.LAYERS)
def test_every_panel(link, layer):
    at = open_page(layer=layer, **link)
    assert not at.error
    assert ("effect" in plots(at)) == (link["panel"] not in WITHOUT_FIGURE)
    for figure in plots(at).values():
        assert figure["alt"]


def test_only_the_open_panel_is_computed(monkeypatch):
    def refuse(*_):
        raise AssertionError("computed")

    for name in ("sampled", "among_others", "shards", "in_batches_of", "too_early", "one_class_at_a_time", "shifted"):
        monkeypatch.setattr(running_effects, name, refuse)
    open_page(panel="folding", seed="91")
    with pytest.raises(AssertionError, match="encountered an error"):  # the page does not say which
        open_page(panel="shards", seed="91")


def test_the_panels_numbers_are_the_cores():
    setting, unit = Setting(drift=0.0), 0
    found = running_effects.sampled(setting)
    measured, exact, corrected = (np.asarray(trace["y"]) for trace in traces(open_page(panel="bias"), "effect")[:3])
    whole = found.population.variance[unit]
    np.testing.assert_allclose(measured, found.variance[:, unit] / whole)
    np.testing.assert_allclose(exact, found.expected[:, unit] / whole)
    np.testing.assert_allclose(corrected, found.corrected[:, unit] / whole)
    shown = {trace["name"].split("  ")[0]: trace["x"] for trace in traces(open_page(panel="companions"), "effect")}
    for key, outputs in running_effects.among_others(setting).items():
        np.testing.assert_array_equal(shown[SCHEMES[key].label], outputs[:, unit])


def test_folding_and_shards_say_how_equal_they_are():
    at = open_page(panel="folding")
    view = view_of(at)
    averages = averages_of(view, running.trace(setting_of(view)))
    statistics = running.Moments(averages.mean[-1], averages.variance[-1])
    _, residual = running_effects.folding(setting_of(view), statistics, DEFAULT_EPS)
    assert any(f"unfolded: **{decimals(residual)}**" in text for text in texts(at.markdown))
    assert len(at.table[-1].value) == UNITS
    table = open_page(panel="shards", devices="3", batch="8").table[-1].value.set_index("First batch")
    assert list(table["m"]) == ["3", "3", "2", "8", "8", ""]
    assert table.loc["merged", "variance"] == table.loc["whole batch", "variance"]
    assert table.loc["mean of the variances", "variance"] != table.loc["whole batch", "variance"]


def test_a_batch_of_one_is_refused_as_pytorch_does_and_nothing_else_is_lost():
    at = open_page(batch="1", panel="wrong", wrong="one")
    assert "a batch of 2 would do" in at.error[0].value
    assert set(plots(at)) == {"effect"}
    at.session_state[PREFIX + "framework"] = "keras"
    at = sound(at.run())
    assert not at.error
    assert set(plots(at)) == {"stream", "effect"}


def test_a_running_variance_of_zero_is_told():
    at = open_page(batch="1", framework="keras", share="1", eps="0", panel="folding")
    assert any("an ε of 1e-5" in text for text in texts(at.info))
    assert "stream" in plots(at)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01, 0.1, 0.3, 1.0])
def test_what_is_said_of_the_start_and_the_lag_is_so(share):
    words, steps = average_words(share), np.arange(BATCHES + 1.0)
    keras = CONVENTIONS["keras"]
    left = running.running_averages(0 * steps[1:, None], 0 * steps[1:, None], 16, keras, keras.other(share))
    start = left.variance[-1, 0]  # of the 1 that it starts from
    if share == 0:
        assert words.endswith("the average never leaves its start, 0 and 1.")
        assert start == 1
        return
    said = words.split(" for each new batch, ")[1].split(" of the average")[0]
    assert said == (f"{start:.0%}" if start >= 0.01 or start == 0 else "less than 1%")
    assert f"after all {BATCHES} batches" in words
    if start < 1e-6:  # a mean that grows by 1 a batch: the lag is what is missing
        drifting = running.running_averages(steps[1:, None], steps[1:, None], 16, keras, keras.other(share))
        behind = steps[BATCHES] - drifting.mean[-1, 0]
        assert f"Once that is gone, it trails a mean that drifts steadily by {behind:.3g} batches" in words


@pytest.mark.parametrize("layer", ["dense", "conv"])
@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.1, 1.0])
def test_what_is_said_of_pairs_and_of_contrast_holds_at_every_epsilon(layer, eps):
    at = open_page(panel="wrong", wrong="one", eps=str(eps), layer=layer, unit="2")
    (said,) = (text for text in texts(at.markdown) if text.startswith(("Alone", "With a convolution")))
    setting = setting_of(view_of(at))
    gain, shift = (values[1] for values in running.affine_parameters(setting))
    if layer == "dense":
        y = running_effects.in_batches_of(setting, 2, eps)[1][:, 0, 0, 1]
        root = np.abs((y - shift) / gain)
        assert f"the root is **{decimals(root.min())}** to **{decimals(root.max())}** here" in said
        assert (decimals(root.min()) == "1.000") == (eps == 0)
    assert "Where ε is small" in said or "as far as ε is small" in said
    shown = open_page(panel="wrong", wrong="shift", eps=str(eps), layer=layer, unit="2")
    curves = traces(shown, "effect")
    text = next(text for text in texts(shown.markdown) if text.startswith("With running statistics, test"))
    own = [np.asarray(trace["y"]) for trace in curves if trace["name"].startswith("train")]
    assert all(np.abs(mean).max() < 1e-9 for mean in own[:2])
    assert f"the variance is **{decimals(own[2].min())}** to **{decimals(own[2].max())}**" in text
    assert "absorb" not in text


@pytest.mark.parametrize("eps", [0.0, 1.0])
@pytest.mark.parametrize("share", [0.001, 0.1])
def test_what_evaluation_would_be_without_a_start_has_epsilon_in_it(eps, share):
    at = open_page(panel="wrong", wrong="early", eps=str(eps), share=str(share))
    seen = running.trace(setting_of(view_of(at)), eps)
    last = seen.population_variance[-1, 0]
    said = next(text for text in texts(at.markdown) if text.startswith("The running statistics start"))
    assert f"σ²/(σ²+ε) = **{decimals(last / (last + eps))}**" in said


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_in_a_batch_of_one_there_are_no_others(layer):
    at = open_page(panel="companions", batch="1", layer=layer, framework="keras")
    assert any("In batches of one there are no other examples." in text for text in texts(at.markdown))


def test_a_bad_link_is_mended_with_a_note():
    at = open_page(batch="1000", layer="cnov", pace="4", devices="99", panel="shards")
    assert "batch = 1000 became 128" in at.info[0].value
    assert "layer = cnov became conv" in at.info[0].value
    assert at.session_state[PREFIX + "pace"] in SPEEDS


@settings(max_examples=12)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in PARAMS]),
        st.sampled_from(["", "nan", "inf", "-1", "0", "1", "x", "conv", "keras", "shards", "wrong", "0.5"]),
        max_size=5,
    )
)
def test_whatever_the_link_the_page_shows_the_stream_and_a_panel(link):
    at = open_page(**link)
    assert ("stream" in plots(at)) != bool(at.error)
    told = any("Nothing to show here" in text for text in texts(at.info))
    assert ("effect" in plots(at) or len(at.table) > 0 or at.session_state[PREFIX + "panel"] == "wrong") != told


@pytest.mark.parametrize("theme", THEMES)
def test_the_stream_figure_moves_only_what_is_drawn(theme):
    values = np.linspace(-1, 1, 10)
    followed = [Followed("a", values, np.linspace(0, 3, 11), values), Followed("b", values, np.zeros(11), values)]
    shown = [checked(stream_figure(followed, position, theme)) for position in (0, 5, 10)]
    axes = [[figure.layout[name].range for name in ("xaxis", "yaxis", "yaxis2")] for figure in shown]
    assert axes[0] == axes[1] == axes[2]
    assert axes[0][1][1] > 3
    assert [len(figure.data[0].y) for figure in shown] == [0, 5, 10]
    assert shown[1].data[3].x == (5,)


def test_a_name_is_one_style_and_one_entry_in_all_panels():
    panels = [Panel(str(k), [Curve("a", [1, 2], [1, 2]), Curve("b", [1, 4], [1, 2], True)], log="xy") for k in range(3)]
    data = checked(panels_figure(panels, 2)).data
    assert [trace.showlegend for trace in data] == [True, True, False, False, False, False]
    assert len({trace.line.color for trace in data[::2]}) == 1
    assert data[0].mode != data[1].mode
    assert data[0].line.color != data[1].marker.color


def test_strips_stand_in_order():
    figure = checked(strips({"first": np.arange(3.0), "second": np.ones(2)}, "x"))
    assert [trace.name for trace in figure.data] == ["first", "second"]
    assert figure.layout.yaxis.autorange == "reversed"
    assert set(figure.data[1].y) == {"second"}


def test_fewer_digits_than_devices_after_the_number_was_set():
    at = open_page()
    at = sound(at.segmented_control(key="running panel").set_value("shards").run())
    at = sound(at.slider(key="running devices").set_value(1).run())
    at = sound(at.select_slider(key="running batch").set_value(2).run())  # another end: 4 of before would come back
    assert at.slider(key="running devices").value == 1
