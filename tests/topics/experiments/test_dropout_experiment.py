"""Dropout: what follows from made-up results, and that its parts train what they say."""

from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.describe.seeds import compare_seed_by_seed
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.dropout import EXPERIMENT, LEARNING_RATES, Setting, list_jobs, report

TINY = Setting(seeds=2, digits=32, steps=20, share=0.3)
SETTING = Setting()
NOISE = 0.002 * np.array([1, -1, 2, -2, 1, 0, -1, 0])


def made_up(*means, setting=SETTING, best=2):
    """Return results of networks with these mean test errors, in the order of the parts.

    Only at one rate, which has the lowest validation error; at all others the test error is 0.
    """
    found = {}
    for mean, part, shift in zip(means, list_jobs(setting), range(len(means)), strict=True):
        test = np.zeros((2, len(LEARNING_RATES), setting.seeds))
        test[:, best] = mean + np.roll(NOISE, shift)[: setting.seeds]
        validation = np.ones_like(test)
        validation[:, best] = 0.1
        found[part] = {
            "losses": test, "training": test, "validation": validation, "test": test, "measured": np.array([1, 2]),
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("means", "word"),  # neither, dropout alone, batch norm, batch norm with dropout
    [
        ((0.10, 0.06, 0.06, 0.06), "holds"),
        ((0.10, 0.06, 0.06, 0.08), "holds"),
        ((0.10, 0.06, 0.08, 0.06), "holds-if"),
        ((0.10, 0.06, 0.10, 0.06), "wrong"),
        ((0.06, 0.06, 0.12, 0.06), "wrong"),
        ((0.06, 0.06, 0.06, 0.06), "open"),
        ((0.06, 0.06, 0.12, 0.12), "open"),
    ],
)
def test_words(means, word):
    assert report(SETTING, made_up(*means)).verdict.word == word


def test_levels_changes_and_rates_are_those_of_the_rate_chosen_on_validation_digits():
    found = report(SETTING, made_up(0.06, 0.06, 0.12, 0.06, best=3))
    assert found.headline == "No, with random labels: batch norm alone has 12.0% errors, with dropout 6.0%."
    assert "batch norm 12.0 ± 0.2%" in found.verdict.says
    assert "batch norm with dropout against batch norm −6 ± " in found.verdict.says
    assert "no normalization with dropout against no normalization 0 ± 0.41 (no clear difference)" in found.verdict.says
    assert "batch norm alone is worse than no norm. Dropout alone makes no clear difference." in found.verdict.why
    assert f"batch norm {LEARNING_RATES[3]:g}" in found.verdict.condition
    (ends,), courses = (figure.panels for figure in found.figures)
    labels = ["no norm", "no norm + dropout", "batch norm", "batch norm + dropout"]
    assert [curve.name for course in courses for curve in course.curves] == labels
    assert [name.replace("<br>", " ") for name in ends.names] == labels
    np.testing.assert_allclose([curve.y for curve in ends.curves], [[6, 6], [12, 6]])
    assert len({len(column) for column in found.table.values()}) == 1


def test_a_difference_of_one_scheme_among_many_has_to_be_clearer():
    """Dropout lowers the error of batch norm at p = 0.0145: clear among three comparisons, not as one of four left."""
    differences = NOISE - 3.22 * NOISE.std(ddof=1) / len(NOISE) ** 0.5
    assert 0.05 / 4 < compare_seed_by_seed(differences, np.zeros(8)).p_value < 0.05 / 3
    three, five = SETTING, replace(SETTING, schemes=("none", "batch", "layer"))
    for setting, means, word in (
        (three, (0.1, 0.1, 0.1, 0.1), "wrong"), (five, (0.1, 0.1, 0.1, 0.1, 0.1, 0.06), "open"),
    ):  # fmt: skip
        results = made_up(*means, setting=setting)
        neither, dropout, before, after = (results[part]["test"] for part in list_jobs(setting)[:4])
        dropout[:], before[:] = neither, neither
        after[:, 2] = before[:, 2] + differences
        assert report(setting, results).verdict.word == word


def test_all_networks_and_two_schemes_are_needed():
    assert report(SETTING, {}).verdict.word == "open"
    assert report(SETTING, {}).headline == "Nothing is trained yet."
    found = made_up(0.1, 0.06, 0.1, 0.06)
    found.pop(list_jobs(SETTING)[3])
    assert report(SETTING, found).verdict.word == "open"
    alone = replace(SETTING, schemes=("batch",))
    assert report(alone, made_up(0.1, 0.06, setting=alone)).verdict.word == "open"


def test_networks_without_numbers_do_not_break_it():
    results = made_up(0.1, 0.06, 0.1, 0.06)
    for arrays in results.values():
        for name in ("test", "validation", "training"):
            arrays[name] = np.full_like(arrays[name], np.nan)
    assert report(SETTING, results).verdict.word == "open"


def test_networks_without_dropout_are_trained_once_whatever_the_share():
    first, second = (list_jobs(replace(TINY, share=share)) for share in (0.3, 0.4))
    assert len({compute_digest(part) for part in first}) == len(first)
    assert [compute_digest(one) == compute_digest(other) for one, other in zip(first, second, strict=True)] == [
        True,
        False,
    ] * 2


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone():
    part = list_jobs(TINY)[3]
    whole, again = run_to_end(part), run_to_end(part)
    assert_repeated(whole, again)
    assert whole["test"].shape[1:] == whole["validation"].shape[1:] == (len(LEARNING_RATES), 2)
    alone = run_to_end(replace(part, networks=part.networks[1:]))
    for name in ("training", "validation", "test"):
        np.testing.assert_allclose(alone[name][:, :, 0], whole[name][:, :, 1], atol=0.05)
    found = report(TINY, {part: whole})
    assert found.verdict.word == "open"
    assert [shown.key for shown in found.figures] == ["ends", "curves"]


def test_what_is_measured_does_not_change_what_is_trained(monkeypatch):
    often = run_to_end(list_jobs(TINY)[1])
    monkeypatch.setattr("normviz.topics.experiments.dropout.MEASUREMENT_COUNT", 3)
    seldom = run_to_end(list_jobs(TINY)[1])
    assert len(seldom["measured"]) < len(often["measured"])
    assert_repeated({"test": often["test"][-1]}, {"test": seldom["test"][-1]})


def test_a_scheme_that_does_not_fit_is_refused():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(groups=3)


def test_its_claim():
    assert EXPERIMENT.claims == ("B17",)
