from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.experiments.dropout import EXPERIMENT, Setting, parts, report
from normviz.experiments.experiment import Difference, paired
from normviz.jobs.spec import digest, finish

TINY = Setting(seeds=2, digits=32, steps=20, share=0.3, schemes=("none", "batch"))


def made_up(setting, errors):
    """Results in which every network ends with these errors, by share (schemes, seeds)."""
    results = {}
    for part in parts(setting):
        ends = np.asarray(errors(part.share), float)
        results[part] = {
            "measured": np.array([1, 2]), "seen": np.stack([ends] * 2), "unseen": np.stack([ends] * 2),
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return results


def noisy(mean, seeds=8):
    return mean + 0.001 * np.array([1, -1] * (seeds // 2))


def test_a_share_is_trained_once_whatever_the_others_are():
    first, second = (parts(replace(TINY, share=share)) for share in (0.3, 0.4))
    assert len({digest(part) for part in first}) == len(first)
    assert digest(first[0]) == digest(second[0])


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_scheme_and_seed_alone():
    part = parts(TINY)[1]
    whole, again = finish(part), finish(part)
    assert_repeated(whole, again)
    alone = finish(replace(part, rows=part.rows[1:], networks=part.networks[1:]))
    np.testing.assert_allclose(alone["unseen"][:, 0, 0], whole["unseen"][:, 1, 1], atol=0.01)
    told = report(TINY, {part: whole})
    assert told.verdict.word == "open"
    assert [shown.key for shown in told.figures] == ["curves"]


def test_what_is_measured_does_not_change_what_is_trained(monkeypatch):
    often = finish(parts(TINY)[1])
    monkeypatch.setattr("normviz.experiments.dropout.POINTS", 3)
    seldom = finish(parts(TINY)[1])
    assert len(seldom["measured"]) < len(often["measured"])
    assert_repeated({"unseen": often["unseen"][-1]}, {"unseen": seldom["unseen"][-1]})


def test_nothing_is_said_before_anything_is_trained():
    told = report(Setting(), {})
    assert told.verdict.word == "open"
    assert not told.figures


def test_it_stays_an_opinion_with_numbers_for_each_side():
    setting = Setting()
    told = report(setting, made_up(setting, lambda share: [noisy(0.1 - 0.05 * share), 0.05 + 0.08 * share + noisy(0)]))
    assert told.verdict.word == "opinion"
    assert "without normalization by −2.5 ± 0 points, which is better" in told.verdict.says
    assert "with batch normalization by 4 ± 0 points, which is worse" in told.verdict.says
    assert told.headline.endswith("in points: None −2.5 ± 0, Batch 4 ± 0.")
    assert "The lowest mean is 5.0%: Batch, no dropout." in told.verdict.says
    assert len(set(map(len, told.table.values()))) == 1


def test_a_difference_smaller_than_the_noise_is_called_that():
    setting = Setting(schemes=("batch",))
    told = report(setting, made_up(setting, lambda share: [noisy(0.05) if share else noisy(0.05)[::-1]]))
    assert "within the noise" in told.verdict.says


def test_networks_without_numbers_do_not_break_it():
    setting = Setting()
    told = report(setting, made_up(setting, lambda share: np.full((2, 8), np.nan)))
    assert told.verdict.word == "opinion"
    assert "noise" in told.verdict.says


def test_a_scheme_that_does_not_fit_is_refused():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(groups=3)


def test_a_paired_difference_is_the_mean_and_its_interval():
    found = paired(np.array([1.0, 2.0, 3.0]), np.zeros(3))
    assert found.mean == 2
    assert found.reach == pytest.approx(4.303 / 3**0.5, rel=1e-3)
    assert not found.clear
    assert found.said() == "2 ± 2.5"
    assert Difference(1.0, 0.5).clear
    assert Difference(-1e-9, 0.5).said() == "0 ± 0.5"
    assert not paired(np.array([1.0, np.nan]), np.zeros(2)).clear
    assert np.isnan(paired(np.ones(1), np.zeros(1)).mean)
    assert EXPERIMENT.claims == ("B17",)
