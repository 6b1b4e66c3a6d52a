"""The claims that experiments decide: how their verdicts become one, and that both sides name each other."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

from normviz.cli.claims import build_claim_record, describe_disagreements
from normviz.topics.claims import jobs
from normviz.topics.claims.claim import Claim, Evidence, ExperimentCheck
from normviz.topics.claims.claim_list import CLAIMS
from normviz.topics.experiments.catalogue import EXPERIMENTS
from normviz.topics.experiments.reports import Report, Verdict, combine_verdict_keys

TRIED = {claim.id: claim.check for claim in CLAIMS.values() if isinstance(claim.check, ExperimentCheck)}


@pytest.mark.parametrize(
    ("words", "verdict"),
    [
        (["holds"], "holds"),
        (["opinion"], "opinion"),
        (["open"], "open"),
        (["holds", "holds"], "holds"),
        (["wrong", "wrong"], "wrong"),
        (["holds", "holds-if"], "holds-if"),
        (["holds", "wrong"], "holds-if"),
        (["holds", "open"], "open"),
        (["open", "holds-if"], "open"),
    ],
)
def test_experiments_that_differ_give_a_condition_and_one_that_is_open_leaves_all_so(words, verdict):
    assert combine_verdict_keys(words) == verdict
    assert Evidence((), verdicts=[Verdict(word, "So.") for word in words]).verdict == verdict


def test_the_evidence_is_what_the_experiments_say_each_with_its_condition():
    evidence = Evidence((), verdicts=[Verdict("holds", "3 of 3.", "100 steps."), Verdict("open", "Not trained yet.")])
    assert evidence.text == "Holds here: 3 of 3. Conditions: 100 steps. Is not decided here: Not trained yet."


@pytest.mark.parametrize("claim", [claim for claim in TRIED if CLAIMS[claim].expected != "open"])
def test_what_is_not_known_is_no_agreement(claim):
    found = build_claim_record(CLAIMS[claim], Evidence((), verdicts=[Verdict("open", "Not trained yet.")]))
    assert "measured open" in describe_disagreements([found], {})[0]


@dataclass(frozen=True)
class Part:
    key: str


def made_up(key, verdict, **verdicts):
    """An experiment with one part that reports these verdicts."""
    return SimpleNamespace(
        setting=lambda seed: seed,
        list_jobs=lambda setting: [Part(key)],
        report=lambda setting, results: Report("", (), verdict, {}, verdicts),
    )


def test_a_claim_has_the_verdict_that_is_on_it_once_all_experiments_are_done(monkeypatch):
    own, whole = Verdict("holds", "Of this claim."), Verdict("wrong", "Of all.")
    experiments = {"first": made_up("first", whole, X=own), "second": made_up("second", whole)}
    monkeypatch.setattr(jobs, "get_experiment", experiments.__getitem__)
    claims = [
        Claim(id, ("000",), "holds", ExperimentCheck(keys), "/", "So.", "So.")
        for id, keys in {"X": ("first",), "Y": ("first",), "Z": ("first", "second")}.items()
    ]
    results = {Part("first"): {"share": np.array(1.0)}, Part("second"): {"share": np.array(0.5)}}
    found = {claim.id: jobs.find_evidence(claim, 0, results) for claim in claims}
    assert {id: each and each.verdicts for id, each in found.items()} == {"X": [own], "Y": [whole], "Z": None}


def test_a_claim_that_experiments_decide_is_named_by_just_these():
    named = {id: tuple(key for key, each in EXPERIMENTS.items() if id in each.claims) for id in TRIED}
    assert named == {id: check.experiments for id, check in TRIED.items()}


def test_what_an_experiment_names_beside_is_a_claim_that_something_else_decides():
    named = {id for each in EXPERIMENTS.values() for id in each.claims}
    assert named - set(TRIED) == {"B03", "B10", "L03"}
    assert named <= set(CLAIMS)


def test_a_verdict_on_one_claim_is_under_the_id_of_one_that_its_experiment_names():
    for key, experiment in EXPERIMENTS.items():
        assert set(experiment.report(experiment.setting(), {}).verdicts) <= set(experiment.claims), key
