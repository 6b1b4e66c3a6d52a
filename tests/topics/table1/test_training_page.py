"""The Table 1 page while it trains: slow pages, closed ones, several with one view, and those that are cancelled."""

import re
from concurrent.futures import Executor, Future
from threading import Event

import numpy as np
import pytest
from lab_page import sound, texts
from table_page import SMALL, cells_of, open_now, settled, trains

from normviz.core.registry import SCHEMES
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.requests import JobRequest
from normviz.jobs.speed import SpeedEstimator
from normviz.topics.table1 import training_panels
from normviz.topics.table1.state import PREFIX
from normviz.topics.table1.training import TableTrainingOutcome
from normviz.train import twins
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting
from normviz.ui.runs import PAGE_POLL_SECONDS
from normviz.ui.sessions import PRESENCE_KEY as PRESENCE
from normviz.ui.sessions import SessionPresence

LONG = {"layer": "conv", "width": "128", "depth": "4", "batch": "256", "steps": "1000"}
"""Hours of training, before which the page asks."""
SOON = 60  # seconds that a test waits at most for what should come at once


@pytest.fixture
def held(monkeypatch, clock):
    """Trainings that wait after their third step, however long the test takes to get there: no request lapses."""

    class Held:
        waits, go_on, schemes = Event(), Event(), []

    real = twins.train_stepwise

    def training(schemes, setting, networks):
        Held.schemes.append([scheme.key for scheme in schemes])
        for losses in real(schemes, setting, networks):
            yield losses
            if len(losses) == 3:
                Held.waits.set()
                assert Held.go_on.wait(SOON)

    monkeypatch.setattr(twins, "train_stepwise", training)
    yield Held
    Held.go_on.set()


class Clock:
    """The queue's time, which passes when the test says so."""

    now = 0.0

    def __call__(self):
        return self.now

    def lapse(self):
        """Let every request lapse that is not renewed."""
        self.now += training_panels.get_table_queue().lease + 0.1


@pytest.fixture(autouse=True)
def _usual_speed(monkeypatch):
    """Trainings take as long as modelled, whatever tests before have held up: the page asks before long ones."""
    speed = SpeedEstimator()
    for name in ("get_table_queue", "get_long_training_queue"):
        monkeypatch.setattr(getattr(training_panels, name)(), "speed", speed)


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(training_panels.get_table_queue(), "clock", clock)
    return clock


def asked(at):
    """What the page has asked for, with its request."""
    return at.session_state[training_panels.KEY]


def count_steps(scheme, seed):
    """Return the number of steps whose losses are there, of a training of SMALL."""
    setting = Setting(**{name: int(value) for name, value in SMALL.items()}, seed=seed)
    return len(training_panels.get_table_result_cache().get_losses(SCHEMES[scheme], setting))


def says_stopped(at):
    """Whether it says that training was stopped."""
    return any("Training was stopped" in text for text in texts(at.markdown))


def test_a_run_that_nobody_looks_at_any_more_ends(held, clock):
    assert training_panels.get_table_queue().lease + PAGE_POLL_SECONDS < 15
    at = open_now(schemes="batch", seed="99", **SMALL)
    assert trains(at)
    assert held.waits.wait(SOON)
    request = asked(at).request
    clock.now = training_panels.get_table_queue().lease / 2
    assert not request.wait(0.2)
    assert not request.runs[0].should_stop()
    clock.lapse()  # the tab was closed: nothing has renewed the request
    held.go_on.set()
    assert request.wait(SOON)
    assert count_steps("batch", 99) < int(SMALL["steps"])


def test_a_page_that_looks_again_renews_its_request(held, clock):
    at = open_now(reveal="1", schemes="rms", seed="30", **SMALL)
    assert held.waits.wait(SOON)
    request = asked(at).request
    for _ in range(4):
        clock.now += training_panels.get_table_queue().lease / 2
        at = sound(at.run())
        assert asked(at).request is request
        assert not request.runs[0].should_stop()


def test_who_waits_for_others_is_told_how_long(held, clock, monkeypatch):
    with create_thread_pool(1) as pool:
        queue = JobQueue(pool, workers=1, clock=clock)
        monkeypatch.setattr(training_panels, "get_table_queue", lambda: queue)
        open_now(reveal="1", schemes="rms", seed="70", **SMALL)
        assert held.waits.wait(SOON)
        other = open_now(reveal="1", schemes="rms", seed="71", **SMALL)
        (bar,) = other.get("progress")
        assert re.fullmatch(r"Waiting: done in about \d+ seconds? \(1 job is ahead of yours\)", bar.proto.text)
        held.go_on.set()


def test_a_page_that_was_merely_slow_trains_the_rest_by_itself(held, clock, monkeypatch):
    """On a busy machine a request lapses and its job is told; then the page looks again, and meanwhile the job ends."""
    at = open_now(schemes="none,batch", rate="1e6", seed="31", **(SMALL | {"steps": "50"}))
    assert held.waits.wait(SOON)
    request, wait = asked(at).request, JobRequest.wait
    clock.lapse()
    assert request.runs[0].should_stop()

    def ends_meanwhile(self, seconds):
        held.go_on.set()
        return wait(self, SOON)

    with monkeypatch.context() as busy:
        busy.setattr(JobRequest, "wait", ends_meanwhile)
        at = sound(at.run())
    assert request.is_over
    assert asked(at).find_missing_jobs()
    assert trains(at)
    assert not says_stopped(at)
    at = settled(at)
    assert not asked(at).find_missing_jobs()
    assert not says_stopped(at)


