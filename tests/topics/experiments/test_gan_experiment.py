from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.gan import Setting, list_jobs, report
from normviz.topics.experiments.gan_jobs import (
    LEARNING_RATES,
    LEAST,
    MODES,
    compute_mode_centres,
    compute_near_shares,
    count_covered_modes,
)

TINY = Setting(seeds=2, steps=20, ahead=2)
SETTING = Setting(seeds=4)
FEW, ALL, LITTLE_MORE = np.array([2, 3, 2, 2]), np.array([8, 7, 8, 8]), np.array([3, 1, 2, 4])
RING = 2 * np.stack([np.cos(np.linspace(0, 2 * np.pi, 4000)), np.sin(np.linspace(0, 2 * np.pi, 4000))], 1)


def shares(counts):
    """Return shares near each mode (networks, modes) of samples that all lie near this number of modes."""
    counts = np.asarray(counts)[..., None]
    return np.where(np.arange(MODES) < counts, 0.99 / np.maximum(counts, 1), 0.0)


def made_up(setting, modes, share=1.0, validation=None):
    """Return results with these modes covered, by scheme and steps of the discriminator, at all rates.

    `validation`: covered modes by rate of the samples that choose, for all; the smallest rate is best where not given.
    """
    results = {}
    for part in list_jobs(setting):
        judged = np.broadcast_to(
            shares(modes[part.row.key, part.ahead]), (20, len(LEARNING_RATES), setting.seeds, MODES)
        )
        chosen = judged
        if validation is not None:
            chosen = np.broadcast_to(shares(np.array(validation))[:, None], judged.shape)
        results[part] = {
            "measured": np.arange(1, 21), "near": judged, "validation": chosen,
            "points": np.zeros((len(LEARNING_RATES), setting.seeds, 5, 2)), "share": np.array(share),
            "device": np.array("CPU"),
        }  # fmt: skip
    return results


def verdict(with_more, without_more, with_one, without_one):
    modes = {("spectral", 3): with_more, ("none", 3): without_more, ("spectral", 1): with_one, ("none", 1): without_one}
    return report(SETTING, made_up(SETTING, modes)).verdict


def test_samples_are_near_a_mode_within_three_deviations():
    points = np.concatenate(
        [np.add(compute_mode_centres()[:1], [[0.29, 0.0], [0.0, 0.31]]), compute_mode_centres()[3:4], [[np.nan, 0.0]]]
    )
    assert compute_near_shares(points, 0.1).tolist() == [0.25, 0, 0, 0.25, 0, 0, 0, 0]


def test_draws_of_the_data_cover_every_mode():
    rng = np.random.default_rng(0)
    drawn = compute_mode_centres()[rng.integers(MODES, size=1000)] + 0.1 * rng.standard_normal((1000, 2))
    found = compute_near_shares(drawn, 0.1)
    assert count_covered_modes(found) == MODES
    assert found.sum() == pytest.approx(0.989, abs=0.01)


