"""A large or learned ε and an L1 term: what follows from made-up results, and a short training."""

from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.smoothing import (
    BOTH,
    L1,
    LARGE,
    LEARNED,
    SMOOTHED_SCHEMES,
    USUAL,
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
"""The position of the best learning rate in made-up results."""


def scattered(means):
    """Return (layers, seeds) of which no seed has the order of another where the means are the same."""
    return means[:, None] + 0.01 * np.random.default_rng(1).permuted(np.tile(np.arange(6.0)[:, None], 24), axis=0)


def made_up(alone=(0.0, 0.0), both=(0.0, 0.0), large=(0.0, 0.0), eps=(FALLS, FALLS, FALLS)):
    """Return results in which a learned ε, both changes together and a fixed ε = 1 change the error so much.

    The networks with ε = 1, learned from it or fixed, are the best ones.
    """
    results = {}
    for part in list_jobs(SETTING):
        k = SETTING.rows.index(part.row)
        shape = (1, len(L1_FACTORS), len(LEARNING_RATES), SETTING.seeds)
        validation, test = np.ones(shape), np.zeros(shape)
        without = alone[k] if part.learned else large[k] if part.first == 1 else 0
        for penalty, change in enumerate((without, both[k] if part.learned else 0)):
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
    assert report(SETTING, results).verdicts["D03"].word == "open"  # −1 from the larger one, 1 from the other


def test_the_correlation_with_depth_is_that_of_ranks():
    assert correlate_with_depth(np.tile(FALLS[:, None], 2)).tolist() == [-1, -1]
    assert correlate_with_depth(np.exp(RISES)[:, None]).tolist() == [1]
    assert correlate_with_depth(np.ones((6, 1))).tolist() == [0]
    assert np.isnan(correlate_with_depth(np.full((6, 1), np.nan)))


def test_levels_and_differences_are_said_at_the_choice_of_the_validation_digits():
    found = report(SETTING, made_up(large=(-0.03, 0.0), alone=(-0.02, 0.0), both=(-0.02, 0.0)))
    assert found.headline == "Only for batch norm: the error falls by 3.0 points."
    assert found.verdict.text == "Holds with batch norm. With divisive norm, this is not clear"
    assert found.verdict.why == (
        "With divisive norm, the change is not clear: it may be chance. The idea, not tested here: where the variance "
        "is small, values are mostly noise, which a small ε amplifies."
    )
    for verdict, after in (
        (found.verdict, "ε = 1: batch norm 6.0 ± 0.1% and 3.0 ± 0.1% (−3 ± 0.2"),
        (found.verdicts["D04"], f"{BOTH}: batch norm 6.0 ± 0.1% and 4.0 ± 0.1% (−2 ± 0.2"),
    ):
        assert verdict.says.startswith(f"Test error with ε = 10⁻⁵ and with {after}")
    table = {*zip(found.table["scheme"], found.table["variant"], strict=True)}
    assert {("batch", USUAL), ("divisive", LEARNED), ("batch", BOTH), ("divisive", LARGE)} < table


def test_a_large_eps_comes_first_and_all_panels_of_a_figure_have_the_same_axis():
    large, others, _ = report(SETTING, made_up(large=(-0.02, 0.0))).figures
    (panel,) = large.panels
    assert panel.title == "Test error: ε = 10⁻⁵ → ε = 1"
    assert panel.names == [
        "batch norm<br>6.0 → 4.0%<br>clear<br>change",
        "divisive norm<br>6.0 → 6.0%<br>may be<br>chance",
    ]
    assert [curve.texts for curve in panel.curves] == [[" −2.0"], [" +0.0"]]
    np.testing.assert_allclose([curve.y for curve in panel.curves], [[-2], [0]], atol=1e-9)
    assert [each.title for each in others.panels] == [f"ε = 10⁻⁵ → {name}" for name in (LEARNED, L1, BOTH)]
    assert {(each.y, each.span) for each in others.panels} == {(panel.y, others.panels[0].span)}


@pytest.mark.parametrize(
    ("large", "word", "headline"),
    [
        ((-0.02, -0.03), "holds", "Yes, for batch norm and divisive norm: the error falls by 2.0 to 3.0 points."),
        ((-0.02, 0.0), "holds-if", "Only for batch norm: the error falls by 2.0 points."),
        ((0.02, -0.02), "holds-if", "Only for divisive norm: the error falls by 2.0 points."),
        ((0.02, 0.0), "wrong", "No, for batch norm: the error rises by 2.0 points."),
        ((0.0, 0.0), "open", "Undecided: with 24 networks of each kind, no difference is clear."),
    ],
)
def test_headline_and_verdict_follow_from_the_change_by_a_large_eps(large, word, headline):
    found = report(SETTING, made_up(large=large))
    assert (found.verdict.word, found.headline) == (word, headline)


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
    assert len(list_jobs(replace(TINY, eps=1.0))) == 3 * len(TINY.rows)


def test_a_tiny_run_gives_the_same_numbers_again_and_for_a_seed_alone():
    fixed, part = list_jobs(TINY)[-4], list_jobs(TINY)[-1]
    found, again = run_to_end(part), run_to_end(part)
    assert_repeated(found, again)
    assert found["eps"].shape == (3, len(L1_FACTORS), len(LEARNING_RATES), 2)
    assert (found["eps"][:, :, 1:] != part.first).all()
    results = {each: run_to_end(each) for each in TINY.make_learned_jobs(0)}
    assert collect_eps(TINY, 0, results).shape == (3, 2, len(LEARNING_RATES), 2)
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
