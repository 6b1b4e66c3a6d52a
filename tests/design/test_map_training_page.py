"""The map as its schemes are trained, on the page, run by Streamlit without a browser; jobs run in a thread here."""

import time
from threading import Event
from urllib.parse import parse_qsl, urlsplit

import pytest
from browsing import ROOT
from lab_page import open_lab, said, sound
from streamlit.testing.v1 import AppTest

from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.panels import training as panel
from normviz.design.panels.training import address, tallied
from normviz.design.search import WEIGHTS
from normviz.design.state import PARAMS, each, has
from normviz.design.training import SAMPLE, Twins, plan, setting_of, total
from normviz.design.training_results import Answer
from normviz.experiments import results, work
from normviz.experiments.results import Archive
from normviz.jobs.desk import Desk
from normviz.jobs.executors import threads
from normviz.jobs.kept import Kept
from normviz.jobs.spec import digest
from normviz.table1 import state as table1
from normviz.ui import custom

SOON = 120  # seconds that a test waits at most


@pytest.fixture(autouse=True)
def server(monkeypatch, tmp_path):
    """A server of its own for every test: its desk and what it keeps."""
    archive = Archive(Kept(tmp_path / "results.sqlite"))
    with threads(1) as pool:
        desk = Desk(pool, clock=lambda: 0.0, done=lambda part: not archive.missing([part]))  # whose time stands still
        monkeypatch.setattr(work, "archive", lambda: archive)
        monkeypatch.setattr(work, "desk", lambda: desk)
        yield archive


@pytest.fixture
def few(monkeypatch):
    """Only the first job of every plan, so that it is soon done."""
    monkeypatch.setattr(panel, "plan", lambda *asked: plan(*asked)[:1])


def open_map(**link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page("pages/design.py")
    at.context["theme"] = "light"
    at.query_params.update({"show": "map"} | link)
    return sound(at.run())


def keys(at):
    return {button.key for button in at.button}


def press(at, key):
    return sound(at.button(key=key).click().run())


def settled(at):
    end = time.monotonic() + SOON
    while "cancel run" in keys(at):
        assert time.monotonic() < end
        at = sound(at.run())
    return at


def test_nothing_is_trained_before_its_button_is_pressed(server):
    at = open_map()
    assert at.button(key="start run").label.startswith("Train 81 schemes · about ")
    assert "So far the map is what the rule says." in said(at)
    assert not server.of(plan("dense", ("none",), None))


def test_what_comes_out_is_counted_and_kept(few, server):
    at = settled(press(open_map(), "start run"))
    (part,) = server.of(plan("dense", ("none",), None))
    assert f"{6 * len(part.rows)} of {6 * len(part.rows)} twins trained" in said(at)
    assert "0 otherwise" in said(at)
    assert "Done: 1 part on the CPU." in " ".join(caption.value for caption in at.caption)
    again = open_map()
    assert "start run" not in keys(again)
    assert "twins trained" in said(again)


def test_an_answer_that_stands_out_is_said_with_the_way_to_table_1(few, server):
    (part,) = plan("dense", ("none",), None)[:1]
    at = settled(press(open_map(), "start run"))
    arrays = dict(server.of([part])[part])
    arrays["agrees"] = arrays["agrees"].copy()
    arrays["agrees"][2, 0] = False
    server.keep(part, arrays)
    at = sound(at.run())
    assert "1 otherwise" in said(at)
    assert f"✘ {panel.told(next(panel.answers(server.of([part]), troubled=True)), 'dense')}" in said(at)


def test_a_run_that_is_cancelled_keeps_what_is_done_and_goes_on(monkeypatch, server):
    waits, go_on, real = Event(), Event(), Twins.steps

    def steps(self):
        for step in real(self):
            yield step
            if self == second:
                waits.set()
                assert go_on.wait(SOON)

    first, second, *_ = plan("dense", ("none",), None)
    monkeypatch.setattr(Twins, "steps", steps)
    at = press(open_map(), "start run")
    assert waits.wait(SOON)
    at = press(at, "cancel run")
    go_on.set()
    assert at.button(key="start run").label.startswith("Train the rest · about ")
    assert not server.missing([first])
    assert f"{6 * len(first.rows)} of 486 twins trained" in said(at)


def test_another_visitor_joins_what_is_at_work(monkeypatch):
    go_on, real = Event(), Twins.steps

    def steps(self):
        for step in real(self):
            yield step
            assert go_on.wait(SOON)

    monkeypatch.setattr(Twins, "steps", steps)
    press(open_map(), "start run")
    assert "cancel run" in keys(open_map())
    assert "start run" in keys(open_map(layer="conv"))
    go_on.set()


@pytest.mark.parametrize(
    ("link", "offered", "count"),
    [
        ({"layer": "dense"}, False, None),
        ({"layer": "dense", "weights": "any", "train": "all"}, False, None),
        ({"layer": "conv"}, True, SAMPLE),
        ({"layer": "conv", "train": "all"}, True, None),
        ({"layer": "conv", "weights": "any", "train": "all"}, False, SAMPLE),
    ],
)
def test_all_are_offered_where_they_take_minutes_and_not_longer(link, offered, count):
    at = open_map(**link)
    view = {param.name: at.session_state[param.key] for param in PARAMS}
    assert (has(view, "train"), each(view)) == (offered, count)
    assert [group.key for group in at.button_group].count("design train") == offered
    assert ("train" in at.query_params) == (offered and "train" in link)


def test_words_hold_for_a_sample_and_for_all():
    assert "Each of the 81 schemes" in tallied(plan("dense", ("none",), None), {}, 81)
    sample = plan("conv", WEIGHTS, SAMPLE)
    assert "of the 26,244 schemes, some of every set" in tallied(sample, {}, total("conv", WEIGHTS))


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_table_1_opens_with_the_very_scheme(layer):
    rows = [row for part in plan(layer, WEIGHTS, 1) for row in part.rows]
    for row in rows:
        key = next(iter(TRANSFORMATIONS))
        answer = Answer(row, key, True, True, True, 0.0, 0.0, True, "")
        link = dict(parse_qsl(urlsplit(address(answer, layer)).query))
        at = open_lab("pages/invariance.py", **link) if row == rows[-1] else None
        if at is not None:
            view = {param.name: at.session_state[param.key] for param in table1.PARAMS}
            (scheme,) = table1.schemes_of(view)
            setting, own = table1.setting_of(view), setting_of(layer, 0)
            assert (setting, scheme.summation, scheme.suppression) == (own, *row.scheme.fields)
            assert scheme.weight == row.weight
        else:
            assert custom.link_of(row.scheme).items() <= link.items() or row.key != "custom"


def test_looks_at_a_run_name_each_of_its_parts_once(monkeypatch, server):
    named = []
    monkeypatch.setattr(results, "digest", lambda part: named.append(part) or digest(part))
    parts = plan("conv", ("none",), SAMPLE, 78)
    for _ in range(3):
        assert server.missing(parts) == [*parts]
        assert not server.damaged(parts)
    assert named == [*parts]