@pytest.mark.parametrize("deviation", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("smear", [0.0, 0.05, 0.2])
def test_a_smeared_ring_covers_no_mode(deviation, smear):
    """Samples all along the ring, most of them between the modes."""
    drawn = RING + smear * np.random.default_rng(0).standard_normal(RING.shape)
    found = compute_near_shares(drawn, deviation)
    assert count_covered_modes(found) == 0
    if deviation == 0.1 and smear == 0:
        assert (found > LEAST - 0.01).all()
        assert found.sum() == pytest.approx(0.38, abs=0.01)


def test_samples_near_a_few_modes_cover_these_alone():
    rng = np.random.default_rng(0)
    drawn = compute_mode_centres()[rng.integers(3, size=1000)] + 0.1 * rng.standard_normal((1000, 2))
    assert count_covered_modes(compute_near_shares(drawn, 0.1)) == 3


def test_the_verdict_has_levels_and_differences_for_both_numbers_of_steps():
    found = verdict(ALL, FEW, FEW, ALL)
    assert found.word == "holds-if"
    assert "With 3 discriminator steps for each of the generator, samples cover 7.8 ± 0.8 of 8 modes" in found.says
    assert "2.2 ± 0.8 without normalization (a difference of 5.5 ± 1.6)" in found.says
    assert "(a difference of −5.5 ± 1.6)" in found.says
    assert "99.0 ± 0.0% of them are near a mode" in found.says
    assert "at most 1.5 between neighbouring modes" in found.condition


def test_the_verdict_holds_or_does_not_or_is_open():
    assert verdict(ALL, FEW, ALL, FEW).word == "holds"
    assert verdict(ALL, FEW, FEW, LITTLE_MORE).word == "holds-if"
    assert verdict(FEW, ALL, FEW, ALL).word == "wrong"
    assert verdict(FEW, ALL, FEW, LITTLE_MORE).word == "wrong"
    assert verdict(FEW, LITTLE_MORE, ALL, ALL).word == "open"
    assert "no clear difference" in verdict(FEW, LITTLE_MORE, ALL, ALL).says


@pytest.mark.parametrize(
    ("modes", "answer", "with_one"),
    [
        ((ALL, FEW, ALL, FEW), "Yes,", "spectral norm covers more."),
        ((ALL, FEW, FEW, ALL), "Only", "spectral norm covers fewer."),
        ((FEW, ALL, FEW, FEW), "No,", "no difference is clear."),
        ((FEW, LITTLE_MORE, ALL, ALL), "Undecided,", "no difference is clear."),
    ],
)
def test_the_headline_answers_at_the_setting_and_the_second_figure_says_what_one_step_changes(modes, answer, with_one):
    keys = [(key, ahead) for ahead in (3, 1) for key in ("spectral", "none")]
    found = report(SETTING, made_up(SETTING, dict(zip(keys, modes, strict=True))))
    one, other = (f"{np.mean(each):.3g}" for each in modes[:2])
    assert (
        found.headline == f"{answer} with three discriminator steps: spectral norm covers {one} modes, no norm {other}."
    )
    first, second, _ = found.figures
    assert first.panels[-1].names[1] == f"spectral norm<br>mean {one}"
    assert first.caption.endswith("lines are means.")
    assert second.caption.endswith(f"With 1 discriminator step, {with_one}")


def test_steps_at_which_the_claim_holds_are_said():
    assert verdict(ALL, FEW, FEW, FEW).text == "Holds with 3 discriminator steps"
    assert verdict(FEW, ALL, ALL, FEW).text == "Holds with 1 discriminator step"


def test_the_points_are_those_of_the_median_network_with_a_sign_at_each_covered_mode():
    modes = {("none", 3): np.array([7, 2, 3, 5]), ("spectral", 3): ALL, ("none", 1): FEW, ("spectral", 1): FEW}
    results = made_up(SETTING, modes)
    points = results[list_jobs(SETTING)[0]]["points"]
    points[:, 2] = [[1.0, 2.0], [99.0, 0.0], [np.nan, 0.0], [0.0, 0.0], [0.5, 0.5]]
    panel, other, _ = report(SETTING, results).figures[0].panels
    _, cloud, signs = panel.curves
    assert panel.title == "No norm: 3 of 8 modes"
    assert other.title == "Spectral norm: 8 of 8 modes"
    assert cloud.x.tolist() == [1.0, 0.0, 0.5]
    assert len(signs.texts) == len(signs.x) == 3


def test_a_point_is_a_network_and_equal_ones_are_beside_each_other():
    modes = {(key, ahead): FEW for key in ("spectral", "none") for ahead in (3, 1)}
    mean, dots, *_ = report(SETTING, made_up(SETTING, modes)).figures[0].panels[-1].curves
    np.testing.assert_allclose(dots.y, [2, 2, 2, 3])
    np.testing.assert_allclose(dots.x, [-0.1, 0, 0.1, 0], atol=1e-9)
    np.testing.assert_allclose(mean.y, 2.25)


def test_of_two_comparisons_one_has_to_be_clearer():
    """Four seeds whose difference is clear alone (p = 0.035) and not among two (Holm: 0.025)."""
    some = np.array([4, 4, 6, 5])
    alone = replace(SETTING, ahead=1)
    modes = {("spectral", 1): some, ("none", 1): FEW - [0, 1, 0, 0], ("spectral", 3): FEW, ("none", 3): FEW}
    modes["none", 1] = some - [1, 1, 3, 2]
    assert report(alone, made_up(alone, modes)).verdict.word == "holds"
    assert report(SETTING, made_up(SETTING, modes)).verdict.word == "open"


def test_with_one_step_of_the_discriminator_there_is_one_side():
    setting = replace(SETTING, ahead=1)
    assert len(list_jobs(setting)) == 2
    modes = {("spectral", 1): ALL, ("none", 1): FEW}
    found = report(setting, made_up(setting, modes))
    assert found.verdict.word == "holds"
    assert found.headline == "Yes, with one discriminator step: spectral norm covers 7.75 modes, no norm 2.25."


def test_the_rate_is_chosen_by_other_samples_than_those_that_are_counted():
    """By its own samples every rate is as good; those that choose cover most modes at the second."""
    modes = {("spectral", 1): ALL, ("none", 1): FEW}
    setting = replace(SETTING, ahead=1)
    table = report(setting, made_up(setting, modes, validation=[1, 5])).table
    assert {rate for rate, best in zip(table["learning rate"], table["best rate"], strict=True) if best} == {
        LEARNING_RATES[1]
    }
    assert len(table["seed"]) == 2 * len(LEARNING_RATES) * setting.seeds


def test_nothing_is_said_of_what_is_not_there():
    assert report(SETTING, {}).verdict.word == "open"
    assert not report(SETTING, {}).figures
    modes = dict.fromkeys([("spectral", 3), ("none", 3), ("spectral", 1), ("none", 1)], FEW)
    unfinished = report(SETTING, made_up(SETTING, modes, share=0.9))
    assert unfinished.verdict.word == "open"
    assert [shown.key for shown in unfinished.figures] == ["curves"]
    setting = replace(SETTING, schemes=("spectral", "batch"))
    assert "choose both" in report(setting, {}).verdict.says


def test_a_scheme_does_not_depend_on_those_beside_it_and_a_seed_not_on_the_others():
    beside = list_jobs(replace(TINY, schemes=("none", "layer")))
    assert compute_digest(list_jobs(TINY)[0]) == compute_digest(beside[0])
    part = list_jobs(TINY)[1]
    both, again, alone = run_to_end(part), run_to_end(part), run_to_end(replace(part, networks=part.networks[:1]))
    assert_repeated(both, again)
    np.testing.assert_allclose(alone["points"], both["points"][:, :1], atol=0.02)


def test_a_tiny_run_is_told():
    setting = replace(TINY, schemes=("none", "spectral", "weight", "layer"))
    results = {part: run_to_end(part) for part in list_jobs(setting)}
    found = report(setting, results)
    assert [shown.key for shown in found.figures] == ["modes 2", "modes 1", "curves"]
    assert len(found.figures[0].panels) == 3
    assert len(set(map(len, found.table.values()))) == 1


def test_networks_without_numbers_cover_nothing():
    found = compute_near_shares(np.full((1000, 2), np.nan), 0.1)
    assert np.isfinite(found).all()
    assert count_covered_modes(found) == 0


def test_a_scheme_that_does_not_fit_is_refused():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(groups=64, schemes=("group",))
