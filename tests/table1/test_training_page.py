"""The Table 1 page while it trains: slow pages, closed ones, several with one view, and those that are cancelled."""

from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from lab_page import sound, texts
from table_page import SMALL, cells_of, open_now, settled, trains

from normviz.core.schemes import SCHEMES
from normviz.jobs.desk import Ticket
from normviz.networks import twins
from normviz.networks.problem import NETWORKS
from normviz.networks.setting import Setting
from normviz.table1 import training_panels
from normviz.table1.state import PREFIX
from normviz.table1.training import Outcome
from normviz.table1.training_panels import POLL

HEAVY = {"layer": "conv", "width": "32", "batch": "64", "steps": "2000"}
HEAVY_SETTING = Setting(layer="conv", width=32, batch=64, steps=2000, seed=98)
SOON = 60  # seconds that a test waits at most for what should come at once


@pytest.fixture
def held(monkeypatch):
    """Trainings that wait after their third step."""

    class Held:
        waits, go_on, schemes = Event(), Event(), []

    real = twins.training

    def training(schemes, setting, networks):
        Held.schemes.append([scheme.key for scheme in schemes])
        for losses in real(schemes, setting, networks):
            yield losses
            if len(losses) == 3:
                Held.waits.set()
                assert Held.go_on.wait(SOON)

    monkeypatch.setattr(twins, "training", training)
    yield Held
    Held.go_on.set()


class Clock:
    """The desk's time, which passes when the test says so."""

    now = 0.0

    def __call__(self):
        return self.now

    def lapse(self):
        """Let every ticket lapse that is not renewed."""
        self.now += training_panels.desk().lease + 0.1


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(training_panels.desk(), "clock", clock)
    return clock


def asked(at):
    """What the page has asked for, with its ticket."""
    return at.session_state[training_panels.KEY]


def answers(at):
    """The answers of training in all cells."""
    return {cell["marks"][2]["answer"] for cell in cells_of(at).values()}


def says_stopped(at):
    """Whether it says that training was stopped."""
    return any("Training was stopped" in text for text in texts(at.markdown))


def test_a_run_that_nobody_looks_at_any_more_ends(clock):
    assert training_panels.desk().lease + POLL < 15
    at = open_now(**HEAVY, seed="99")
    assert trains(at)
    ticket = asked(at).ticket
    clock.now = training_panels.desk().lease / 2
    assert not ticket.wait(0.2)
    clock.lapse()  # the tab was closed: nothing has renewed the ticket
    assert ticket.wait(SOON)
    assert len(training_panels.results().losses(SCHEMES["batch"], replace(HEAVY_SETTING, seed=99))) < 2000


def test_a_page_that_looks_again_renews_its_ticket(held, clock):
    at = open_now(schemes="rms", seed="30", **SMALL)
    assert held.waits.wait(SOON)
    ticket = asked(at).ticket
    for _ in range(4):
        clock.now += training_panels.desk().lease / 2
        at = sound(at.run())
        assert asked(at).ticket is ticket
        assert not ticket.run.stopped()


def test_a_page_that_was_merely_slow_trains_the_rest_by_itself(held, clock, monkeypatch):
    """On a busy machine a ticket lapses and its job is told; then the page looks again, and meanwhile the job ends."""
    at = open_now(schemes="none,batch", rate="1e6", seed="31", **(SMALL | {"steps": "50"}))
    assert held.waits.wait(SOON)
    ticket, wait = asked(at).ticket, Ticket.wait
    clock.lapse()
    assert ticket.run.stopped()

    def ends_meanwhile(self, seconds):
        held.go_on.set()
        return wait(self, SOON)

    with monkeypatch.context() as busy:
        busy.setattr(Ticket, "wait", ends_meanwhile)
        at = sound(at.run())
    assert ticket.over
    assert "wait" in answers(at)
    assert trains(at)
    assert not says_stopped(at)
    at = settled(at)
    assert "wait" not in answers(at)
    assert not says_stopped(at)


def test_a_page_that_is_always_too_slow_gets_longer_leases(held, clock):
    at = open_now(schemes="rms", seed="36", **SMALL)
    leases = []
    for _ in range(6):
        assert held.waits.wait(SOON)
        ticket = asked(at).ticket
        leases.append(ticket.lease)
        clock.now += ticket.lease + 0.1
        held.waits.clear()
        assert ticket.run.stopped()
        held.go_on.set()
        assert ticket.wait(SOON)
        held.go_on.clear()
        at = sound(at.run())
    assert leases == [10.0, 20.0, 40.0, 80.0, 160.0, 160.0]
    held.go_on.set()
    assert "wait" not in answers(settled(at))


def test_equal_pages_of_two_sessions_train_once(held):
    pages = [open_now(schemes="rms", seed="32", **SMALL) for _ in range(2)]
    assert held.waits.wait(SOON)
    assert asked(pages[0]).ticket.run is asked(pages[1]).ticket.run
    pages[0] = sound(pages[0].button(key="cancel").click().run())
    assert says_stopped(pages[0])
    assert trains(sound(pages[1].run()))
    held.go_on.set()
    assert "wait" not in answers(settled(pages[1]))
    assert held.schemes == [["rms"]]
    assert "wait" not in answers(sound(pages[0].run()))  # what was trained for one is there for all


def test_another_view_takes_the_place_of_the_old_one(held):
    at = open_now(schemes="rms", seed="33", **SMALL)
    assert held.waits.wait(SOON)
    old = asked(at).ticket
    assert asked(sound(at.run())).ticket is old
    run = old.run
    at.session_state[PREFIX + "seed"] = 34
    at = sound(at.run())
    assert run.stopped()
    assert not asked(at).ticket.run.stopped()
    held.go_on.set()
    assert "wait" not in answers(settled(at))
    assert old.wait(SOON)


def test_what_another_session_has_trained_meanwhile_is_not_waited_for(held):
    at = open_now(schemes="rms", seed="35", **SMALL)
    assert held.waits.wait(SOON)
    (job,), run = asked(at).missing(), asked(at).ticket.run
    training_panels.results().keep(job, Outcome(np.ones((5, 1, len(NETWORKS))), {}, "CPU"))
    at = sound(at.run())
    assert not trains(at)
    assert run.stopped()


def test_cancel_stops_the_run_and_it_can_be_taken_up_again():
    at = open_now(**HEAVY, seed="98")
    ticket = asked(at).ticket
    at = sound(at.button(key="cancel").click().run())
    assert ticket.wait(SOON)
    assert len(training_panels.results().losses(SCHEMES["batch"], HEAVY_SETTING)) < 2000
    for _ in range(2):
        at = sound(at.run())
        assert says_stopped(at)
        assert not trains(at)
    assert asked(at).ticket is None
    at = sound(at.button(key="again").click().run())
    assert trains(at)
    again = asked(at).ticket
    assert not again.over
    again.cancel()
    assert again.wait(SOON)
