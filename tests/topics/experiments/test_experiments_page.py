"""The page on experiments as a user meets it, run by Streamlit without a browser."""

import re

import pytest
from experiments_page import SCRIPT, SMALL, get_button_keys, open_page, press
from lab_page import open_lab, plots, said, sound, texts

import normviz
from normviz.charts.palette import THEMES
from normviz.core.settings import get_declarations
from normviz.topics.experiments import batch_size
from normviz.topics.experiments.catalogue import EXPERIMENTS, TOPICS
from normviz.topics.experiments.examples import find_example, get_example_path
from normviz.topics.experiments.experiment import SCHEME_STYLES, choose_styles
from normviz.topics.experiments.state import PAGE, PARAMS, PREFIX, is_relevant, make_name_prefix

pytestmark = pytest.mark.usefixtures("server")


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_experiment_is_asked_for_before_it_runs(key, theme):
    at, experiment = open_lab(SCRIPT, theme, show=key), EXPERIMENTS[key]
    setting = experiment.setting()
    verdict = experiment.report(setting, find_example(key, experiment.list_jobs(setting)).results).verdict
    assert "start run" in get_button_keys(at)
    assert f"# {EXPERIMENTS[key].question}" in said(at)
    assert EXPERIMENTS[key].claim in said(at)
    assert f"**Test:** {EXPERIMENTS[key].test(EXPERIMENTS[key].setting())}" in texts(at.markdown)
    assert any(EXPERIMENTS[key].about(EXPERIMENTS[key].setting()) in text for text in texts(at.caption))
    reason = verdict.why or experiment.why
    assert any(text.startswith("The claim ") or text == reason for text in texts(at.markdown))
    assert reason in said(at)
    assert f"**Test:** {experiment.test(setting)}" in said(at) or not experiment.test(setting)
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)
    assert at.code[0].value == f"normviz experiment {key}"
    assert sum(rules in text for text in texts(at.caption) for rules in [EXPERIMENTS[key].rules] if rules) <= 1
    if get_example_path(key).exists():
        help_text = at.button(key="start run").help
        assert help_text == f"The result shown was computed in advance, with normviz {normviz.__version__}."
        assert plots(at).keys() - {"blank"}
    else:
        assert "Press **Run**" in said(at)


def test_the_list_holds_the_question_of_every_experiment_and_one_group_is_open():
    at = open_page(show="speed")
    assert [option for radio in at.radio for option in radio.options] == [
        each.question for each in EXPERIMENTS.values()
    ]
    assert {topic.label: topic.proto.expanded for topic in at.sidebar.expander} == {
        topic: topic == "Cost" for topic in TOPICS
    }
    assert [radio.value for radio in at.radio if radio.value] == ["speed"]
    at = sound(at.radio(key=f"{PREFIX}show of Batches").set_value("fine-tuning").run())
    assert EXPERIMENTS["fine-tuning"].claim in said(at)
    assert [radio.value for radio in at.radio if radio.value] == ["fine-tuning"]


def test_a_setting_without_a_result_leads_to_the_default():
    at = open_page(**SMALL | {"batch_size_seed": "3"})
    assert "Press **Run**" in said(at)
    assert "Changed: " in " ".join(texts(at.caption))
    at = press(at, "show default")
    assert "computed in advance" in at.button(key="start run").help
    assert at.query_params == {}
    assert at.code[0].value == "normviz experiment batch-size"


def test_schemes_have_the_colours_of_their_curves():
    at = open_page()
    (style,) = [each.proto.body for each in at.get("html") if "of-row" in each.proto.body]
    for place, number in ((1, 1), (2, 2)):
        assert f"button:nth-of-type({place}) {{ border: 2px solid {THEMES['light'].lines[number]} !important;" in style
    lines = {trace["name"]: trace["line"]["color"] for trace in plots(at)["sizes"]["figure"]["data"] if "line" in trace}
    assert [lines[name] for name in ("batch norm", "layer norm")] == list(THEMES["light"].lines[1:3])


def test_a_scheme_keeps_its_colour_whatever_it_is_compared_with():
    assert choose_styles(["none", "batch", "layer"]) == (0, 1, 2)
    for keys in (["layer", "rms", "batch"], ["weight", "layer"], ["batch"]):
        setting = batch_size.Setting(seeds=2, steps=20, schemes=keys)
        styles = dict(zip(keys, setting.styles, strict=True))
        assert all(styles.get(key, style) == style for key, style in SCHEME_STYLES.items())
        assert len(set(styles.values())) == len(keys)


def test_the_first_figure_says_what_its_bars_are_and_the_chosen_rates_are_folded():
    at = open_page()
    (words,) = (text for text in texts(at.caption) if text.startswith("**Data and network:**"))
    assert words.endswith(
        "Lines: means of 8 networks. Bars: 95% confidence intervals of these means. "
        "Points are shifted sideways so that all bars can be seen."
    )
    (folded,) = (each for each in at.expander if each.label == "Chosen learning rates")
    assert folded
    assert "sizes 1" in plots(at)
    for key in EXPERIMENTS:
        at = open_page(show=key)
        assert re.search("95% (confidence )?interval", " ".join(texts(at.caption) + texts(at.markdown))), key


@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_control_that_means_something_is_offered(key):
    at = open_page(show=key)
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.selectbox, *at.toggle]
    view = {param.name: at.session_state[param.key] for param in PARAMS}
    offered = {each.key.removeprefix(PREFIX) for each in widgets if " of " not in each.key}
    wanted = {param.name for param in PARAMS if is_relevant(view, param.name)} - {
        "show",
        make_name_prefix(key) + "schemes",
    }
    assert offered == wanted


@pytest.mark.parametrize(
    "key", [key for key, each in EXPERIMENTS.items() if "schemes" in get_declarations(each.setting)]
)
def test_a_link_without_schemes_asks_for_one_and_the_page_stays(key):
    at = open_page(show=key, **{make_name_prefix(key) + "schemes": ""})
    assert [each.value for each in at.error] == ["no scheme is chosen; one would do."]


def test_what_is_asked_for_without_a_browser_is_the_same():
    at = open_page(**SMALL)
    assert at.code[0].value == "normviz experiment batch-size --seeds 2 --schemes layer --steps 20 --equal steps"


def test_links_name_the_values_of_every_experiment_apart():
    names = [param.name for param in PARAMS]
    assert len(names) == len(set(names))
    for key, each in EXPERIMENTS.items():
        assert {make_name_prefix(key) + name for name in get_declarations(each.setting)} <= set(names)
    assert SCRIPT.partition("/")[2].removesuffix(".py") == PAGE


def test_a_link_to_an_experiment_that_is_part_of_another_opens_that_one_with_its_settings():
    at = open_page(show="sparsity", sparsity_first="0.3", sparsity_schemes="batch", sparsity_penalty="0.1")
    assert at.code[0].value == "normviz experiment smoothing --schemes batch --eps 0.3"
    assert EXPERIMENTS["smoothing"].claim in said(at)
    assert any("penalty” in the link is ignored" in text for text in texts(at.markdown))
