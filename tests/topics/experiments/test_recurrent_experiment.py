"""Recurrent networks: what follows from made-up results, and tiny runs."""

import re
from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.recurrent import Setting, list_jobs, report
from normviz.topics.experiments.recurrent_jobs import (
    FIRST_GAINS,
    LEARNING_RATES,
    STATE_UNITS,
    STEPS_BACK,
    WEIGHT_SCALES,
    LayoutTraining,
    SequenceTraining,
    StateGradients,
    list_leading_step_counts,
)
from normviz.topics.experiments.reports import Verdict

TINY = Setting(seeds=2, steps=20, batch=8, wait=1, schemes=("none", "batch", "layer"))
SETTING = Setting(seeds=5, schemes=("none", "batch", "layer"))
OFF = 0.001 * np.linspace(-1, 1, 5)
"""What seeds differ by."""
BEST = 2
"""The position of the rate with the lowest validation error in made-up results."""


def at_best(errors):
    """Return errors (…, seeds) at the best rate, and none at all at other rates, (…, rates, seeds)."""
    errors = np.asarray(errors)
    return np.stack([errors if rate == BEST else 0 * errors for rate in range(len(LEARNING_RATES))], axis=-2)


VALIDATION = np.stack([OFF + (rate != BEST) for rate in range(len(LEARNING_RATES))])


def gradients(factors, points):
    """Return norms (points, steps, schemes, seeds) of the factors of a step, a function of the point each."""
    powers = np.arange(STEPS_BACK)[::-1]
    noise = np.exp(OFF)
    return np.stack([np.stack([(f(p) * noise) ** powers[:, None] for f in factors], axis=1) for p in points])


def constant(factor):
    return lambda _: factor


def made_up(
    longer=(0.05, 0.09, 0.05), together=0.08, known=(0.04,) * 3, trap=0.04, scaled=(lambda s: s, 0.9, 0.8),
    gained=(0.7, lambda g: 0.5 + 0.3 * g, lambda g: 0.3 + 0.33 * g), setting=SETTING,
):  # fmt: skip
    """Return results of none, batch and layer: errors on longer sequences, with one statistic, and factors."""
    scaled, gained = ([each if callable(each) else constant(each) for each in some] for some in (scaled, gained))
    by_gain, apart, by_scale, *readings, layouts = list_jobs(setting)
    done = {"share": np.array(1.0), "device": np.array("CPU")}
    losses = np.full((20, len(LEARNING_RATES), 5), 0.5)
    results = {
        by_gain: {"norms": gradients(gained, FIRST_GAINS), **done},
        apart: {"norms": gradients([*map(constant, (0.7, 0.8, 0.8))], FIRST_GAINS), **done},
        by_scale: {"norms": gradients(scaled, WEIGHT_SCALES), **done},
        layouts: {
            "losses": np.stack([losses] * 2, axis=1), "spreads": np.ones((2, 5, STATE_UNITS)),
            "validation": np.stack([VALIDATION] * 2), "test": at_best([0.04 + OFF, trap + OFF[::-1]]), **done,
        },
    }  # fmt: skip
    trained = np.arange(len(list_leading_step_counts(setting.wait)))[:, None] <= setting.wait
    for k, reading in enumerate(readings):
        by_step = np.where(trained, known[k] + OFF, longer[k] + OFF[::-1])
        pooled = np.broadcast_to(together + OFF[::-1], by_step.shape) if k == 1 else by_step
        results[reading] = {
            "losses": losses, "validation": VALIDATION, "by_step": at_best(by_step), "together": at_best(pooled), **done
        }  # fmt: skip
    return results


def judge(claim, **options):
    return report(SETTING, made_up(**options)).get_verdict(claim)


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone():
    results = {part: run_to_end(part) for part in list_jobs(TINY)}
    for part, result in results.items():
        assert result["share"] == 1
        assert_repeated(result, run_to_end(part))
        alone = run_to_end(replace(part, networks=part.networks[1:]))
        name = "norms" if isinstance(part, StateGradients) else "losses"
        np.testing.assert_allclose(alone[name][..., 0], result[name][..., 1], rtol=1e-3)
    found = report(TINY, results)
    assert [shown.key for shown in found.figures] == ["reading", "training", "gains", "scales", "layouts"]
    assert len(set(map(len, found.table.values()))) == 1
    assert isinstance(found.verdict, Verdict)


def test_nothing_is_said_before_anything_is_trained_and_curves_show_from_the_first_step():
    assert report(TINY, {}).verdict.word == "open"
    assert not report(TINY, {}).figures
    begun = {part: next(iter(part.steps())).result() for part in list_jobs(TINY)}
    found = report(TINY, begun)
    assert found.verdict.word == "open"
    assert len(found.figures) == 4


def test_a_figure_is_on_gradients_over_the_initial_gain_and_the_headline_until_networks_are_trained():
    found = report(SETTING, made_up())
    assert found.headline == "Yes, but batch norm misreads 9.0% of the longest sequences, layer norm 5.0%."
    together, apart = found.figures[2].panels
    assert [curve.name for curve in together.curves] == ["no norm", "batch norm", "layer norm"]
    np.testing.assert_allclose(together.curves[2].y, 0.3 + 0.33 * np.array(FIRST_GAINS), rtol=1e-3)
    np.testing.assert_allclose(apart.curves[2].y, 0.8, rtol=1e-3)
    assert together.span == apart.span
    gradients = dict(list(made_up().items())[:3])
    assert report(SETTING, gradients).headline == "Each step back multiplies layer norm's gradient by 0.33 to 1.3."


