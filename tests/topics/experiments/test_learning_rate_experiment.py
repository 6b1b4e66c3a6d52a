"""Learning rate: what follows from made-up results."""

from dataclasses import replace

import numpy as np
import pytest

from normviz.topics.experiments.learning_rate import LOG_RATE_SPACING, RATES_BY_OPTIMIZER, Setting, list_jobs, report

SETTING = Setting(seeds=4, schemes=("none", "batch", "layer"))
GRID = np.array(RATES_BY_OPTIMIZER["sgd"])


def made_up(*largest, setting=SETTING, test=None):
    """Return results of networks that train up to these rates, one for all seeds or one each.

    Test errors are as large as validation errors where `test` gives no others.
    """
    found = {}
    for part, rates in zip(list_jobs(setting), largest, strict=True):
        errors = np.where(GRID[:, None] <= np.broadcast_to(rates, setting.seeds), 0.05, 0.9)[None]
        found[part] = {
            "losses": errors, "validation": errors, "test": errors if test is None else np.full_like(errors, test),
            "measured": np.array([1]), "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return found


def verdict(*largest):
    return report(SETTING, made_up(*largest)).verdict


@pytest.mark.parametrize(
    ("largest", "word"),
    [
        ((0.1, 1, 0.32), "holds"),
        ((0.1, 1, 0.1), "holds"),
        ((0.1, 1, 0.032), "holds"),
        ((0.1, 1, 0), "holds"),
        ((0.1, 0.1, 0.1), "open"),
        ((0.1, 0.032, 0.1), "wrong"),
        ((0.1, 0.032, 0.01), "wrong"),
        ((0.1, 0, 0), "wrong"),
        ((0, 1, 0.32), "holds"),
        ((0, 0, 0), "open"),
        ((0, 0, 0.32), "open"),
        ((0.1, [0.032, 0.32, 1, 0.032], [0.1, 0.32, 0.1, 0.032]), "open"),
    ],
)
def test_the_verdict_is_on_batch_norm(largest, word):
    assert verdict(*largest).word == word


@pytest.mark.parametrize(("largest", "word"), [((0.1, 1, 0.32), "holds"), ((0.1, 1, 0.1), "holds-if")])
def test_without_batch_norm_the_verdict_is_on_all_schemes(largest, word):
    setting = replace(SETTING, schemes=("none", "layer", "group"))
    assert report(setting, made_up(*largest, setting=setting)).verdict.word == word


def test_the_grid_has_four_rates_to_each_power_of_ten():
    for rates in RATES_BY_OPTIMIZER.values():
        np.testing.assert_allclose(np.diff(np.log10(rates)), LOG_RATE_SPACING, atol=0.02)


def test_how_many_times_as_large():
    says = verdict(0.1, 3.2, 0.1).says
    assert "batch norm 3.2 (32 times as large, 25 to 42)" in says  # a grid cannot tell it more exactly
    assert "layer norm 0.1 (no clear difference)" in says
    assert "times" not in verdict([0, 0.1, 0.1, 0.1], 3.2, 0.1).says  # a rate below all that were tried is no number


def test_headline_and_table():
    shown = report(SETTING, made_up(0.1, 100, 0))
    assert shown.headline == "On average, batch norm allows rates up to 100, no normalization up to 0.1."
    assert {len(column) for column in shown.table.values()} == {len(GRID) * SETTING.seeds}
    eight = replace(SETTING, seeds=8)
    some = report(eight, made_up(0.01, [0, *[100] * 7], 0.01, setting=eight))
    assert some.headline == "Batch norm allows higher learning rates, but some networks train at none."
    same = report(SETTING, made_up(0.1, 0.1, 0.1)).headline
    assert same == "No scheme clearly trains at larger learning rates than without normalization."
    assert "some networks train at none" in report(SETTING, made_up(0, 1, 1)).headline


def test_the_figure_has_the_largest_rate_of_each_network_and_its_mean():
    shown = report(SETTING, made_up([0.1, 0.1, 1, 1], 1, [0, 1, 1, 1])).figures
    (rates,), (errors,) = (figure.panels for figure in shown[:2])
    assert rates.names == ["no norm: 0.32", "batch norm: 1", "layer norm: none"]
    np.testing.assert_allclose(rates.curves[1].y, [0.1, 0.1, 1, 1])
    np.testing.assert_allclose(rates.curves[0].y, 10**-0.5)
    assert errors.levels == (20,)
    assert max(curve.high.max() for curve in errors.curves if curve.name) <= 100


def test_rates_and_schemes_are_judged_by_validation_digits_and_shown_on_test_digits():
    found = report(SETTING, made_up(0.1, 1, 0.32, test=0.25))
    assert found.verdict.word == "holds"
    assert "batch norm 25.0 ± 0.0% at 0.01" in found.verdict.says


def test_a_gain_of_one_scheme_among_many_has_to_be_clearer():
    """Four seeds whose gain is clear alone (p = 0.035) and not among two schemes (Holm: 0.025)."""
    gain = [0.18, 0.18, 0.56, 0.32]
    both = report(SETTING, made_up(0.1, gain, 0.1)).verdict
    alone = replace(SETTING, schemes=("none", "batch"))
    assert report(alone, made_up(0.1, gain, setting=alone)).verdict.word == "holds"
    assert both.word == "open"


def test_with_and_without_are_needed_and_all_of_them():
    found = made_up(0.1, 1, 0.32)
    found.pop(list_jobs(SETTING)[1])
    assert report(SETTING, found).verdict.word == "open"
    alone = replace(SETTING, schemes=("batch", "layer"))
    assert report(alone, made_up(1, 1, setting=alone)).verdict.word == "open"


def test_what_is_not_begun_is_not_in_the_map():
    found = made_up(0.1, 1, 0.32)
    found.pop(list_jobs(SETTING)[1])
    (heat,) = (shown.panels for shown in report(SETTING, found).figures if shown.key == "map")
    assert np.isnan(heat.values[1]).all()
    assert np.isfinite(heat.values[[0, 2]]).all()
