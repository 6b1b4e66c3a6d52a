"""Every claim measured: its verdict is the one on record, whatever the seed, and its link opens what shows it."""

from importlib import import_module
from urllib.parse import parse_qsl, urlsplit

import pytest
from pairs import mark_heavy_except

from normviz.topics.claims.claim import Evidence
from normviz.topics.claims.claim_list import CLAIMS, TOPICS
from normviz.topics.claims.jobs import measure_claim
from normviz.topics.claims.shipped import find_shipped_evidence
from normviz.topics.claims.sources import SOURCES
from normviz.topics.claims.trials import Trial, list_seeds
from normviz.topics.claims.wording import describe_test
from normviz.ui.link import clean_values
from normviz.ui.page_texts import PAGE_TEXTS

LINE = 88
"""Characters that a row of the page has room for."""

QUICK = [claim.id for claim in CLAIMS.values() if claim.is_quick]
FOLDERS = {"": "lab", "invariance": "table1", "identities": "same"}
PAGES = {
    story.page: FOLDERS.get(story.page, story.page) for story in PAGE_TEXTS if story.page != "tensor_lab"
} | FOLDERS
"""By the path of a page the folder of its topic."""


@pytest.mark.parametrize("seed", mark_heavy_except([0], [0, 1234]))
@pytest.mark.parametrize("claim", QUICK)
def test_the_measured_verdict_is_the_one_on_record(claim, seed):
    found = measure_claim(CLAIMS[claim], seed)
    assert found.verdict == CLAIMS[claim].expected, found.text
    if seed == 0:
        shipped = find_shipped_evidence(claim).evidence
        assert [(each.what, each.holds, each.fact) for each in shipped.trials] == [
            (each.what, each.holds, each.fact) for each in found.trials
        ], "`python -m normviz.topics.claims.shipped` writes the file anew"


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_a_link_opens_a_page_and_all_of_it_is_taken(claim):
    address = urlsplit(claim.see)
    params = import_module(f"normviz.topics.{PAGES[address.path[1:]]}.state").PARAMS
    link = dict(parse_qsl(address.query, keep_blank_values=True))
    assert set(link) <= {param.name for param in params}
    assert clean_values(params, link)[1] == {}


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_a_record_is_complete(claim):
    assert set(claim.sources) <= set(SOURCES)
    assert claim.sources
    assert claim.says.endswith(".")
    assert describe_test(claim).endswith(".")
    assert claim.condition.endswith(".")
    assert claim.condition.startswith(claim.reason)
    assert len(claim.reason.split()) <= 10


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=lambda claim: claim.id)
def test_the_shipped_verdict_is_the_one_on_record(claim):
    assert find_shipped_evidence(claim.id).evidence.verdict == claim.expected


@pytest.mark.parametrize(
    "claim", [claim for claim in CLAIMS.values() if claim not in TOPICS["Table 1"]], ids=lambda claim: claim.id
)
def test_a_claim_fits_in_one_line(claim):
    assert len(claim.summary) <= LINE


@pytest.mark.heavy
@pytest.mark.parametrize("claim", [claim.id for claim in CLAIMS.values() if claim.long])
def test_a_long_check_has_the_verdict_on_record_from_another_seed(claim):
    assert measure_claim(CLAIMS[claim], 1234).verdict == CLAIMS[claim].expected


def test_ids_are_unique():
    assert sum(map(len, TOPICS.values())) == len(CLAIMS)


YES, NO = Trial("so", True), Trial("not so", False)
FACT, NO_FACT = Trial("so", True, fact=True), Trial("not so", False, fact=True)


@pytest.mark.parametrize(
    ("trials", "verdict"),
    [
        ([YES, YES], "holds"),
        ([NO, NO, FACT], "wrong"),
        ([YES, NO], "holds-if"),
        ([YES, FACT], "holds"),
        ([YES, NO_FACT], "open"),
        ([NO, NO_FACT], "open"),
        ([YES, NO, NO_FACT], "open"),
    ],
)
def test_a_verdict_comes_of_the_trials_and_is_open_where_a_fact_fails(trials, verdict):
    assert Evidence(trials).verdict == verdict


def test_behind_the_last_seed_comes_the_first():
    assert list_seeds(9998) == [9998, 9999, 0, 1, 2]


def test_an_opinion_is_one_as_long_as_what_it_rests_on_holds():
    assert Evidence([YES, NO], opinion=True).verdict == "opinion"
    assert Evidence([YES, NO_FACT], opinion=True).verdict == "open"
