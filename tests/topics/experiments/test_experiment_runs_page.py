"""Runs on the page on experiments: started, paused, cancelled, shared; their jobs run in a thread here."""

import re
import time
from threading import Event

import numpy as np
import pytest
from experiments_page import SMALL, get_button_keys, open_page, press
from lab_page import plots, said, sound, texts

from normviz.core.errors import InvalidInput
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments import batch_size, experiment_runs, panels
from normviz.topics.experiments.dense_grid import DenseGrid
from normviz.topics.experiments.examples import ExampleResults
from normviz.topics.experiments.state import PREFIX

pytestmark = pytest.mark.usefixtures("server")

ALL = batch_size.EXPERIMENT.list_jobs(batch_size.Setting(schemes=("layer",)))
PARTS = sum(isinstance(part, DenseGrid) for part in ALL)  # those that train
SOON = 60  # seconds that a test waits at most


def settled(at):
    deadline = time.monotonic() + SOON
    while "cancel run" in get_button_keys(at):
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
    assert "start run" not in get_button_keys(at)
    held.go_on.set()
    at = settled(at)
    assert "start run" not in get_button_keys(at)
    assert "25%" not in "".join(headlines(at))
    assert any("The result is cached" in text for text in texts(at.caption))


def cancel_first_run(held):
    """Start a run, cancel it while its first part is held, and return the page once that part has ended."""
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    request = at.session_state[experiment_runs.RUN_KEY].request
    at = press(at, "cancel run")
    held.go_on.set()
    assert request.wait(SOON)
    return sound(at.run())


def test_a_run_that_is_cancelled_leaves_the_shipped_result(shipped, held):
    at = cancel_first_run(held)
    assert headlines(at) == ["### Batches of 2: layer norm has 25% test error."]


def test_other_seeds_are_run_at_once(held):
    held.go_on.set()
    at = settled(press(open_page(**SMALL), "start run"))
    begun = len(held.parts)
    at = settled(press(at, "run again"))
    assert at.query_params["batch_size_seed"] == "2"
    assert len(held.parts) == begun + PARTS
    assert any("The result is cached" in text for text in texts(at.caption))


def test_a_run_shows_what_came_out_and_keeps_it(server):
    at = settled(press(open_page(**SMALL), "start run"))
    assert "start run" not in get_button_keys(at)
    assert {"curves", "sizes"} <= set(plots(at))
    assert any("The result is cached" in text for text in texts(at.caption))
    headline = [text for text in texts(at.markdown) if text.startswith("### ")]
    server.restart()
    again = open_page(**SMALL)
    assert "start run" not in get_button_keys(again)
    assert [text for text in texts(again.markdown) if text.startswith("### ")] == headline
    assert plots(again).keys() == plots(at).keys()


def test_it_is_cancelled_and_the_rest_run_later(held):
    at = cancel_first_run(held)
    assert "start run" in get_button_keys(at)
    begun = len(held.parts)
    at = settled(press(at, "start run"))
    assert "start run" not in get_button_keys(at)
    assert len(held.parts) <= begun + PARTS


@pytest.mark.heavy
def test_a_pause_ends_no_part_and_starts_none(held):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    at = press(at, "pause run")
    assert "resume run" in get_button_keys(at)
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
    assert "start run" not in get_button_keys(at)


def test_a_pause_that_lapses_is_still_one(held, server):
    at = press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    at = press(at, "pause run")
    request = at.session_state[experiment_runs.RUN_KEY].request
    server.clock.now += request.lease + 1  # while the page was not there
    held.go_on.set()
    assert request.wait(SOON)
    at = sound(at.run())
    assert "start run" in get_button_keys(at)
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
    assert "start run" not in get_button_keys(at)


def test_who_shares_a_part_only_is_not_made_to_run(held):
    press(open_page(**SMALL), "start run")
    assert held.waits.wait(SOON)
    other = open_page(**SMALL | {"batch_size_schemes": "layer,rms"})
    assert "start run" in get_button_keys(other)


def test_a_cluster_that_cannot_be_is_said_and_the_page_stays(monkeypatch):
    def queue():
        raise InvalidInput("the address is wrong.")

    monkeypatch.setattr(experiment_runs, "get_experiment_queue", queue)
    at = open_page(**SMALL)
    assert "start run" in get_button_keys(at)
    at = press(at, "start run")
    assert [error.value for error in at.error] == ["the address is wrong."]
    assert "start run" in get_button_keys(at)


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
    assert "cancel run" in get_button_keys(second)
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
    assert "start run" in get_button_keys(at)


def test_what_a_part_raises_is_said_with_its_place(monkeypatch):
    def steps(self):
        raise MemoryError("there is no room")
        yield

    monkeypatch.setattr(DenseGrid, "steps", steps)
    at = settled(press(open_page(**SMALL), "start run"))
    assert "there is no room" in at.error[0].value
    assert "start run" in get_button_keys(at)
