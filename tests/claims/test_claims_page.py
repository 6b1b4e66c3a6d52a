"""The page of claims: what it says of each, as it is measured, once it is, and where that fails."""

import re
import time
from threading import Event
from urllib.parse import parse_qsl, urlsplit

import numpy as np
import pytest
from lab_page import ROOT, replaced, said, sound, texts
from streamlit.testing.v1 import AppTest

from normviz.claims import jobs, panels, wording
from normviz.claims.claim import Evidence, Trial, Tried
from normviz.claims.ledger import CLAIMS, TOPICS, get_claims
from normviz.claims.sources import SOURCES
from normviz.claims.state import FOLDED, KEYS, OPEN, PREFIX
from normviz.claims.verdicts import VERDICTS
from normviz.describe.markdown import escape
from normviz.experiments import work
from normviz.experiments.results import Archive
from normviz.jobs.desk import Desk
from normviz.jobs.executors import threads
from normviz.jobs.kept import Kept

SOON = 60  # seconds that a test waits at most
QUICK = [claim for claim in CLAIMS.values() if claim.quick]
ONE = next(claim for claim in QUICK if claim.expected == "wrong")
EVERY = ",".join(FOLDED)
TRIALS = {
    "holds": [Trial("what is claimed", True, (0.25, 0.5, 0.75))],
    "holds-if": [Trial("here", True, (0.25,)), Trial("there", False)],
    "wrong": [Trial("what is claimed", False, (2.0,)), Trial("what is right", True, (0.0,), fact=True)],
    "opinion": [Trial("one side", True), Trial("the other", False)],
}


def pretended(claim, seed):
    """What the verdict on record rests on, without a measurement."""
    word = CLAIMS[claim].expected
    return Evidence(TRIALS[word], word == "opinion")


@pytest.fixture(autouse=True)
def server(monkeypatch, tmp_path):
    """A server of its own for every test, whose checks take no time."""
    asked = []

    def evidence_of(claim, seed):
        asked.append((claim, seed))
        return pretended(claim, seed)

    class Server:
        measured = asked

        def restart(self):
            archive = Archive(Kept(tmp_path / "results.sqlite"))
            monkeypatch.setattr(work, "archive", lambda: archive)

    with threads(2) as pool:
        desk = Desk(pool, at_once=2)
        monkeypatch.setattr(work, "desk", lambda: desk)
        monkeypatch.setattr(jobs, "evidence_of", evidence_of)
        new = Server()
        new.restart()
        yield new


