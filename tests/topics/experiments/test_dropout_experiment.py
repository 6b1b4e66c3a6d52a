"""Dropout: what follows from made-up results, and that its parts train what they say."""

from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.dropout import EXPERIMENT, LEARNING_RATES, MARGIN, Setting, list_jobs, report

TINY = Setting(seeds=2, digits=32, steps=20, share=0.3)
SETTING = Setting()
NOISE = 0.002 * np.array([1, -1, 2, -2, 1, 0, -1, 0])
FLAT, RISES, FALLS, FALLS_FIRST = (0.06,) * 4, (0.06, 0.06, 0.06, 0.08), (0.12, 0.1, 0.08, 0.06), (0.1, 0.06, 0.07, 0.1)


def made_up(*means, setting=SETTING, best=1, noise=NOISE):
    """Return results of networks with these mean test errors by dropout rate, in the order of the parts.

    Only at one rate, which has the lowest validation error; at all others the test error is 0. Training errors are 0.2
    without dropout and 0.3 with it.
    """
    found = {}
    for number, (errors, part) in enumerate(zip(means, list_jobs(setting), strict=True)):
        test = np.zeros((2, 4, len(LEARNING_RATES), setting.seeds))
        for k, mean in enumerate(errors):
            test[:, k, best] = mean + np.roll(noise, number + k)[: setting.seeds]
        validation, training = np.ones_like(test), np.full_like(test, 0.3)
        validation[:, :, best], training[:, 0] = 0.1, 0.2
        found[part] = {
            "losses": test, "training": training, "validation": validation, "test": test, "measured": np.array([1, 2]),
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("means", "word", "headline"),  # no norm and batch norm with correct labels, then with random ones
    [
        ((FALLS, FLAT, FALLS, FLAT), "holds", "Yes, with correct labels and random labels: there dropout lowers only"),
        (
            (FLAT, FLAT, FALLS, RISES),
            "holds-if",
            "Yes, with random labels: there dropout lowers only the error without",
        ),
        (
            (FLAT, FLAT, FLAT, FALLS),
            "wrong",
            "Not always: with random labels, dropout lowers batch norm’s error from 12.0% to 6.0%.",
        ),
        (
            (FALLS, FALLS, FALLS, RISES),
            "holds-if",
            "Not always: with correct labels, dropout lowers batch norm’s error from 12.0%",
        ),
        ((FLAT, FALLS, FLAT, FALLS_FIRST), "wrong", "No: dropout lowers batch norm’s error from 10.0% to 6.0%."),
        ((FLAT, FLAT, RISES, FLAT), "open", "Undecided: dropout clearly helps none of these networks."),
    ],
)
def test_the_headline_and_the_verdict_say_with_which_labels_batch_norm_replaces_dropout(means, word, headline):
    found = report(SETTING, made_up(*means))
    assert found.verdict.word == word
    assert found.headline.startswith(headline)


def test_an_effect_that_may_be_larger_than_the_margin_is_open():
    results = made_up(FALLS, FLAT, FALLS, FLAT)
    for part in list_jobs(SETTING)[1::2]:
        results[part]["test"][:, 1:] += 4 * MARGIN * np.sign(NOISE + 1e-9)
    assert report(SETTING, results).verdict.word == "open"


def test_levels_and_reasons_are_those_of_the_rate_chosen_on_validation_digits():
    found = report(SETTING, made_up(FLAT, FLAT, FLAT, FALLS, best=2))
    assert "Random labels, batch norm: 0% 12.0 ± 0.2%, 10% 10.0 ± 0.2%" in found.verdict.says
    assert found.verdict.why == (
        "The likely reason: networks with batch norm learn some wrong labels by heart. Dropout hinders this. With "
        "correct labels, dropout helps neither network, so there is nothing to replace."
    )
    (errors,) = found.figures
    assert [panel.title for panel in errors.panels] == ["Correct labels", "30% random labels"]
    assert [curve.name for curve in errors.panels[0].curves] == ["no norm", "batch norm"]
    *_, falling, levels = errors.panels[1].curves
    np.testing.assert_allclose(falling.x, [0, 10, 25, 50], atol=1)
    np.testing.assert_allclose(falling.y, [12, 10, 8, 6])
    assert levels.texts == ["12.0", "6.0", ""]
    assert len({len(column) for column in found.table.values()}) == 1


def test_dropout_that_helps_another_scheme_and_labels_not_learned_by_heart_change_the_reason():
    results = made_up(FALLS, FLAT, FLAT, FALLS)
    assert "helps neither" not in report(SETTING, results).verdict.why
    for arrays in results.values():
        arrays["training"] = np.zeros_like(arrays["training"])
    assert "wrong labels by heart" not in report(SETTING, results).verdict.why


def test_with_correct_labels_alone_there_is_one_panel():
    setting = replace(SETTING, relabelled=0.0)
    found = report(setting, made_up(FLAT, FALLS, setting=setting))
    assert len(found.figures[0].panels) == 1
    assert found.headline == "No: dropout lowers batch norm’s error from 12.0% to 6.0%."
    assert "random" not in found.headline + found.verdict.why + EXPERIMENT.test(setting).replace("at random", "")


def test_all_networks_and_a_scheme_are_needed():
    assert report(SETTING, {}).verdict.word == "open"
    assert report(SETTING, {}).headline == "Nothing is trained yet."
    results = made_up(FLAT, FLAT, FLAT, FALLS)
    for count in range(1, len(results)):
        assert report(SETTING, dict(list(results.items())[:count])).verdict.word == "open"
    for key in ("none", "batch"):
        alone = replace(SETTING, schemes=(key,))
        found = report(alone, made_up(FLAT, FALLS, setting=alone))
        assert found.verdict.says.startswith("To judge the claim")
        assert found.headline.startswith("Test error without dropout: ")


def test_networks_without_numbers_do_not_break_it():
    results = made_up(FLAT, FLAT, FLAT, FALLS)
    for arrays in results.values():
        for name in ("test", "validation", "training"):
            arrays[name] = np.full_like(arrays[name], np.nan)
    assert report(SETTING, results).verdict.word == "open"


def test_correct_labels_are_trained_once_whatever_the_share_of_random_ones():
    first, second = (list_jobs(replace(TINY, relabelled=share)) for share in (0.3, 0.4))
    assert len({compute_digest(part) for part in first}) == len(first)
    same = [compute_digest(one) == compute_digest(other) for one, other in zip(first, second, strict=True)]
    assert same == [True, True, False, False]


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone():
    part = list_jobs(TINY)[3]
    whole, again = run_to_end(part), run_to_end(part)
    assert_repeated(whole, again)
    assert whole["test"].shape[1:] == whole["validation"].shape[1:] == (4, len(LEARNING_RATES), 2)
    alone = run_to_end(replace(part, networks=part.networks[1:]))
    for name in ("training", "validation", "test"):
        np.testing.assert_allclose(alone[name][..., 0], whole[name][..., 1], atol=0.05)
    found = report(TINY, {part: whole})
    assert found.verdict.word == "open"
    assert [shown.key for shown in found.figures] == ["errors"]


def test_networks_without_dropout_are_the_same_beside_any_highest_rate():
    few, many = (run_to_end(list_jobs(replace(TINY, share=share))[1]) for share in (0.3, 0.6))
    np.testing.assert_allclose(few["losses"][:, 0], many["losses"][:, 0], rtol=1e-4)
    assert not np.allclose(few["losses"][:, 3], many["losses"][:, 3], rtol=1e-4)


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
