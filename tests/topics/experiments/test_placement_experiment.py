"""Placement: what follows from made-up results, and tiny runs."""

from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.placement import EXPERIMENT, Setting, list_jobs, report
from normviz.topics.experiments.placement_jobs import (
    LAYER_COUNTS,
    LEARNING_RATES,
    PLACEMENTS,
    TRAINED_PLACEMENTS,
    WARMUP_KINDS,
    DepthGradients,
    PlacementTraining,
    ResidualChain,
)

TINY = Setting(seeds=2, steps=20, warm=5, batch=8, layers=1, pairs=2)
SETTING = Setting(seeds=5)
DONE = {"share": np.array(1.0), "device": np.array("CPU")}
OFF = 0.001 * np.linspace(-1, 1, 5)
"""What seeds differ by."""
BEST, LARGE = 1, 2
"""Positions of the rate that validation digits choose in made-up results, and of a larger one."""


def made_up(post=(0, 0), pre=(0, 0), factor=2.0, exponents=(0.0, -0.5), setting=SETTING, fall=0.05):
    """Return results in which the warm-up spares post and pre so many errors, at the best rate and at the large one.

    `exponents`: by which the last layer's gradient grows with L for post and pre.
    """
    depth, chain, *trainings = list_jobs(setting)
    branches = np.arange(2 * setting.pairs + 1)
    squares = {"none": factor**branches, "post": np.ones(len(branches)), "pre": 1.0 + branches, "peri": 1.0 + branches}
    powers = dict(zip(TRAINED_PLACEMENTS, (*exponents, -0.5), strict=True))
    norms = np.stack([np.array(LAYER_COUNTS, float) ** powers[name] for name in TRAINED_PLACEMENTS], axis=1)
    results = {
        depth: {"norms": norms * (1 + OFF[:, None, None] * np.outer([0, 1, 0, 1, 0], [1, -1, 0])), **DONE},
        chain: {"squares": np.stack([np.stack([squares[name] for name in PLACEMENTS], axis=1)] * 5), **DONE},
    }
    for training in trainings:
        errors = np.full((2, len(WARMUP_KINDS), len(LEARNING_RATES), 5), 0.2) + OFF
        errors[:, 1] += OFF[::-1] - OFF
        places = (slice(BEST + 1), LARGE)
        for place, more in zip(places, {"post": post, "pre": pre}.get(training.placement, (0, 0)), strict=True):
            errors[:, 1, place] += more
        errors[0] += fall + OFF[[1, 3, 0, 2, 4]]
        errors[:, :, LARGE + 1 :] = 0.9
        validation = errors + 0.1 * (np.arange(len(LEARNING_RATES)) != BEST)[:, None]
        results[training] = {
            "losses": errors, "test": errors, "validation": validation, "measured": np.array([200, 400]), **DONE
        }  # fmt: skip
    return results


def judge(*args, **options):
    return report(SETTING, made_up(*args, **options)).verdict


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone():
    results = {part: run_to_end(part) for part in list_jobs(TINY)}
    for part, result in results.items():
        assert result["share"] == 1
        assert_repeated(result, run_to_end(part))
    for part in results:
        alone = run_to_end(replace(part, networks=part.networks[1:]))
        name, axis = {DepthGradients: ("norms", 0), ResidualChain: ("squares", 0), PlacementTraining: ("losses", -1)}[
            type(part)
        ]
        np.testing.assert_allclose(alone[name], results[part][name].take([1], axis), rtol=1e-3)
    found = report(TINY, results)
    assert [shown.key for shown in found.figures] == ["rates", "depth", "chain", "peri"]
    assert len(set(map(len, found.table.values()))) == 1


def test_nothing_is_said_before_anything_is_trained_and_curves_show_from_the_first_step():
    assert report(TINY, {}).verdict.word == "open"
    assert not report(TINY, {}).figures
    begun = {part: next(iter(part.steps())).result() for part in list_jobs(TINY)}
    assert report(TINY, begun).verdict.word == "open"
    assert len(report(TINY, begun).figures) == 4


def test_the_warm_up_reaches_the_full_rate_and_changes_what_is_learned():
    training = list_jobs(TINY)[2]
    found = run_to_end(training)["losses"]
    assert not np.allclose(found[-1, 0], found[-1, 1])
    same = run_to_end(replace(training, warm=1))["losses"]  # a warm-up of one step is none
    np.testing.assert_allclose(same[:, 0], same[:, 1], rtol=1e-3)


