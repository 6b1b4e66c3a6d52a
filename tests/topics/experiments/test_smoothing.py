"""Learned smoothing and an L1 term: what follows from made-up results, and a short training."""

from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.smoothing import (
    BOTH,
    PLAIN,
    SMOOTHED_SCHEMES,
    SMOOTHING,
    Setting,
    collect_eps,
    correlate_with_depth,
    list_jobs,
    report,
)
from normviz.topics.experiments.smoothing_jobs import L1_FACTORS, LEARNING_RATES

SETTING = Setting(schemes=("batch", "divisive"), depth=6)
TINY = Setting(seeds=2, steps=20, digits=32, depth=3, schemes=("batch", "divisive"))
SCATTER = 0.002 * np.tile([1, -1, 2, -2, 0, 1, -1, 0], 3)
FALLS, RISES, LEVEL = np.linspace(1, 0.2, 6), np.linspace(0.2, 1, 6), np.full(6, 0.5)
BEST = 1
"""The position of the best factor of the L1 term, and of the best rate, in made-up results."""


def scattered(means):
    """Return (layers, seeds) of which no seed has the order of another where the means are the same."""
    return means[:, None] + 0.01 * np.random.default_rng(1).permuted(np.tile(np.arange(6.0)[:, None], 24), axis=0)


def made_up(alone=(0.0, 0.0), both=(0.0, 0.0), eps=(FALLS, FALLS, FALLS)):
    """Return results in which a learned ε, and both together, change the error of the schemes so much."""
    results = {}
    for part in list_jobs(SETTING):
        k = SETTING.rows.index(part.row)
        shape = (1, len(L1_FACTORS), len(LEARNING_RATES), SETTING.seeds)
        validation, test = np.ones(shape), np.zeros(shape)
        for penalty, change in ((0, alone[k] if part.learned else 0), (BEST, both[k] if part.learned else 0)):
            validation[0, penalty, BEST] = 0.5 + (part.first not in (1, 1e-5))
            test[0, penalty, BEST] = 0.06 + change + SCATTER * (-1 if change else 1) * (1 + penalty / 10)
        by_rate = np.stack([scattered(means) for means in eps], axis=1)
        results[part] = {
            "losses": validation, "validation": validation, "test": test, "measured": np.array([1]),
            "eps": np.broadcast_to(by_rate[:, None], (6, *shape[1:])), "share": np.array(1.0),
            "device": np.array("CPU"),
        }  # fmt: skip
    return results


def words(**changes):
    return {claim: each.word for claim, each in report(SETTING, made_up(**changes)).verdicts.items()}


@pytest.mark.parametrize(
    ("alone", "both", "word"),
    [
        ((-0.01, -0.01), (-0.03, -0.03), "holds"),
        ((-0.02, -0.02), (0.0, 0.0), "open"),
        ((0.0, 0.0), (-0.02, 0.0), "holds-if"),
        ((0.0, 0.0), (0.0, 0.0), "open"),
        ((0.0, 0.0), (0.02, 0.02), "wrong"),
        ((np.nan, np.nan), (np.nan, np.nan), "open"),
    ],
)
def test_the_verdict_on_both_together_is_that_of_clear_differences(alone, both, word):
    assert words(alone=alone, both=both)["D04"] == word


@pytest.mark.parametrize(
    ("eps", "word"),
    [
        ((FALLS, FALLS, FALLS), "holds"),
        ((FALLS, FALLS, RISES), "holds-if"),
        ((LEVEL, LEVEL, RISES), "wrong"),
        ((LEVEL, LEVEL, LEVEL), "open"),
        ((np.full(6, np.nan),) * 3, "open"),
    ],
)
def test_the_verdict_on_depth_is_that_of_divisive_normalization_over_all_learning_rates(eps, word):
    assert words(eps=eps)["D03"] == word


def test_the_trend_is_the_mean_over_the_first_values():
    results = {
        part: result | {"eps": result["eps"][:: 1 if part.first == 1 else -1]} for part, result in made_up().items()
    }
    assert report(SETTING, results).verdicts["D03"].word == "wrong"  # −1 from the largest, 1 from the two others


def test_the_correlation_with_depth_is_that_of_ranks():
    assert correlate_with_depth(np.tile(FALLS[:, None], 2)).tolist() == [-1, -1]
    assert correlate_with_depth(np.exp(RISES)[:, None]).tolist() == [1]
    assert correlate_with_depth(np.ones((6, 1))).tolist() == [0]
    assert np.isnan(correlate_with_depth(np.full((6, 1), np.nan)))


