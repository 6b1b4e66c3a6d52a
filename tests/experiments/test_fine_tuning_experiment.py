from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.experiments.fine_tuning import LEARNED, WAYS, Setting, part, parts, report
from normviz.jobs.spec import digest, finish
from normviz.ui.curves import curves

TINY = Setting(seeds=2, steps=10, examples=64, batch=8)
NOISE = 0.001 * np.array([1, -1, 2, 0, -2])


def made_up(setting, cost=0.3, gain=0.05, moved=1.0, still=0.0, changed=0.0):
    """Results in which training mode costs so much on the first task and gains so much on the new one."""
    results = {}
    for each in parts(setting):
        train, ways = each.mode == "train", np.ones((len(LEARNED), len(each.networks)))
        after = 0.05 + NOISE[: len(each.networks)]
        old = np.stack([0.05 * ways, after + cost * train * ways])
        new = np.stack([0.5 * ways, 0.05 + gain * (not train) * ways])
        results[each] = {
            "measured": np.array([0, setting.steps]), "old": old, "new": new,
            "moved": np.stack([0 * ways, (moved if train else still) * ways]),
            **{f"{name} by momentum": np.stack([errors[-1]] * len(each.momenta))
               for name, errors in (("old", old), ("new", new))},
            **{f"changed: {name}": changed * ways for name in ("weights", "γ, β", "classifier")},
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return results


def verdict(**how):
    return report(Setting(), made_up(Setting(), **how)).verdict


@pytest.fixture(scope="module")
def tiny():
    return {each: finish(each) for each in (part(TINY, "train"), part(TINY, "infer"), part(TINY, "train", 4))}


def test_what_is_frozen_does_not_change_but_for_the_averages_in_training_mode(tiny):
    train, infer = (tiny[part(TINY, mode)] for mode in ("train", "infer"))
    learned = {"weights": ("weights", "all"), "γ, β": ("all",), "classifier": ("head", "weights", "all")}
    for result in (train, infer):
        for name, ways in learned.items():
            moves = [key for key, change in zip(LEARNED, result[f"changed: {name}"], strict=True) if (change > 0).all()]
            assert moves == list(ways)
            assert not any(result[f"changed: {name}"][k].any() for k, key in enumerate(LEARNED) if key not in ways)
    assert (train["moved"][1:] > 0).all()
    assert not infer["moved"].any()
    assert (infer["old"][:, 0] == infer["old"][0, 0]).all()


def test_errors_by_momentum_are_those_of_the_momentum_that_is_set(tiny):
    train = part(TINY, "train")
    which = train.momenta.index(TINY.momentum)
    for name in ("old", "new"):
        assert np.array_equal(tiny[train][f"{name} by momentum"][which], tiny[train][name][-1])


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone(tiny):
    train = part(TINY, "train")
    again, alone = finish(train), finish(replace(train, networks=train.networks[1:]))
    assert_repeated(tiny[train], again)
    np.testing.assert_allclose(alone["moved"][:, :, 0], tiny[train]["moved"][:, :, 1], rtol=1e-3)
    np.testing.assert_allclose(alone["new"][:, :, 0], tiny[train]["new"][:, :, 1], atol=0.01)


def test_the_report_of_a_tiny_run_is_whole_when_all_of_it_is_there(tiny):
    seen = report(TINY, tiny)
    assert [shown.key for shown in seen.figures] == ["curves", "momenta", "pieces"]
    assert len(set(map(len, seen.table.values()))) == 1
    assert len(seen.table["seed"]) == 3 * len(LEARNED) * 2
    assert report(TINY, {}).verdict.word == "open"


def test_figures_grow_with_the_results():
    first = part(TINY, "train")
    for step in first.steps():
        result = step.result()
        seen = report(TINY, {first: result})
        assert seen.verdict.word == "open"
        if len(result["measured"]) == 2:
            break
    assert [shown.key for shown in seen.figures] == ["curves"]


def test_the_momentum_and_what_is_shown_change_no_more_than_they_must():
    def digests(**changes):
        return {digest(each) for each in parts(replace(TINY, **changes))}

    assert digests(ways=tuple(WAYS)) == digests()
    assert digests(momentum=0.3) & digests() == {digest(part(TINY, "infer"))}


def test_it_holds_where_frozen_networks_lose_what_they_could():
    told = verdict()
    assert told.word == "holds"
    assert "changes by 30 ± 0.2 points" in told.says
    assert "in place of training mode changes the error on the new task by 5 ± 0 points" in told.says
    assert told.condition.endswith("± is the 95% interval over 5 seeds.")


def test_it_holds_under_a_condition_where_nothing_is_lost():
    assert verdict(cost=0.0).word == "holds-if"
    assert verdict(cost=-0.02).word == "holds-if"


def test_it_does_not_hold_where_averages_rest_or_frozen_parameters_move():
    assert verdict(moved=0.0).word == "wrong"
    assert verdict(still=0.1).word == "wrong"
    assert verdict(changed=0.1).word == "wrong"


def test_networks_that_diverge_do_not_break_it():
    setting = Setting(ways=tuple(WAYS))
    results = made_up(setting, cost=0.95)
    for each in results.values():
        each["moved"][:, 1:] = np.nan
    seen = report(setting, results)
    assert seen.verdict.word == "holds"
    assert all(curves(shown.panels).data for shown in seen.figures)


def test_without_ways_to_show_there_are_no_curves():
    setting = Setting(ways=())
    assert not report(setting, made_up(setting)).figures


def test_mini_batches_are_cut_into_pieces_of_two_at_least():
    assert Setting(batch=4).pieces == (1, 2)
    assert Setting(batch=32).pieces == (1, 2, 4, 8, 16)
    with pytest.raises(InvalidInput, match="batch"):
        Setting(batch=6)