@pytest.mark.parametrize(
    ("post", "pre", "word"),
    [
        ((0.3, 0.3), (0, 0), "holds"),
        ((0, 0.3), (0, 0), "holds-if"),
        ((0, 0.3), (0, 0.3), "open"),  # pre needs it as much
        ((0, 0.3), (0, 0.299 + 50 * OFF), "open"),  # or within the noise
        ((0, 0), (0, 0), "open"),
        ((0, -0.1), (0, 0), "wrong"),
    ],
)
def test_post_needs_a_warm_up_where_leaving_it_out_costs_more_than_with_pre(post, pre, word):
    verdict = judge(post, pre)
    assert verdict.word == word


def test_levels_are_said_at_the_largest_rate_that_learns_and_at_the_best():
    assert judge((0, 0.3)).text == "Holds at learning rate 0.01"
    essential = "Here “essential” is too strong: at 0.003, post norm’s error is 20% either way."
    assert judge((0, 0.3)).why.startswith(essential)
    assert "essential" not in judge((0.3, 0.3)).why
    says = judge((0, 0.3)).says
    assert "At rate 0.01, the largest at which post norm learns with the warm-up, post norm clearly needs it" in says
    assert "post norm 20.0 ± 0.1% with it, 50.0 ± 0.1% without; pre norm 20.0 ± 0.1% with it, 20.0" in says
    assert "post norm 20.0 ± 0.1% (rate 0.003) with it, 20.0 ± 0.1% (rate 0.003) without" in says


def test_errors_that_still_fall_are_called_undertrained():
    assert "Undertrained: these errors fall by 5 ± 0." in judge((0, 0.3)).says
    assert "Undertrained" not in judge((0, 0.3), fall=0.0).says


def test_gradients_of_the_last_layer_by_depth():
    says = judge((0, 0.3)).says
    assert "is 4 times as large" in says
    assert "The ratio grows as L to the power of 0.5 ±" in says
    assert "near the output are larger. This holds here:" in says
    for exponents, found in (((0, 0.5), "does not hold here"), ((0, 0), "is not decided")):
        verdict = judge((0.3, 0.3), exponents=exponents)
        assert verdict.word == "holds"
        assert f"near the output are larger. This {found}" in verdict.says
    gradients = dict(list(made_up().items())[:1])
    assert report(SETTING, gradients).headline == "At 16 layers, post norm's last-layer gradient is 4 times pre norm's."


@pytest.mark.parametrize(
    ("post", "headline"),
    [
        (0.3, "Only at learning rate 0.01: post norm’s error is 50% without warm-up, 20% with."),
        (-0.1, "No, at learning rate 0.01: post norm’s error is 10% without warm-up, 20% with."),
        (0, "At learning rate 0.01, warm-up makes no clear difference to post norm."),
    ],
)
def test_the_headline_compares_post_norm_with_and_without_warm_up_at_the_largest_rate(post, headline):
    assert report(SETTING, made_up((0, post))).headline == headline


def test_a_chain_that_does_not_double_is_a_condition():
    assert "without norm. This holds with pre norm" in judge((0.3, 0.3), factor=1.0).says
    assert "multiplied by 2 ± 0 a branch without normalization" in judge().says


def test_a_warm_up_that_is_longer_than_the_training_is_told():
    for warm, expected in ((40, 40), (100, 100), (200, 100)):
        assert f"first {expected} of 100 steps" in EXPERIMENT.test(replace(SETTING, warm=warm, steps=100))


def test_where_nothing_is_learned_nothing_is_said():
    results = made_up((0, 0.3))
    for result in results.values():
        if "test" in result:
            result["validation"] = result["validation"] + 0.5
    assert "does not learn here" in report(SETTING, results).verdict.says
    assert report(SETTING, results).verdict.word == "open"


@pytest.mark.parametrize("number", [np.nan, 0.0, np.inf])
def test_networks_without_numbers_do_not_break_it(number):
    results = made_up()
    for result in results.values():
        for key in {"losses", "norms", "squares"} & set(result):
            result[key] = np.full_like(result[key], number)
    assert report(SETTING, results).verdict.word == "open"


def test_test_digits_choose_no_rate():
    results = made_up((0, 0.3))
    for result in results.values():
        if "test" in result:
            result["test"] = result["test"].copy()
            result["test"][:, :, 0] = 0.0
    assert "(rate 0.003)" in report(SETTING, results).verdict.says


def test_schemes_on_weights_and_fields_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match="scheme = 'weight'"):
        Setting(scheme="weight")
    with pytest.raises(InvalidInput, match="groups"):
        Setting(scheme="custom", own="own,groups(3),own,own|own,groups(3),own,own")


def test_gradients_before_training_do_not_depend_on_how_it_is_trained():
    first, second = (list_jobs(each)[:2] for each in (TINY, replace(TINY, warm=2, steps=30)))
    assert first == second
    assert [type(each) for each in first] == [DepthGradients, ResidualChain]