def test_levels_and_differences_are_said_at_the_choice_of_the_validation_digits():
    found = report(SETTING, made_up(alone=(-0.02, 0.0), both=(-0.02, 0.0)))
    assert found.headline == "Clear only for batch norm: a learned ε lowers error from 6.0% to 4.0%."
    assert found.verdict.text == "Holds with batch norm. With divisive norm, this is not clear"
    assert found.verdict.why == (
        "Batch norm learns ε ≈ 0.6 instead of 10⁻⁵, so that inputs of small variance are amplified less. The L1 term "
        "alone has no clear effect. With divisive norm, no change is clear."
    )
    assert (
        "Batch norm: 6.0 ± 0.1% with neither, 4.0 ± 0.1% with a learned ε (−2 ± 0.21 points)"
        in found.verdicts["D04"].says
    )
    assert [figure.key for figure in found.figures] == ["levels", "eps"]
    batch, divisive = found.figures[0].panels
    assert batch.title == "Batch norm, fixed ε: 6.0% error"
    assert batch.names == ["learned ε<br>4.0%", "L1 term<br>6.0%", "both<br>4.0%"]
    np.testing.assert_allclose([batch.curves[0].y, divisive.curves[0].y], [[-2, 0, -2], [0, 0, 0]], atol=1e-9)
    assert batch.span == divisive.span
    table = {*zip(found.table["scheme"], found.table["variant"], strict=True)}
    assert {("batch", PLAIN), ("divisive", SMOOTHING), ("batch", BOTH)} < table


@pytest.mark.parametrize(
    ("both", "headline"),
    [
        ((-0.02, -0.02), "Yes: both lower error from 6.0% to 4.0%."),
        ((0.02, 0.0), "No: both raise error from 6.0% to 8.0%."),
        ((0.02, -0.02), "Clear only for divisive norm: both lower error from 6.0% to 4.0%."),
        ((0.0, 0.0), "Undecided: with 24 networks of each kind, no difference is clear."),
    ],
)
def test_the_headline_follows_from_the_change_by_both(both, headline):
    found = report(SETTING, made_up(both=both))
    assert found.headline == headline
    assert found.verdict.why.startswith("The idea: ")


def test_without_divisive_normalization_nothing_is_said_of_depth():
    setting = replace(SETTING, schemes=("batch",))
    results = {part: result for part, result in made_up().items() if part.row.key == "batch"}
    found = report(setting, results).verdicts["D03"]
    assert found.word == "open"
    assert found.says.endswith("The claim is about divisive normalization, which is not chosen.")


def test_what_is_not_trained_yet_is_not_judged():
    results = made_up(both=(-0.02, -0.02))
    assert not report(SETTING, {}).figures
    for count in range(len(results)):
        found = report(SETTING, dict(list(results.items())[:count]))
        assert {each.word for each in (found.verdict, *found.verdicts.values())} == {"open"}


def test_another_first_value_is_trained_beside_what_is_there():
    digests = {compute_digest(part) for part in list_jobs(TINY)}
    others = {compute_digest(part) for part in list_jobs(replace(TINY, eps=0.3))}
    assert len(digests - others) == len(others - digests) == len(TINY.rows)
    assert len(list_jobs(replace(TINY, eps=0.1))) == 3 * len(TINY.rows)


def test_a_tiny_run_gives_the_same_numbers_again_and_for_a_seed_alone():
    fixed, part = list_jobs(TINY)[-4], list_jobs(TINY)[-1]
    found, again = run_to_end(part), run_to_end(part)
    assert_repeated(found, again)
    assert found["eps"].shape == (3, len(L1_FACTORS), len(LEARNING_RATES), 2)
    assert (found["eps"][:, :, 1:] != part.first).all()
    results = {each: run_to_end(each) for each in list_jobs(TINY)[1:4]}
    assert collect_eps(TINY, 0, results).shape == (3, 3, len(LEARNING_RATES), 2)
    np.testing.assert_allclose(run_to_end(fixed)["eps"], fixed.first, rtol=1e-6)
    alone = run_to_end(replace(part, networks=part.networks[1:]))
    np.testing.assert_allclose(alone["losses"][0, :, :, 0], found["losses"][0, :, :, 1], rtol=1e-4)


def test_only_schemes_with_a_smoothing_term_are_compared():
    assert {"none", "weight", "spectral", "whitening"}.isdisjoint(SMOOTHED_SCHEMES)
    assert {"batch", "layer", "divisive", "rms", "custom"} <= set(SMOOTHED_SCHEMES)
    assert set(SMOOTHED_SCHEMES) < set(SCHEMES)
    with pytest.raises(InvalidInput, match="would do"):
        Setting(schemes=("none",))
    with pytest.raises(InvalidInput, match="field B"):
        Setting(schemes=("custom",), own="own,full,full,full|")