def test_batch_norm_can_be_used_but_not_on_longer_sequences():
    found = judge("B15")
    assert found.word == "holds-if"
    assert "test error 4.0 ± 0.1% on lengths of the training" in found.says
    assert re.search("9.0 ± 0.1%; layer norm 4.0 ± 0.1% and 5.0 ± 0.1% .difference of the rises: 4 ± ", found.says)
    assert "With one statistic for all steps 8.0 ± 0.1% (4 ± " in found.says


def test_gradients_vanish_and_explode_by_the_initial_gain():
    found = judge("L02")
    assert found.word == "holds-if"
    assert "0.25 to 4.00 without normalization" in found.says
    assert (
        "factor of layer norm goes from 0.33 ± 0.00 to 1.29 ± 0.00: over 23 steps the gradient vanishes at γ = 0.1, "
        "0.2, 0.5, 1 and 1.5 and explodes at γ = 3." in found.says
    )
    assert found.says.endswith("normalized apart, that of layer norm goes from 0.80 to 0.80.")


def test_a_factor_of_one_at_every_gain_holds_and_none_that_is_kept_is_wrong():
    found = judge("L02", gained=(0.7, 1.0, 1.02))
    assert found.word == "holds"
    assert "neither vanishes nor explodes" in found.says
    assert judge("L02", gained=(0.7, 1.0, 0.5)).word == "wrong"  # layer norm decides, not batch norm


def test_each_of_both_claims_has_a_verdict_of_its_own():
    found = report(SETTING, made_up(gained=(0.7, 1.0, 1.02)))
    assert {claim: found.get_verdict(claim).word for claim in ("B15", "L02")} == {"B15": "holds-if", "L02": "holds"}
    assert "longest sequences" in found.get_verdict("B15").says
    assert "longest sequences" not in found.get_verdict("L02").says
    assert found.verdict.says == f"{found.get_verdict('B15').says} {found.get_verdict('L02').says}"


def test_what_is_not_clear_leaves_it_open():
    found = report(SETTING, made_up(longer=(0.05, 0.05, 0.05), together=0.04))
    assert found.verdict.word == "open"
    assert "no clear difference" in found.verdict.says
    assert found.headline == "Yes: batch norm misreads 5.0% of the longest sequences, layer norm 5.0%."


def test_statistics_shared_by_all_steps_can_be_the_only_harm():
    found = report(SETTING, made_up(longer=(0.05, 0.05, 0.05), together=0.08))
    assert found.verdict.text == "Holds only where all time steps share their mean and variance"
    assert found.headline.startswith("Yes: batch norm misreads 5.0%")


def test_a_layout_that_keeps_the_steps_is_no_harm_of_batch_norm():
    assert "8.0 ± 0.1% against 4.0 ± 0.1% (4 ± " in judge("B15", trap=0.08).says
    assert judge("B15", longer=(0.05,) * 3, together=0.04, trap=0.08).word == "open"


def test_batch_norm_that_does_not_learn():
    found = report(SETTING, made_up(known=(0.04, 0.9, 0.04)))
    assert found.verdict.word == "holds"
    assert "does not learn" in found.verdict.says
    assert found.headline == "No: batch norm misreads 90.0% of the sequences."


def test_where_no_scheme_learns_nothing_is_said_of_batch_norm():
    found = judge("B15", known=(0.9,) * 3)
    assert found.word == "open"
    assert "No scheme learns here" in found.says


def test_factors_that_move_with_the_scale_are_not_kept():
    for eps, word in ((1e-5, "wrong"), (0.1, "open")):  # where ε is large, the layers are not invariant
        setting = replace(SETTING, eps=eps)
        found = report(setting, made_up(scaled=(lambda s: s,) * 3, setting=setting)).get_verdict("L02")
        assert found.word == word
        assert "No scheme keeps" in found.says
        assert ("not invariant" in found.says) == (word == "open")


def test_test_digits_choose_no_rate():
    table = report(SETTING, made_up()).table  # whose test errors are 0 at all other rates
    assert set(table["batch, learning rate"]) == {LEARNING_RATES[BEST]}
    assert min(table["batch"]) > 0.03


@pytest.mark.parametrize("number", [np.nan, 0.0, np.inf])
def test_networks_without_numbers_do_not_break_it(number):
    results = made_up()
    for result in results.values():
        for key in {"losses", "norms"} & set(result):
            result[key] = np.full_like(result[key], number)
    assert report(SETTING, results).verdict.word in ("open", "holds-if")


def test_groups_of_examples_have_to_fit_every_step():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("custom",), own="groups(64),full,full,own|groups(64),full,full,own")
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("group",), groups=64)


def test_gradients_before_training_do_not_depend_on_how_it_is_trained():
    first, second = (list_jobs(each) for each in (TINY, replace(TINY, steps=30, wait=3)))
    assert first[:3] == second[:3]
    assert [type(each) for each in first] == [*[StateGradients] * 3, *[SequenceTraining] * 3, LayoutTraining]
    more = list_jobs(replace(TINY, gain=0.1))  # of the three, only the sweep over scales has one γ
    assert [one == other for one, other in zip(first[:3], more[:3], strict=True)] == [True, True, False]