def test_a_page_that_is_open_keeps_its_training_however_late_it_looks(held, clock, monkeypatch):
    """As in a tab in the background, or on a busy server; and a page that was left does not."""
    monkeypatch.setattr(SessionPresence, "is_on_page", lambda presence, page: presence.page == page)
    at = open_now(reveal="1", schemes="rms", seed="36", **SMALL)
    assert held.waits.wait(SOON)
    request = asked(at).request
    for _ in range(6):
        clock.now += 60.0
        assert not request.runs[0].should_stop()
    at.session_state[PRESENCE].page = "lab"
    clock.lapse()
    assert request.runs[0].should_stop()


def test_equal_pages_of_two_sessions_train_once(held):
    pages = [open_now(reveal="1", schemes="rms", seed="32", **SMALL) for _ in range(2)]
    assert held.waits.wait(SOON)
    assert asked(pages[0]).request.runs[0] is asked(pages[1]).request.runs[0]
    pages[0] = sound(pages[0].button(key="cancel").click().run())
    assert says_stopped(pages[0])
    assert trains(sound(pages[1].run()))
    held.go_on.set()
    assert not asked(settled(pages[1])).find_missing_jobs()
    assert held.schemes == [["rms"]]
    assert not asked(sound(pages[0].run())).find_missing_jobs()  # what was trained for one is there for all


def test_another_view_takes_the_place_of_the_old_one(held):
    at = open_now(reveal="1", schemes="rms", seed="33", **SMALL)
    assert held.waits.wait(SOON)
    old = asked(at).request
    assert asked(sound(at.run())).request is old
    run = old.runs[0]
    at.session_state[PREFIX + "seed"] = 34
    at = sound(at.run())
    assert run.should_stop()
    assert not asked(at).request.runs[0].should_stop()
    held.go_on.set()
    assert not asked(settled(at)).find_missing_jobs()
    assert old.wait(SOON)


def test_what_another_session_has_trained_meanwhile_is_not_waited_for(held):
    at = open_now(reveal="1", schemes="rms", seed="35", **SMALL)
    assert held.waits.wait(SOON)
    (job,), run = asked(at).find_missing_jobs(), asked(at).request.runs[0]
    training_panels.get_table_result_cache().store_outcome(
        job, TableTrainingOutcome(np.ones((5, 1, len(NETWORKS))), {}, "CPU")
    )
    at = sound(at.run())
    assert not trains(at)
    assert run.should_stop()


def test_cancel_stops_the_run_and_it_can_be_taken_up_again(held):
    at = open_now(reveal="1", schemes="batch", seed="98", **SMALL)
    assert held.waits.wait(SOON)
    request = asked(at).request
    at = sound(at.button(key="cancel").click().run())
    held.go_on.set()
    assert request.wait(SOON)
    assert count_steps("batch", 98) < int(SMALL["steps"])
    for _ in range(2):
        at = sound(at.run())
        assert says_stopped(at)
        assert not trains(at)
    assert asked(at).request is None
    held.go_on.clear()
    at = sound(at.button(key="again").click().run())
    assert trains(at)
    again = asked(at).request
    assert not again.is_over
    again.cancel()
    held.go_on.set()
    assert again.wait(SOON)


# --- what takes long ----------------------------------------------------------------------------------------------


@pytest.fixture
def idle(monkeypatch):
    """The queues for trainings, at which nothing is done."""

    class Idle(Executor):
        handed_in = 0

        def submit(self, function, /, *arguments):
            Idle.handed_in += 1
            future = Future()
            future.set_running_or_notify_cancel()
            return future

    for name in ("get_table_queue", "get_long_training_queue"):
        queue = JobQueue(Idle(), workers=1)
        monkeypatch.setattr(training_panels, name, lambda queue=queue: queue)
    return Idle


def buttons(at, start):
    """The buttons whose key starts so, by key."""
    return {button.key: button.label for button in at.button if (button.key or "").startswith(start)}


def test_what_takes_long_is_said_before_it_starts(idle):
    at = open_now(**LONG, reveal="1", schemes="batch,weight,layer", seed="60")
    said = " ".join(texts(at.markdown))
    assert "takes about **" in said
    assert " hours** on this machine" in said
    assert "MB of its memory" in said
    assert not trains(at)
    assert idle.handed_in == 0
    assert len(cells_of(at)) == 18
    at = sound(at.button(key="anyway").click().run())
    assert trains(at)
    assert idle.handed_in == 1
    assert "hours to go" in at.get("progress")[0].proto.text
    at = sound(at.button(key="cancel").click().run())
    assert says_stopped(at)
    assert "anyway" not in buttons(at, "anyway")


def test_an_offer_is_taken_with_one_click_and_nothing_else_is_lost(idle):
    at = open_now(**LONG, schemes="batch,rms", seed="61", delta="7", cell="rms.case-rescaling")
    key, *_ = buttons(at, "offer")
    at = sound(at.button(key=key).click().run())
    assert not buttons(at, "offer")
    assert trains(at)
    assert idle.handed_in == 1
    view = {name: at.session_state[PREFIX + name] for name in ("schemes", "delta", "seed", "cell", "layer")}
    assert view == {
        "schemes": ["batch", "rms"],
        "delta": 7.0,
        "seed": 61,
        "cell": "rms.case-rescaling",
        "layer": "conv",
    }


def test_another_panel_neither_starts_again_nor_ends_what_trains(held):
    at = open_now(schemes="rms", seed="62", **SMALL)
    assert held.waits.wait(SOON)
    run = asked(at).request.runs[0]
    for panel in ("delta", "training"):
        at.session_state[PREFIX + "panel"] = panel
        at = sound(at.run())
        assert asked(at).request.runs[0] is run
        assert not run.should_stop()
