"""The page of claims: the verdict of each at once, its evidence when it is opened, and a measurement on request."""

import re
import time
from urllib.parse import parse_qsl, urlsplit

import pytest
from lab_page import ROOT, replaced, said, sound, texts
from streamlit.testing.v1 import AppTest

from normviz.describe.markdown import escape_markdown
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.topics.claims import jobs, panels, shipped
from normviz.topics.claims.claim import Evidence
from normviz.topics.claims.claim_list import CLAIMS, TOPICS
from normviz.topics.claims.shipped import find_shipped_evidence, round_values
from normviz.topics.claims.sources import SOURCES
from normviz.topics.claims.state import (
    FIRST_CLAIMS,
    FOLDED_GROUPS,
    OPEN_CLAIMS_KEY,
    PREFIX,
    TABLE_KEY,
    TOPIC_NAMES,
    find_group,
)
from normviz.topics.claims.trials import Trial
from normviz.topics.claims.verdicts import VERDICTS
from normviz.topics.claims.wording import describe_test
from normviz.topics.experiments import experiment_runs

SOON = 60  # seconds that a test waits at most
ONE = CLAIMS["L04"]
EVERY = ",".join(FOLDED_GROUPS)
FILLED_GROUPS = [group for group in FOLDED_GROUPS if group in map(find_group, CLAIMS.values())]


@pytest.fixture(autouse=True)
def server(monkeypatch, tmp_path):
    """A server of its own for every test, whose checks take no time and say "holds"; gives what it has measured."""
    measured = []

    def measure_claim(claim, seed):
        measured.append((claim.id, seed))
        return Evidence([Trial("here and now", True, (0.25, 0.5, 0.75))])

    archive = ResultArchive(ResultCache(tmp_path / "results.sqlite"))
    monkeypatch.setattr(experiment_runs, "get_archive", lambda: archive)
    monkeypatch.setattr(jobs, "measure_claim", measure_claim)
    with create_thread_pool(2) as pool:
        queue = JobQueue(pool, jobs_per_request=2)
        monkeypatch.setattr(experiment_runs, "get_experiment_queue", lambda: queue)
        yield measured


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


def again(at, claim):
    return settled(sound(at.button(key=f"{PREFIX}again {claim.id}").click().run()))


def shown(at):
    """The verdict of every claim that is shown, by its id."""
    words = {each.name: key for key, each in VERDICTS.items()}
    lines = {escape_markdown(claim.summary): claim.id for claim in CLAIMS.values()}
    found = {}
    for each in at.expander:
        if match := re.match(r":color\[(.*?)\]\{.*?\} \*\*(.*)\*\* (.*)", each.label):
            assert match[3] == escape_markdown(CLAIMS[lines[match[2]]].reason)
            found[lines[match[2]]] = words[match[1].replace("\N{NO-BREAK SPACE}", " ")]
    return found


def test_the_page_opens_on_what_beginners_hear_and_measures_nothing(server):
    at = open_page()
    assert [*shown(at)] == list(FIRST_CLAIMS)
    assert {CLAIMS[each].expected for each in FIRST_CLAIMS} <= {"wrong", "holds-if"}
    assert len([each for each in at.button if each.key.startswith(PREFIX + "fold ")]) == len(FILLED_GROUPS)
    assert "start" not in " ".join(str(each.key) for each in at.button)
    assert server == []


def test_every_verdict_is_there_at_once_and_counted():
    at = open_page(open=EVERY)
    assert shown(at) == {claim.id: claim.expected for claim in CLAIMS.values()}
    headline = next(text for text in texts(at.markdown) if " claims:" in text)
    for key, verdict in VERDICTS.items():
        count = sum(claim.expected == key for claim in CLAIMS.values())
        assert not count or verdict.format_count(count) in headline.replace("\N{NO-BREAK SPACE}", " ")
    assert at.query_params == {"open": EVERY}


def test_no_row_shows_an_id():
    at = open_page(open=EVERY)
    assert not any(re.search(r"\b[A-Z]+\d\d\b", each.label) for each in at.expander)


@pytest.mark.parametrize("group", FILLED_GROUPS)
def test_a_folded_group_opens_in_the_link_and_closes(group):
    at = open_page()
    before = [*shown(at)]
    at = sound(at.button(key=f"{PREFIX}fold {group}").click().run())
    assert at.query_params["open"] == group
    more = {*shown(at)} - {*before}
    assert more == {claim.id for claim in CLAIMS.values() if find_group(claim) == group} != set()
    assert (more <= {claim.id for claim in TOPICS["Table 1"]}) == (group == TABLE_KEY)
    at = sound(at.button(key=f"{PREFIX}fold {group}").click().run())
    assert [*shown(at)] == before
    assert at.query_params == {}


def test_a_link_to_a_claim_of_a_folded_group_shows_it():
    assert "I03" in shown(open_page(claim="I03"))
    assert "T01" in shown(open_page(topic="table-1"))


FILTERS = [
    *(
        pytest.param({"topic": key}, lambda claim, key=key: claim in TOPICS[TOPIC_NAMES[key]], id=key)
        for key in TOPIC_NAMES
    ),
    *(pytest.param({"source": key}, lambda claim, key=key: key in claim.sources, id=key) for key in SOURCES),
    *(pytest.param({"verdict": key}, lambda claim, key=key: claim.expected == key, id=key) for key in VERDICTS),
    pytest.param(
        {"verdict": "holds,wrong", "source": "001"},
        lambda claim: claim.expected in ("holds", "wrong") and "001" in claim.sources,
        id="several",
    ),
]


