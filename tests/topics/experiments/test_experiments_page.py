"""The page on experiments as a user meets it, run by Streamlit without a browser; its jobs run in a thread here."""

import re
import time
from threading import Event

import numpy as np
import pytest
from lab_page import open_lab, plots, said, sound, texts

import normviz
from normviz.charts.palette import THEMES
from normviz.core.errors import InvalidInput
from normviz.core.settings import get_declarations
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments import batch_size, experiment_runs, panels
from normviz.topics.experiments.catalogue import EXPERIMENTS, TOPICS
from normviz.topics.experiments.dense_grid import DenseGrid
from normviz.topics.experiments.examples import ExampleResults, find_example, get_example_path
from normviz.topics.experiments.experiment import SCHEME_STYLES, choose_styles
from normviz.topics.experiments.state import PAGE, PARAMS, PREFIX, is_relevant, make_name_prefix

SCRIPT = "pages/experiments.py"
SMALL = {
    "show": "batch-size",
    "batch_size_steps": "20",
    "batch_size_equal": "steps",
    "batch_size_seeds": "2",
    "batch_size_schemes": "layer",
}
ALL = batch_size.EXPERIMENT.list_jobs(batch_size.Setting(schemes=("layer",)))
PARTS = sum(isinstance(part, DenseGrid) for part in ALL)  # those that train
SOON = 60  # seconds that a test waits at most


class Clock:
    """A time that passes when the test says so."""

    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def server(monkeypatch, tmp_path):
    """A server of its own for every test: its queue and what it keeps."""

    class Server:
        def restart(self):
            archive = ResultArchive(ResultCache(tmp_path / "results.sqlite"))
            monkeypatch.setattr(experiment_runs, "get_archive", lambda: archive)

    with create_thread_pool(1) as pool:
        new = Server()
        new.clock = Clock()
        queue = JobQueue(pool, clock=new.clock)  # whose time stands still
        monkeypatch.setattr(experiment_runs, "get_experiment_queue", lambda: queue)
        new.restart()
        yield new


def open_page(**link):
    return open_lab(SCRIPT, **link)


def press(at, key):
    return sound(at.button(key=key).click().run())


def keys(at):
    return {button.key for button in at.button}


def settled(at):
    deadline = time.monotonic() + SOON
    while "cancel run" in keys(at):
        assert time.monotonic() < deadline
        at = sound(at.run())
    return at


@pytest.fixture
def held(monkeypatch):
    """Parts that wait after their third step, and how many have begun."""

    class Held:
        waits, go_on, parts = Event(), Event(), []

    real = DenseGrid.steps

    def steps(self):
        Held.parts.append(self)
        for count, step in enumerate(real(self)):
            yield step
            if count == 2:
                Held.waits.set()
                assert Held.go_on.wait(SOON)

    monkeypatch.setattr(DenseGrid, "steps", steps)
    yield Held
    Held.go_on.set()


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("key", EXPERIMENTS)
def test_every_experiment_is_asked_for_before_it_runs(key, theme):
    at, experiment = open_lab(SCRIPT, theme, show=key), EXPERIMENTS[key]
    setting = experiment.setting()
    verdict = experiment.report(setting, find_example(key, experiment.list_jobs(setting)).results).verdict
    assert "start run" in keys(at)
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


def headlines(at):
    return [text for text in texts(at.markdown) if text.startswith("### ")]


@pytest.fixture
def shipped(monkeypatch):
    """A result of the small setting that came with the package, as if it were the default; with another verdict."""
    parts = batch_size.EXPERIMENT.list_jobs(batch_size.Setting(seeds=2, steps=20, equal="steps", schemes=("layer",)))
    results = {part: run_to_end(part) for part in parts}
    for arrays in results.values():
        if "test" in arrays:
            arrays["test"] = np.full_like(arrays["test"], 0.25)
    example = ExampleResults("0.0.1", results)
    monkeypatch.setattr(panels, "find_example", lambda key, asked: example if set(asked) == set(parts) else None)


def test_a_shipped_result_is_shown_until_a_run_is_the_visitors_own(shipped, held):
    at = open_page(**SMALL)
    assert headlines(at) == ["### Batches of 2: layer norm has 25% test error."]
    assert at.button(key="start run").help == "The result shown was computed in advance, with normviz 0.0.1."
    assert re.fullmatch(r"Run it yourself · about \d+ seconds?", at.button(key="start run").label)
    at = press(at, "start run")
    assert held.waits.wait(SOON)  # it really trains
    at = sound(at.run())
    (bar,) = at.get("progress")
    assert bar.proto.value < 20
    assert "25%" not in said(at)
    assert "start run" not in keys(at)
    held.go_on.set()
    at = settled(at)
    assert "start run" not in keys(at)
    assert "25%" not in "".join(headlines(at))
    assert any("The result is cached" in text for text in texts(at.caption))


def test_a_run_that_is_cancelled_leaves_the_shipped_result(shipped, held):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    request = at.session_state[experiment_runs.RUN_KEY].request
    at = press(at, "cancel run")
    held.go_on.set()
    assert request.wait(SOON)
    assert headlines(sound(at.run())) == ["### Batches of 2: layer norm has 25% test error."]


def test_a_setting_without_a_result_leads_to_the_default():
    at = open_page(**SMALL | {"batch_size_seed": "3"})
    assert "Press **Run**" in said(at)
    assert "Changed: " in " ".join(texts(at.caption))
    at = press(at, "show default")
    assert "computed in advance" in at.button(key="start run").help
    assert at.query_params == {}
    assert at.code[0].value == "normviz experiment batch-size"


