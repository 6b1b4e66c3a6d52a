from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.experiments.placement import Setting, parts, report
from normviz.experiments.placement_jobs import PLACEMENTS, TRAINED, Chain, Start
from normviz.jobs.spec import finish

TINY = Setting(seeds=2, steps=20, warm=5, batch=8, layers=1, pairs=2)
DONE = {"share": np.array(1.0), "device": np.array("CPU")}


def noisy(mean, seeds=5):
    return mean + 0.001 * np.linspace(-1, 1, seeds)


def made_up(setting, gains, factor=2.0):
    """Results in which post and pre gain so much by a warm-up, at the larger rate and at the smaller one."""
    start, chain, *trainings = parts(setting)
    steps = np.arange(2 * setting.pairs + 1)
    squares = {"none": factor**steps, "post": np.ones(len(steps)), "pre": 1.0 + steps, "peri": 1.0 + steps}
    results = {
        start: {"norms": np.ones((3, 2 * setting.layers, len(PLACEMENTS), 5)), **DONE},
        chain: {"squares": np.stack([np.stack([squares[p] for p in PLACEMENTS], axis=1)] * 5), **DONE},
    }
    for training, by in zip(trainings, gains, strict=True):
        errors = [each for p in TRAINED for each in (noisy(0.2), noisy(0.2 + by.get(p, 0.0))[::-1])]
        results[training] = {"losses": np.ones((20, 2 * len(TRAINED), 5)), "errors": np.stack(errors), **DONE}
    return results


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone():
    results = {part: finish(part) for part in parts(TINY)}
    for part, result in results.items():
        assert result["share"] == 1
        assert_repeated(result, finish(part))
    training = parts(TINY)[-1]
    alone = finish(replace(training, networks=training.networks[1:]))
    np.testing.assert_allclose(alone["losses"][:, :, 0], results[training]["losses"][:, :, 1], rtol=1e-3)
    told = report(TINY, results)
    assert [shown.key for shown in told.figures] == ["training", "start"]
    assert len(set(map(len, told.table.values()))) == 1


def test_nothing_is_said_before_anything_is_trained_and_curves_show_from_the_first_step():
    assert report(TINY, {}).verdict.word == "open"
    assert not report(TINY, {}).figures
    begun = {part: next(iter(part.steps())).result() for part in parts(TINY)}
    assert report(TINY, begun).verdict.word == "open"
    assert len(report(TINY, begun).figures) == 2


@pytest.mark.parametrize(
    ("gains", "factor", "word"),
    [
        (({"post": 0.3}, {"post": 0.2}), 2.0, "holds"),
        (({"post": 0.3}, {}), 2.0, "holds-if"),
        (({"post": 0.3, "pre": 0.3}, {"post": 0.3, "pre": 0.3}), 2.0, "open"),
        (({}, {}), 2.0, "open"),
        (({"post": -0.1}, {"post": -0.1}), 1.0, "holds-if"),
        (({"post": 0.3}, {"post": 0.2}), 1.0, "holds-if"),
    ],
)
def test_the_verdict_is_that_of_the_differences_and_of_the_chain(gains, factor, word):
    setting = Setting()
    assert report(setting, made_up(setting, gains, factor)).verdict.word == word


def test_the_numbers_are_in_the_words():
    setting = Setting()
    told = report(setting, made_up(setting, ({"post": 0.3}, {})))
    assert told.headline.endswith("changes by 30 ± 0.2 points (post) and 0 ± 0.2 (pre) at rate 0.01.")
    assert len(told.headline) < 140
    assert "multiplied by 2 a branch without normalization" in told.verdict.says
    assert "within the noise" in told.verdict.says


def test_a_warm_up_that_is_longer_than_the_training_is_told():
    for warm, said in ((40, False), (120, True), (200, True)):
        setting = Setting(warm=warm)
        caption = report(setting, made_up(setting, ({}, {}))).figures[0].caption
        assert ("no fewer than the whole training" in caption) == said


@pytest.mark.parametrize("number", [np.nan, 0.0, np.inf])
def test_networks_without_numbers_do_not_break_it(number):
    setting = Setting()
    results = made_up(setting, ({}, {}))
    for result in results.values():
        for key in {"losses", "norms", "squares"} & set(result):
            result[key] = np.full_like(result[key], number)
    assert report(setting, results).verdict.word == "open"


def test_schemes_on_weights_and_fields_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match="scheme = 'weight'"):
        Setting(scheme="weight")
    with pytest.raises(InvalidInput, match="groups"):
        Setting(scheme="custom", own="own,groups(3),own,own|own,groups(3),own,own")


def test_what_is_looked_at_before_training_does_not_depend_on_how_it_is_trained():
    first, second = (parts(each)[:2] for each in (TINY, replace(TINY, rate=0.02, steps=30)))
    assert first == second
    assert [type(each) for each in first] == [Start, Chain]
