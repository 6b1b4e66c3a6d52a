from dataclasses import replace

import numpy as np
import pytest

from normviz.core.errors import InvalidInput
from normviz.core.machine import machine
from normviz.experiments.speed import EXAMPLES, Ratio, Setting, parts, report
from normviz.jobs.spec import digest, finish

SETTING = Setting(schemes=("layer-channels", "rms"), seeds=8)
NOISE = 1 + 0.02 * np.array([1, -1] * 4)


def made_up(setting, rms, operations=((1, 6), (11, 8))):
    """Results in which layer norm takes 1 s and RMS norm so long, by (way, pass) and place of the size."""
    results = {}
    for size, part in enumerate(parts(setting)):
        times = np.ones((8, 2, 2, 2))
        for (way, which), each in rms.items():
            times[:, way, 1, which] = np.broadcast_to(each, 3)[size] * NOISE
        results[part] = {
            "copied": np.full(8, 0.1), "times": times, "operations": np.array(operations),
            "share": np.array(1.0), "device": np.array("CPU"), "machine": np.array("a machine"),
        }  # fmt: skip
    return results


def told(ahead, back, ours, ours_back):
    rms = {(0, 0): ahead, (0, 1): back, (1, 0): ours, (1, 1): ours_back}
    return report(SETTING, made_up(SETTING, rms)).verdict


def test_a_ratio_is_clear_when_the_middle_half_and_the_median_are():
    assert Ratio.of(2 * NOISE, np.ones(8)).clear
    assert Ratio.of(np.ones(8), 2 * NOISE).clear
    assert not Ratio.of(NOISE, np.ones(8)).clear
    assert not Ratio.of(1.03 * np.ones(8), np.ones(8)).clear  # too little
    assert not Ratio.of(np.array([0.5, 0.5, 2, 2, 2, 0.5, 2, 2]), np.ones(8)).clear  # too noisy
    assert not Ratio.of(np.full(8, np.nan), np.ones(8)).clear


def test_the_verdict_is_of_all_ways_and_passes():
    assert told(0.5, 0.5, 0.8, 0.7).word == "holds"
    assert told(2, 3, 0.8, 0.7).word == "holds-if"
    assert told(2, 3, 1, 1).word == "wrong"
    assert told(2, 3, 2, 1.5).word == "wrong"
    assert told(1, 1, 1, 1).word == "open"
    assert "no difference larger than the noise" in told(1, 1, 1, 1).says


def test_the_headline_has_the_ratios_of_the_largest_tensor():
    rms = {(0, 0): (1, 1, 0.71), (0, 1): (1, 1, 0.72), (1, 0): (1, 1, 0.73), (1, 1): (1, 1, 0.74)}
    headline = report(SETTING, made_up(SETTING, rms)).headline
    assert headline.endswith("0.71 and 0.72 in PyTorch’s layers; 0.73 and 0.74 in the general form.")
    assert len(headline) < 140


def test_one_size_alone_or_sizes_that_contradict_make_nothing_faster():
    assert told((0.5, 1, 1), 1, 1, 1).word == "open"
    assert told((0.5, 0.5, 2), 1, 1, 1).word == "open"
    assert "faster at 1 of 3 sizes" in told((0.5, 1, 1), 1, 1, 1).says
    assert "faster at some sizes, slower at others" in told((0.5, 0.5, 2), 1, 1, 1).says
    assert told((0.5, 0.5, 1), 1, 1, 1).word == "holds-if"


def test_it_says_what_is_not_fused_only_where_that_was_counted():
    rms = dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 2)
    assert "6 operations" in report(SETTING, made_up(SETTING, rms)).verdict.condition
    fused = report(SETTING, made_up(SETTING, rms, ((1, 1), (11, 8)))).verdict.condition
    assert "operations" not in fused
    assert "a machine" in fused


def test_another_machine_measures_anew():
    part = parts(SETTING)[0]
    assert part.machine == machine()
    assert digest(part) != digest(replace(part, machine="another"))


def test_nothing_is_said_of_what_is_not_there():
    assert report(SETTING, {}).verdict.word == "open"
    assert not report(SETTING, {}).figures
    rms = dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 0.5)
    begun = dict(list(made_up(SETTING, rms).items())[:1])
    assert report(SETTING, begun).verdict.word == "open"
    assert [shown.key for shown in report(SETTING, begun).figures] == ["times", "ratio"]
    assert "choose both" in report(replace(SETTING, schemes=("rms",)), {}).verdict.says


def test_a_small_run_is_told_with_schemes_that_torch_does_not_have():
    setting = Setting(schemes=("layer-channels", "rms", "divisive"), seeds=5, channels=16)
    results = {part: finish(part) for part in parts(setting)[:1]}
    found = report(setting, results)
    assert [len(panel.curves) for panel in found.figures[0].panels] == [2, 2, 3, 3]
    assert len(set(map(len, found.table.values()))) == 1
    assert next(iter(results.values()))["times"].shape == (5, 2, 3, 2)
    nothing = report(replace(setting, schemes=("divisive",)), {})
    assert not nothing.figures


def test_the_sizes_grow_and_weights_are_not_of_the_choice():
    assert list(EXAMPLES) == sorted(EXAMPLES)
    with pytest.raises(InvalidInput):
        Setting(schemes=("weight",))