@pytest.mark.parametrize(("link", "lets_through"), FILTERS)
def test_a_filter_is_in_the_link_and_says_how_many_it_shows(link, lets_through):
    at = open_page(**link)
    wanted = [claim.id for claim in CLAIMS.values() if lets_through(claim)]
    assert sorted(shown(at)) == sorted(wanted)
    assert f"**{len(wanted)}** of {len(CLAIMS)} claims" in said(at)
    assert at.query_params == link


def test_a_filter_is_chosen_on_the_page():
    at = open_page()
    at = sound(at.selectbox(key=PREFIX + "topic").set_value("layer-norm").run())
    assert {*shown(at)} == {claim.id for claim in TOPICS["Layer norm"]}


@pytest.mark.parametrize("topic", TOPIC_NAMES)
def test_an_open_claim_shows_what_there_is_about_it(topic):
    claims = {claim.id: claim for claim in TOPICS[TOPIC_NAMES[topic]]}
    at = open_page(topic=topic, claim=",".join(claims), seed="7")
    lines = {escape_markdown(claim.summary): claim for claim in claims.values()}
    seen = []
    for panel in at.expander:
        if (claim := lines.get(panel.label.partition("} **")[2].partition("** ")[0])) is None:
            continue
        seen.append(claim.id)
        text = said(panel)
        for part in (
            *(SOURCES[source].citation for source in claim.sources),
            describe_test(claim),
            claim.condition,
            claim.says,
        ):
            assert escape_markdown(part) in text or (part == claim.says and not claim.short)
        evidence = find_shipped_evidence(claim.id).evidence
        assert all(escape_markdown(trial.median_and_range) in text for trial in evidence.trials)
        assert all(escape_markdown(verdict.says) in text for verdict in evidence.verdicts)
        assert any("Our result, computed with version" in each for each in texts(panel.caption))
        (see,) = (link.proto for link in panel.get("page_link"))
        assert parse_qsl(see.query_string) == parse_qsl(urlsplit(claim.see).query)
        assert panel.code[-1].value == f"normviz claims --id {claim.id} --seed 7"
    assert sorted(seen) == sorted(claims)


def test_several_are_open_and_each_closes_by_itself():
    ids = ["L04", "L06"]
    at = open_page(claim=",".join(ids))
    assert len(at.get("page_link")) == 2
    at.session_state[OPEN_CLAIMS_KEY] = ids[1:]
    at = sound(at.run())
    assert len(at.get("page_link")) == 1
    assert at.query_params["claim"] == ids[1]


def test_a_claim_is_measured_on_request_and_only_this_one(server):
    at = again(open_page(claim="L04,L06"), ONE)
    assert server == [("L04", 0)]
    assert f"**On this server, from seed 0:** {VERDICTS['holds'].name}" in said(at)
    assert shown(at)["L04"] == ONE.expected
    at = sound(at.number_input(key=PREFIX + "seed").set_value(3).run())
    settled(at)
    assert server == [("L04", 0), ("L04", 3)]


def test_visitors_share_what_is_measured(server):
    for _ in range(2):
        again(open_page(claim="L04"), ONE)
    assert server == [("L04", 0)]


def test_a_check_that_fails_says_what_and_is_tried_again(monkeypatch, server):
    good = jobs.measure_claim

    def broken(claim, seed):
        raise MemoryError("there is no room")

    monkeypatch.setattr(jobs, "measure_claim", broken)
    at = again(open_page(claim="L04"), ONE)
    assert "there is no room" in at.error[0].value
    monkeypatch.setattr(jobs, "measure_claim", good)
    at = settled(sound(at.button(key=f"{PREFIX}again L04 retry").click().run()))
    assert not at.error
    assert server == [("L04", 0)]


def test_a_claim_without_a_shipped_result_still_opens(monkeypatch):
    monkeypatch.setattr(shipped, "find_example", lambda key, parts: None)
    find_shipped_evidence.cache_clear()
    try:
        at = open_page(claim="B17")
        assert escape_markdown(CLAIMS["B17"].condition) in said(at)
        assert "B17" not in panels.tabulate_claims([CLAIMS["B17"], ONE])["id"]
    finally:
        find_shipped_evidence.cache_clear()


NONSENSE = {"topic": "💥", "source": "9", "verdict": "maybe,1e999", "claim": "L04x,,zz", "seed": "-3"}


def test_nonsense_in_a_link_is_replaced_and_said():
    at = open_page(**NONSENSE, open=EVERY)
    assert len(shown(at)) == len(CLAIMS)
    assert len(replaced(at)) >= 4


def test_a_table_has_what_is_shown():
    table = panels.tabulate_claims([*CLAIMS.values()])
    assert table["id"] == [*CLAIMS]
    assert table["verdict"] == table["expected"]
    assert {len(column) for column in table.values()} == {len(CLAIMS)}


def test_shipped_numbers_have_four_digits():
    record = Evidence([Trial("so", True, (1.23456789e-7, float("nan")))]).to_record()
    assert round_values(record)["trials"][0]["values"] == [1.235e-7, None]
