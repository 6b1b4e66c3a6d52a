from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.core.schemes import SCHEMES
from normviz.experiments.smoothing import SMOOTHED, Setting, fall, parts, report, trend
from normviz.jobs.spec import finish

TINY = Setting(seeds=2, steps=20, depth=3, schemes=("layer", "divisive"))
NOISE = 0.01 * np.array([1, -1, 1, -1, 0])
FALLS, RISES = np.linspace(1, 0.2, 6), np.linspace(0.2, 1, 6)
LAST = np.array([0.5, 0.5, 0.5, 0.5, 0.5, 0.1])
LEVEL = np.full(6, 0.5)


def scattered(means):
    """(layers, seeds) of which no seed has the order of another where the means are the same."""
    return means[:, None] + 0.01 * np.random.default_rng(1).permuted(np.tile(np.arange(6.0)[:, None], 5), axis=0)


def made_up(setting, **means):
    """Results with these means of ε by layer, for each scheme a list by first ε."""
    results = {}
    for part in parts(setting):
        eps = np.stack([scattered(means[row.key][setting.firsts.index(part.first)]) for row in setting.rows], axis=1)
        results[part] = {
            "losses": np.ones((2, len(setting.rows), 5)), "eps": eps, "part": eps / (1 + eps), "share": np.array(1.0),
            "device": np.array("CPU"),
        }  # fmt: skip
    return results


def test_a_fall_is_told_from_a_rise_and_from_noise():
    told = [fall(scattered(means)) for means in (FALLS, RISES, LAST, LEVEL)]
    assert told == ["falls", "rises", "last", "level"]
    assert trend(np.tile(FALLS[:, None], 5)).mean == -1
    assert fall(np.full((6, 5), np.nan)) == "nothing"
    assert fall(np.tile(FALLS[:2, None], 5)) == "falls"
    assert fall(np.ones((6, 5))) == "level"


@pytest.mark.parametrize(
    ("divisive", "word"),
    [
        ([FALLS] * 3, "holds"),
        ([FALLS, FALLS, LAST], "holds-if"),
        ([FALLS, LEVEL, RISES], "holds-if"),
        ([LEVEL, LEVEL, RISES], "wrong"),
        ([LEVEL] * 3, "open"),
        ([np.full(6, np.nan)] * 3, "open"),
    ],
)
def test_the_verdict_is_that_of_divisive_normalization_over_all_first_values(divisive, word):
    setting = Setting(schemes=("layer", "divisive"))
    told = report(setting, made_up(setting, layer=[RISES] * 3, divisive=divisive))
    assert told.verdict.word == word
    assert "Layer: the learned ε rises with depth where it starts from 1" in told.verdict.says
    assert "divisive" in told.headline
    assert [shown.key for shown in told.figures] == ["eps", "part"]
    assert len(set(map(len, told.table.values()))) == 1


def test_networks_that_diverge_give_no_numbers():
    setting = Setting(schemes=("divisive",))
    told = report(setting, made_up(setting, divisive=[FALLS, FALLS, np.full(6, np.nan)])).verdict
    assert told.word == "holds-if"
    assert "gives no numbers where it starts from" in told.says
    assert "NaN" not in told.says


def test_without_divisive_normalization_nothing_is_said_of_the_claim():
    setting = Setting(schemes=("layer",))
    told = report(setting, made_up(setting, layer=[FALLS] * 3)).verdict
    assert told.word == "open"
    assert told.says.startswith("The claim is of divisive normalization, which is not chosen. Layer: ")
    assert report(setting, {}).verdict.word == "open"
    assert not report(setting, {}).figures


def test_a_tiny_run_gives_the_same_numbers_again_and_for_a_scheme_and_seed_alone():
    part = parts(TINY)[1]
    steps = list(part.steps())
    found, again = steps[-1].result(), finish(part)
    assert_repeated(found, again)
    assert found["eps"].shape == (3, 2, 2)
    assert (found["eps"] != part.first).all()
    told = report(TINY, {part: steps[0].result()})
    assert told.verdict.word == "open"
    assert [shown.key for shown in told.figures] == ["eps", "part"]
    alone = finish(replace(part, rows=part.rows[1:], networks=part.networks[1:]))
    np.testing.assert_allclose(alone["losses"][:5, 0, 0], found["losses"][:5, 1, 1], rtol=1e-4)


def test_only_schemes_with_a_smoothing_term_are_compared():
    assert {"none", "weight", "spectral", "whitening"}.isdisjoint(SMOOTHED)
    assert {"batch", "layer", "divisive", "rms", "custom"} <= set(SMOOTHED)
    assert set(SMOOTHED) < set(SCHEMES)
    with pytest.raises(InvalidInput, match="would do"):
        Setting(schemes=("none",))
    with pytest.raises(InvalidInput, match="field B"):
        Setting(schemes=("custom",), own="own,full,full,full|")


def test_a_first_value_that_is_there_already_is_trained_once():
    assert [part.first for part in parts(replace(TINY, eps=0.1))] == [1, 0.1]
    assert [part.first for part in parts(replace(TINY, eps=0.3))] == [1, 0.3, 0.1]