def open_page(**link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page("pages/claims.py")
    at.context["theme"] = "light"
    at.query_params.update(link)
    return sound(at.run())


def settled(at):
    """The page once nothing is at work."""
    deadline = time.monotonic() + SOON
    while at.get("progress"):
        assert time.monotonic() < deadline
        at = sound(at.run())
    return at


def measured(**link):
    at = open_page(**link)
    if "measure" in {button.key for button in at.button}:
        at = sound(at.button(key="measure").click().run())
    return settled(at)


def rows(at):
    """The verdict of every claim that is shown, by its id."""
    words = {each.name: key for key, each in VERDICTS.items()}
    found = {}
    for each in at.expander:
        chip, claim = re.match(r":color\[(.*?)\]\{.*?\} \*\*(\w+)\*\* ", each.label).groups()
        found[claim] = words[chip.replace("\N{NO-BREAK SPACE}", " ")]
    return found


def headline(at):
    return next(text for text in texts(at.markdown) if " claims:" in text).replace("\N{NO-BREAK SPACE}", " ")


def test_the_page_opens_on_what_is_wrong_or_needs_a_condition():
    at = measured()
    order = ("wrong", "holds-if", "open")
    surprising = {claim.id for claim in CLAIMS.values() if claim.expected in order}
    assert {*rows(at)} == surprising
    verdicts = [CLAIMS[each].expected for each in rows(at)]
    assert verdicts == sorted(verdicts, key=order.index)
    assert len([each for each in at.button if each.key.startswith(PREFIX + "fold ")]) == len(FOLDED)


@pytest.mark.parametrize("group", FOLDED)
def test_a_folded_group_opens_in_the_link_and_closes(group):
    at = measured()
    before = [*rows(at)]
    at = sound(at.button(key=f"{PREFIX}fold {group}").click().run())
    assert at.query_params["open"] == group
    more = {*rows(at)} - {*before}
    assert {claim.id for claim in CLAIMS.values() if claim.id in more} == more != set()
    assert (more <= {claim.id for claim in TOPICS["Table 1"]}) == (group == "table-1")
    at = sound(at.button(key=f"{PREFIX}fold {group}").click().run())
    assert [*rows(at)] == before
    assert at.query_params == {}


def test_a_link_to_a_claim_of_a_folded_group_shows_it():
    claim = next(claim for claim in QUICK if claim.expected == "holds" and claim not in TOPICS["Table 1"])
    assert claim.id in rows(measured(claim=claim.id))
    assert "T01" in rows(measured(topic="table-1"))


def test_every_claim_is_measured_by_itself_and_counted():
    at = measured(open=EVERY)
    found = rows(at)
    assert found == {claim.id: claim.expected if claim.quick else "unmeasured" for claim in CLAIMS.values()}
    for key, verdict in VERDICTS.items():
        count = [*found.values()].count(key)
        assert (verdict.counted(count) in headline(at)) == (count > 0)
    assert f"**{len(CLAIMS)}** of {len(CLAIMS)} claims" in said(at)
    assert "On record" not in " ".join(each.label for each in at.expander)
    assert at.query_params == {"open": EVERY}


def test_what_is_not_measured_yet_says_so(monkeypatch):
    waits = Event()
    monkeypatch.setattr(jobs, "evidence_of", lambda claim, seed: waits.wait(SOON) and pretended(claim, seed))
    at = open_page(claim=ONE.id)
    assert set(rows(at).values()) == {"unmeasured"}
    assert at.get("progress")
    assert "Not measured yet." in said(at)
    waits.set()
    assert rows(settled(at))[ONE.id] == ONE.expected


FILTERS = [
    *(pytest.param({"topic": key}, lambda claim, key=key: claim in TOPICS[KEYS[key]], id=key) for key in KEYS),
    *(pytest.param({"source": key}, lambda claim, key=key: key in claim.sources, id=key) for key in SOURCES),
    *(
        pytest.param({"verdict": key}, lambda claim, key=key: claim.quick and claim.expected == key, id=key)
        for key in TRIALS
    ),
    pytest.param(
        {"verdict": "holds,wrong", "source": "001"},
        lambda claim: claim.quick and claim.expected in ("holds", "wrong") and "001" in claim.sources,
        id="several",
    ),
]


@pytest.mark.parametrize(("link", "lets_through"), FILTERS)
def test_a_filter_is_in_the_link_and_says_how_many_it_shows(link, lets_through):
    at = measured(**link)
    wanted = [claim.id for claim in CLAIMS.values() if lets_through(claim)]
    assert sorted(rows(at)) == sorted(wanted)
    assert f"**{len(wanted)}** of {len(CLAIMS)} claims" in said(at)
    assert f"**{len(CLAIMS)} claims:**" in headline(at)
    assert at.query_params == link


def test_a_filter_is_chosen_on_the_page():
    at = measured()
    topic = next(name for name, claims in TOPICS.items() if claims)
    at = sound(at.selectbox(key=PREFIX + "topic").set_value(next(key for key in KEYS if KEYS[key] == topic)).run())
    assert {*rows(at)} == {claim.id for claim in TOPICS[topic]}


@pytest.mark.parametrize("topic", KEYS)
def test_an_open_claim_shows_what_there_is_about_it(topic):
    claims = {claim.id: claim for claim in TOPICS[KEYS[topic]] if claim.quick}
    at = measured(topic=topic, claim=",".join(claims), seed="7")
    panels = {re.search(r"\*\*(\w+)\*\* ", each.label).group(1): each for each in at.expander}
    for key, claim in claims.items():
        panel = panels[key]
        text = said(panel)
        for source in claim.sources:
            assert escape(SOURCES[source].citation) in text
        assert escape(claim.how) in text
        assert escape(claim.condition) in text
        for trial in pretended(key, 7).trials:
            assert escape(trial.number) in text
        (see,) = (link.proto for link in panel.get("page_link"))
        assert parse_qsl(see.query_string) == parse_qsl(urlsplit(claim.see).query)
        code, command = (each.value for each in panel.code)
        assert "def " in code
        assert command == f"normviz claims --id {key} --seed 7"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_the_code_of_a_check_is_short(claim):
    code, language = wording.measures(claim, 0)
    assert language in ("python", "bash")
    assert 1 <= len(code.splitlines()) <= 45


def test_several_are_open_and_each_closes_by_itself():
    ids = [claim.id for claim in QUICK[:2]]
    at = measured(claim=",".join(ids))
    assert len(at.get("page_link")) == 2
    at.session_state[OPEN] = ids[1:]
    at = sound(at.run())
    assert len(at.get("page_link")) == 1
    assert at.query_params["claim"] == ids[1]


def test_a_verdict_that_is_not_the_one_on_record_is_said(monkeypatch):
    other = "wrong" if ONE.expected == "holds" else "holds"
    monkeypatch.setattr(jobs, "evidence_of", lambda claim, seed: Evidence(TRIALS[other]))
    at = measured(open=EVERY)
    assert rows(at)[ONE.id] == other
    (label,) = (each.label for each in at.expander if f"**{ONE.id}**" in each.label)
    assert label.endswith(f"**On record: {VERDICTS[ONE.expected].name}.**")
    assert "Other than on record" in said(at)


def test_a_link_with_a_seed_of_its_own_begins_nothing():
    at = settled(open_page(seed="7"))
    assert {*rows(at).values()} == {"unmeasured"}
    assert at.button(key="measure").label == "Measure from seed 7 on"


def test_an_experiment_whose_report_raises_fails_alone():
    tried = next(claim for claim in CLAIMS.values() if isinstance(claim.check, Tried))
    parts = jobs.long_parts([tried], 0)
    found, faults = jobs.evidence([tried], 0, {part: {"share": np.array(1.0)} for part in parts})
    assert (set(found), set(faults)) == (set(), {tried.id})


def test_a_check_that_raises_says_what_and_where_and_the_others_stay(monkeypatch):
    def evidence_of(claim, seed):
        if claim == ONE.id:
            get_claims(None)
        return pretended(claim, seed)

    monkeypatch.setattr(jobs, "evidence_of", evidence_of)
    at = measured(claim=ONE.id)
    assert {claim for claim, verdict in rows(at).items() if verdict == "failed"} == {ONE.id}
    assert VERDICTS["failed"].counted(1) in headline(at)
    (error,) = texts(at.error)
    assert "TypeError" in error
    assert re.search(r"normviz/.*\.py, line \d+", error)


def test_a_worker_that_is_lost_is_said_and_it_is_tried_again(monkeypatch):
    real = jobs.Checks.steps

    def steps(self):
        raise MemoryError("there is no room")
        yield

    monkeypatch.setattr(jobs.Checks, "steps", steps)
    at = measured()
    assert "there is no room" in at.error[0].value
    assert set(rows(at).values()) == {"unmeasured"}
    monkeypatch.setattr(jobs.Checks, "steps", real)
    at = settled(sound(at.button(key="measure again").click().run()))
    assert not at.error
    assert rows(at)[ONE.id] == ONE.expected


NONSENSE = {"topic": "💥", "source": "9", "verdict": "maybe,1e999", "claim": "L04x,,zz", "seed": "-3"}


def test_nonsense_in_a_link_is_replaced_and_said():
    at = measured(**NONSENSE, open=EVERY)
    assert len(rows(at)) == len(CLAIMS)
    assert len(replaced(at)) >= 4


def test_visitors_share_what_is_measured_and_it_is_kept(server):
    first, second = open_page(), open_page()
    settled(first)
    settled(second)
    assert sorted(server.measured) == sorted((claim.id, 0) for claim in QUICK)
    server.restart()
    assert rows(open_page())[ONE.id] == ONE.expected
    assert len(server.measured) == len(QUICK)


def test_another_seed_is_measured_anew(server):
    at = measured()
    at = sound(at.number_input(key=PREFIX + "seed").set_value(3).run())
    settled(sound(at.button(key="measure").click().run()))
    assert {seed for _, seed in server.measured} == {0, 3}


@pytest.fixture
def slow(monkeypatch):
    """One claim that takes longer than the others, and its job."""
    wanted = jobs.Checks((ONE.id,), 0, "a code of its own")
    monkeypatch.setattr(panels, "quick_parts", lambda claims, seed: [])
    monkeypatch.setattr(panels, "long_parts", lambda claims, seed: [wanted])
    return wanted


def test_what_takes_long_waits_for_a_button_and_is_then_kept(slow, server):
    at = open_page()
    assert rows(at)[ONE.id] == "unmeasured"
    assert not server.measured
    at = settled(sound(at.button(key="start run").click().run()))
    assert rows(at)[ONE.id] == ONE.expected
    server.restart()
    at = open_page()
    assert rows(at)[ONE.id] == ONE.expected
    assert "start run" not in {button.key for button in at.button}


def test_a_table_has_what_is_shown_and_measured():
    known = panels.Known({ONE.id: pretended(ONE.id, 0)}, {})
    table = panels.numbers([*CLAIMS.values()], known)
    assert table["id"] == [ONE.id]
    assert table["verdict"] == [ONE.expected]
    assert {len(column) for column in table.values()} == {1}