def test_other_seeds_are_run_at_once(held):
    held.go_on.set()
    at = settled(press(open_page(**SMALL), "start run"))
    begun = len(held.parts)
    at = settled(press(at, "run again"))
    assert at.query_params["batch_size_seed"] == "2"
    assert len(held.parts) == begun + PARTS
    assert any("The result is cached" in text for text in texts(at.caption))


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


def test_a_run_shows_what_came_out_and_keeps_it(server):
    at = settled(press(open_page(**SMALL), "start run"))
    assert "start run" not in keys(at)
    assert {"curves", "sizes"} <= set(plots(at))
    assert any("The result is cached" in text for text in texts(at.caption))
    headline = [text for text in texts(at.markdown) if text.startswith("### ")]
    server.restart()
    again = open_page(**SMALL)
    assert "start run" not in keys(again)
    assert [text for text in texts(again.markdown) if text.startswith("### ")] == headline
    assert plots(again).keys() == plots(at).keys()


def test_what_is_asked_for_without_a_browser_is_the_same():
    at = open_page(**SMALL)
    assert at.code[0].value == "normviz experiment batch-size --seeds 2 --schemes layer --steps 20 --equal steps"


def test_it_is_cancelled_and_the_rest_run_later(held):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    request = at.session_state[experiment_runs.RUN_KEY].request
    at = press(at, "cancel run")
    held.go_on.set()
    assert request.wait(SOON)
    at = sound(at.run())
    assert "start run" in keys(at)
    begun = len(held.parts)
    at = settled(press(at, "start run"))
    assert "start run" not in keys(at)
    assert len(held.parts) <= begun + PARTS


@pytest.mark.heavy
def test_a_pause_ends_no_part_and_starts_none(held):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    at = press(at, "pause run")
    assert "resume run" in keys(at)
    request = at.session_state[experiment_runs.RUN_KEY].request
    held.go_on.set()
    deadline = time.monotonic() + SOON
    while request.runs:
        assert time.monotonic() < deadline
    at = sound(at.run())
    assert len(held.parts) == 1
    assert any(f"Paused after 1 of {len(ALL)} parts" in each.proto.text for each in at.get("progress"))
    at = settled(press(at, "resume run"))
    assert len(held.parts) == PARTS
    assert "start run" not in keys(at)


def test_a_pause_that_lapses_is_still_one(held, server):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    at = press(at, "pause run")
    request = at.session_state[experiment_runs.RUN_KEY].request
    server.clock.now += request.lease + 1  # while the page was not there
    held.go_on.set()
    assert request.wait(SOON)
    at = sound(at.run())
    assert "start run" in keys(at)
    assert len(held.parts) == 1


@pytest.mark.heavy
def test_what_lapsed_while_it_was_wanted_goes_on(held, server):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    request = at.session_state[experiment_runs.RUN_KEY].request
    server.clock.now += request.lease + 1
    held.go_on.set()
    assert request.wait(SOON)
    at = settled(sound(at.run()))
    assert "start run" not in keys(at)


def test_who_shares_a_part_only_is_not_made_to_run(held):
    press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    other = open_page(**SMALL | {"batch_size_schemes": "layer,rms"})
    assert "start run" in keys(other)


def test_a_cluster_that_cannot_be_is_said_and_the_page_stays(monkeypatch):
    def queue():
        raise InvalidInput("the address is wrong.")

    monkeypatch.setattr(experiment_runs, "get_experiment_queue", queue)
    at = open_page(**SMALL)
    assert "start run" in keys(at)
    at = press(at, "start run")
    assert [error.value for error in at.error] == ["the address is wrong."]
    assert "start run" in keys(at)


def test_a_disk_that_takes_no_results_is_said(server):
    experiment_runs.get_archive().disk.failed = True
    at = press(open_page(**SMALL), "start run")
    experiment_runs.get_archive().disk.put = lambda *_: None
    at = settled(at)
    assert any("its disk takes no results" in text for text in texts(at.caption))


@pytest.mark.heavy
def test_a_page_opened_in_the_middle_joins_what_is_at_work(held):
    first = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    second = open_page(**SMALL)
    assert "cancel run" in keys(second)
    held.go_on.set()
    settled(first)
    settled(second)
    assert len(held.parts) == PARTS


def test_who_comes_second_is_told_so(held):
    press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    other = press(open_page(**SMALL | {"batch_size_seed": "7"}), "start run")
    (bar,) = other.get("progress")
    assert re.fullmatch(
        r"Waiting: done in about \d+ (seconds?|minutes?) \(\d+ jobs are ahead of yours\)", bar.proto.text
    )


def test_another_setting_ends_what_was_run_for_the_one_before(held):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    request = at.session_state[experiment_runs.RUN_KEY].request
    at = sound(at.number_input(key=f"{PREFIX}batch_size_seed").set_value(3).run())
    assert not request.is_wanted
    assert "start run" in keys(at)


def test_what_a_part_raises_is_said_with_its_place(monkeypatch):
    def steps(self):
        raise MemoryError("there is no room")
        yield

    monkeypatch.setattr(DenseGrid, "steps", steps)
    at = settled(press(open_page(**SMALL), "start run"))
    assert "there is no room" in at.error[0].value
    assert "start run" in keys(at)


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
