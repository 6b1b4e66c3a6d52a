from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.charts.curves import draw_curve_panels
from normviz.core.errors import InvalidInput
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.fine_tuning import (
    LEARNED_NAMES,
    TUNING_WAYS,
    Outcome,
    Setting,
    list_jobs,
    make_tuning_job,
    report,
)
from normviz.topics.experiments.fine_tuning_jobs import LEARNED_PARAMETERS, LEARNING_RATES

TINY = Setting(seeds=2, steps=10, examples=64, batch=8)
NOISE = 0.001 * np.array([1, -1, 2, 0, -2, 1, 0, -1])
BEST = 2


def made_up(setting=Setting(), cost=0.3, gain=0.05, moved=1.0, still=0.0, changed=0.0):  # noqa: B008
    """Results in which training mode costs so much on the first task and gains so much on the new one."""
    results = {}
    for part in list_jobs(setting):
        train, shift = part.mode == "train", part.task != "same"
        ways = np.ones((len(LEARNED_PARAMETERS), len(LEARNING_RATES), setting.seeds))
        after = (0.05 + cost * train * shift + NOISE[: setting.seeds]) * ways
        old = np.stack([0.05 * ways, after])
        new = np.stack([0.5 * ways, (0.05 + gain * (not train) * shift) * ways + NOISE[: setting.seeds][::-1]])
        results[part] = {
            "measured": np.array([0, setting.steps]), "old": old, "new": new,
            "validation": new + 0.1 * np.abs(np.arange(len(LEARNING_RATES)) - BEST)[:, None],
            "moved": np.stack([0 * ways, (moved if train else still) * ways]),
            "old by momentum": np.stack([old[-1]] * len(part.momenta)),
            **{f"changed: {name}": changed * ways for name in ("weights", "γ, β", "classifier")},
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return results


def judge(**how):
    return report(Setting(), made_up(**how)).verdict


@pytest.fixture(scope="module")
def tiny():
    return {each: run_to_end(each) for each in (make_tuning_job(TINY, mode, "faint") for mode in ("train", "infer"))}


def test_what_is_frozen_does_not_change_but_for_the_averages_in_training_mode(tiny):
    train, infer = (tiny[make_tuning_job(TINY, mode, "faint")] for mode in ("train", "infer"))
    for result in (train, infer):
        for name in ("weights", "γ, β", "classifier"):
            for learned, change in zip(LEARNED_PARAMETERS.values(), result[f"changed: {name}"], strict=True):
                assert (change > 0).all() if name in learned else not change.any()
    assert (train["moved"][1:] > 0).all()
    assert not infer["moved"].any()
    assert (infer["old"][:, 0] == infer["old"][0, 0]).all()


def test_a_larger_rate_changes_more(tiny):
    change = tiny[make_tuning_job(TINY, "infer", "faint")]["changed: weights"][-1]
    assert (np.diff(change, axis=0) > 0).all()


def test_errors_by_momentum_are_those_of_the_momentum_that_is_set(tiny):
    train = make_tuning_job(TINY, "train", "faint")
    which = train.momenta.index(TINY.momentum)
    assert np.array_equal(tiny[train]["old by momentum"][which], tiny[train]["old"][-1])


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone(tiny):
    train = make_tuning_job(TINY, "train", "faint")
    again, alone = run_to_end(train), run_to_end(replace(train, networks=train.networks[1:]))
    assert_repeated(tiny[train], again)
    np.testing.assert_allclose(alone["moved"][..., 0], tiny[train]["moved"][..., 1], rtol=1e-3)
    np.testing.assert_allclose(alone["new"][:, :, :4, 0], tiny[train]["new"][:, :, :4, 1], atol=0.01)


def test_the_report_has_all_figures_and_a_row_for_every_network():
    seen = report(Setting(), made_up())
    assert [shown.key for shown in seen.figures] == ["ends", "curves", "momenta"]
    assert len(set(map(len, seen.table.values()))) == 1
    assert len(seen.table["seed"]) == 4 * len(LEARNED_PARAMETERS) * Setting().seeds
    assert report(TINY, {}).verdict.word == "open"


def test_figures_grow_with_the_results(tiny):
    seen = report(TINY, tiny)
    assert seen.verdict.word == "open"
    assert [shown.key for shown in seen.figures] == ["ends", "curves", "momenta"]
    part = make_tuning_job(TINY, "train", "faint")
    for step in part.steps():
        result = step.result()
        seen = report(TINY, {part: result})
        if len(result["measured"]) == 2:
            break
    assert [shown.key for shown in seen.figures] == ["ends", "curves"]
    assert "so far" in seen.figures[0].panels[0].title


def test_the_momentum_and_what_is_shown_change_no_more_than_they_must():
    def digests(**changes):
        return {compute_digest(each) for each in list_jobs(replace(TINY, **changes))}

    assert digests(ways=tuple(TUNING_WAYS)) == digests()
    assert digests(momentum=0.3) & digests() == {
        compute_digest(make_tuning_job(TINY, "infer", task)) for task in ("faint", "same")
    }
    assert len(digests(task="same")) == 2


def test_validation_digits_of_the_new_task_choose_the_rate():
    result = made_up()[make_tuning_job(Setting(), "infer", "faint")]
    assert LEARNING_RATES[Outcome.of("infer-all", result).best_rate_index] == LEARNING_RATES[BEST]
    result["validation"][-1, -1, 4] = 0.0
    assert Outcome.of("infer-all", result).best_rate_index == 4
    assert Outcome.of("infer-head", result).best_rate_index == BEST


def test_it_holds_where_frozen_networks_lose_what_they_could():
    seen = report(Setting(), made_up())
    assert seen.verdict.word == "holds"
    assert seen.headline == "Yes: in training mode, first-task errors rise from 5% to 35%."
    (panel,) = seen.figures[0].panels
    assert [curve.texts for curve in panel.curves] == [
        ["5%", "35%", "5%"],
        ["50%", "5%", "10%"],
    ]
    assert panel.names[1] == "after a pass in<br>training mode"
    assert "moves them towards the new task, whose errors fall from 50% to 5%." in seen.verdict.why
    says = seen.verdict.says
    assert "goes from 5.0 ± 0.0% to 35.0 ± 0.1% (30 ± 0.11 points more)" in says
    assert "35.0 ± 0.1% in training mode and 5.0 ± 0.1% in evaluation mode (training mode 30 ± 0 points more)" in says
    assert "5.0 ± 0.1% and 10.0 ± 0.1% (evaluation mode 5 ± 0 points more)" in says
    assert "Tuned to the first task again, the errors are 5.0 ± 0.1% and 5.0 ± 0.1% (not clearly different" in says


def test_it_holds_under_a_condition_where_nothing_is_lost():
    assert judge(cost=0.0).word == "holds-if"
    assert report(Setting(), made_up(cost=0.0)).headline == (
        "Yes: training mode moves a frozen network’s running averages."
    )
    assert judge(cost=-0.02).word == "holds-if"


def test_it_does_not_hold_where_averages_rest_or_frozen_parameters_move():
    assert report(Setting(), made_up(moved=0.0)).headline == "No: here frozen parameters freeze batch norm."
    assert judge(moved=0.0).word == "wrong"
    assert judge(still=0.1).word == "wrong"
    assert judge(changed=0.1).word == "wrong"


def test_networks_that_diverge_do_not_break_it():
    setting = Setting(ways=tuple(TUNING_WAYS))
    results = made_up(setting, cost=0.95)
    for each in results.values():
        each["moved"][:, 1:] = np.nan
    seen = report(setting, results)
    assert seen.verdict.word == "holds"
    assert all(draw_curve_panels(shown.panels).data for shown in seen.figures)


def test_without_ways_to_show_there_are_no_curves():
    setting = Setting(ways=())
    assert not report(setting, made_up(setting)).figures


def test_every_choice_of_what_is_learned_has_a_name():
    assert list(LEARNED_NAMES) == list(LEARNED_PARAMETERS)


def test_the_new_task_never_has_more_digits_than_there_are():
    assert run_to_end(replace(make_tuning_job(TINY, "infer", "digits"), examples=384, networks=(0,)))["share"] == 1
    with pytest.raises(InvalidInput, match="examples"):
        Setting(examples=512)
