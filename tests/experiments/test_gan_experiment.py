from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.experiments.gan import MODES, Setting, centres, covered, near, parts, report
from normviz.jobs.spec import digest, finish

TINY = Setting(seeds=2, steps=20, ahead=2)
SETTING = Setting(seeds=4)
FEW, ALL, LITTLE_MORE = np.array([2, 3, 2, 2]), np.array([8, 7, 8, 8]), np.array([3, 1, 2, 4])


def made_up(setting, modes, share=1.0):
    """Results in which so many modes are covered at the end, by scheme and steps of the discriminator."""
    results = {}
    for part in parts(setting):
        counts = np.asarray(modes[part.row.key, part.ahead])
        shares = np.where(np.arange(MODES) < counts[:, None], 0.1, 0.01)
        results[part] = {
            "measured": np.arange(1, 21), "near": np.stack([shares] * 20), "points": np.zeros((20, 5, 2)),
            "share": np.array(share), "device": np.array("CPU"),
        }  # fmt: skip
    return results


def told(with_more, without_more, with_one, without_one):
    modes = {("spectral", 3): with_more, ("none", 3): without_more, ("spectral", 1): with_one, ("none", 1): without_one}
    return report(SETTING, made_up(SETTING, modes)).verdict


def test_samples_are_near_a_mode_within_three_deviations():
    points = np.concatenate([np.add(centres()[:1], [[0.29, 0.0], [0.0, 0.31]]), centres()[3:4], [[np.nan, 0.0]]])
    assert near(points, 0.1).tolist() == [0.25, 0, 0, 0.25, 0, 0, 0, 0]


def test_draws_of_the_data_cover_every_mode():
    rng = np.random.default_rng(0)
    drawn = centres()[rng.integers(MODES, size=1000)] + 0.1 * rng.standard_normal((1000, 2))
    shares = near(drawn, 0.1)
    assert covered(shares) == MODES
    assert shares.sum() == pytest.approx(0.989, abs=0.01)


def test_the_verdict_says_with_how_many_steps_it_helps():
    verdict = told(ALL, FEW, FEW, ALL)
    assert verdict.word == "holds-if"
    assert "covers 7.8 of 8 modes and no normalization 2.2: 5.5 ± 1.6 more" in verdict.says
    assert "5.5 ± 1.6 fewer" in verdict.says
    assert verdict.condition.startswith(
        "It does with 3 steps of the discriminator; with 1 step of the discriminator it h"
    )
    assert "may or may not" in told(ALL, FEW, FEW, LITTLE_MORE).condition
    assert told(FEW, LITTLE_MORE, ALL, FEW).condition.startswith("It does with 1 step of")


def test_the_verdict_holds_or_does_not_or_is_open():
    assert told(ALL, FEW, ALL, FEW).word == "holds"
    assert told(FEW, ALL, FEW, ALL).word == "wrong"
    assert told(FEW, ALL, FEW, LITTLE_MORE).word == "wrong"
    assert told(FEW, LITTLE_MORE, ALL, ALL).word == "open"
    assert "no difference larger than the noise" in told(FEW, LITTLE_MORE, ALL, ALL).says


def test_with_one_step_of_the_discriminator_there_is_one_side():
    setting = replace(SETTING, ahead=1)
    assert len(parts(setting)) == 2
    modes = {("spectral", 1): ALL, ("none", 1): FEW}
    assert report(setting, made_up(setting, modes)).verdict.word == "holds"


def test_nothing_is_said_of_what_is_not_there():
    assert report(SETTING, {}).verdict.word == "open"
    assert not report(SETTING, {}).figures
    modes = dict.fromkeys([("spectral", 3), ("none", 3), ("spectral", 1), ("none", 1)], FEW)
    unfinished = report(SETTING, made_up(SETTING, modes, share=0.9))
    assert unfinished.verdict.word == "open"
    assert [shown.key for shown in unfinished.figures] == ["curves", "points"]
    setting = replace(SETTING, schemes=("spectral", "batch"))
    assert "choose both" in report(setting, {}).verdict.says


def test_a_scheme_does_not_depend_on_those_beside_it_and_a_seed_not_on_the_others():
    beside = parts(replace(TINY, schemes=("none", "layer")))
    assert digest(parts(TINY)[0]) == digest(beside[0])
    part = parts(TINY)[1]
    both, again, alone = finish(part), finish(part), finish(replace(part, networks=part.networks[:1]))
    assert_repeated(both, again)
    np.testing.assert_allclose(alone["points"], both["points"], atol=1e-3)


def test_a_tiny_run_is_told():
    setting = replace(TINY, schemes=("none", "spectral", "weight", "layer"))
    results = {part: finish(part) for part in parts(setting)}
    found = report(setting, results)
    assert [shown.key for shown in found.figures] == ["curves", "points"]
    assert found.figures[1].columns == 3
    assert len(found.figures[1].panels) == 12
    assert len(set(map(len, found.table.values()))) == 1


def test_networks_without_numbers_cover_nothing():
    part = replace(parts(TINY)[0], rate=1e6)
    shares = finish(part)["near"]
    assert np.isfinite(shares).all()
    assert covered(shares[-1]).max() == 0


def test_a_scheme_that_does_not_fit_is_refused():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(groups=64, schemes=("group",))
