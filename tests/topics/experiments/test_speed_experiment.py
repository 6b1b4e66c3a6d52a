from dataclasses import replace

import numpy as np
import pytest

from normviz.core.errors import InvalidInput
from normviz.core.machine import describe_machine
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.speed import EXAMPLES, Setting, TimeRatio, list_jobs, report

SETTING = Setting(schemes=("layer-channels", "rms"), seeds=8)
NOISE = 1 + 0.02 * np.array([1, -1] * 4)


def made_up(setting, ratios, operations=((1, 6), (11, 8))):
    """Return results in which layer norm takes 1 s and RMS norm so many times as long, by (way, pass) and size."""
    results = {}
    for size, part in enumerate(list_jobs(setting)):
        times = np.ones((8, 2, 2, 2))
        for (way, which), each in ratios.items():
            times[:, way, 1, which] = np.broadcast_to(each, 3)[size] * NOISE
        results[part] = {
            "copied": np.full(8, 0.1), "times": times, "operations": np.array(operations),
            "share": np.array(1.0), "device": np.array("CPU"), "machine": np.array("a machine"),
        }  # fmt: skip
    return results


def reported(torch, torch_back, general, general_back):
    ratios = {(0, 0): torch, (0, 1): torch_back, (1, 0): general, (1, 1): general_back}
    return report(SETTING, made_up(SETTING, ratios))


def test_a_ratio_is_paired_by_round():
    """A load that slows both contenders of a round cancels; unpaired, the interval would reach from 0.5 to 8."""
    load = np.array([1, 1, 1, 9, 1, 1, 20, 1])
    ratio = TimeRatio.from_times(2 * NOISE * load, load)
    assert ratio.middle == pytest.approx(2, rel=1e-3)
    assert 1.9 < ratio.low < 2 < ratio.high < 2.1
    assert ratio.text == "2 (2 to 2)"
    assert np.isnan(TimeRatio.from_times(np.full(8, np.nan), np.ones(8)).middle)


def test_a_ratio_and_its_inverse_agree():
    ratio, inverse = TimeRatio.from_times(3 * NOISE, np.ones(8)), TimeRatio.from_times(np.ones(8), 3 * NOISE)
    assert [ratio.low, ratio.middle, ratio.high] == pytest.approx(
        [1 / inverse.high, 1 / inverse.middle, 1 / inverse.low]
    )


@pytest.mark.parametrize(
    ("ratios", "word"),
    [
        ((0.5, 0.5, 0.8, 0.7), "holds"),
        ((2, 3, 0.8, 0.7), "holds-if"),
        ((1, 1, 1, (1, 1, 0.8)), "holds-if"),
        ((0.8, 0.8, 0.8, (0.8, 1, 0.8)), "holds-if"),
        ((2, 3, 1, 1), "wrong"),
        ((2, 3, 2, 1.5), "wrong"),
        ((1, 1, 1, 1), "open"),
    ],
)
def test_the_verdict_is_of_all_sizes_ways_and_passes(ratios, word):
    assert reported(*ratios).verdict.word == word


def test_the_verdict_says_at_which_sizes():
    found = reported(0.5, (2, 1, 0.5), 1, 2).verdict
    assert found.text == "Holds only in PyTorch’s layers"
    says = found.says
    assert "at 16,384, 131,072 and 1,048,576 elements" in says
    assert "in PyTorch’s layers, forward, 0.5 (0.49 to 0.51), 0.5 " in says
    assert "0.5 (0.49 to 0.51): RMS norm is faster at all sizes" in says
    assert "RMS norm is faster at 1,048,576 elements, slower at 16,384 elements" in says
    assert "in plain operations, forward, 1 (0.98 to 1), 1 (0.98 to 1), 1 (0.98 to 1): there is no clear" in says
    assert "RMS norm is slower at all sizes" in says


def test_headline_verdict_figure_and_table_have_the_same_numbers():
    found = reported((0.71, 1, 1.7), 1.1, 0.9, (1, 1, 1.3))
    assert (
        found.headline == "On a CPU, RMS norm is not clearly different in PyTorch’s layers, faster in plain operations."
    )
    assert "0.71 (0.7 to 0.72), 1 (0.98 to 1), 1.7 (1.7 to 1.7)" in found.verdict.says
    (forward,), (both,) = (figure.panels for figure in found.figures[:2])
    assert forward.curves[0].y == pytest.approx([0.71, 1, 1.7], rel=1e-3)
    assert both.curves[1].y == pytest.approx([1, 1, 1.3], rel=1e-3)
    table = found.table
    rms = [k for k, key in enumerate(table["scheme"]) if key == "rms" and table["pass"][k] == "forward"]
    torch = [table["over layer norm"][k] for k in rms if table["computed by"][k] == "PyTorch’s layers"]
    assert torch == forward.curves[0].y.tolist()


def test_it_says_what_is_not_fused_only_where_that_was_counted():
    rms = dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 0.5)
    assert (
        "But PyTorch computes layer norm in a single routine, and RMS norm step by step."
        in report(SETTING, made_up(SETTING, rms)).verdict.why
    )
    fused = report(SETTING, made_up(SETTING, rms, ((1, 1), (11, 8)))).verdict
    assert not fused.why
    assert "a machine" in fused.condition


def test_another_machine_measures_anew():
    part = list_jobs(SETTING)[0]
    assert part.machine == describe_machine()
    assert compute_digest(part) != compute_digest(replace(part, machine="another"))


def test_nothing_is_said_of_what_is_not_there():
    assert report(SETTING, {}).verdict.word == "open"
    assert not report(SETTING, {}).figures
    rms = dict.fromkeys([(0, 0), (0, 1), (1, 0), (1, 1)], 0.5)
    begun = dict(list(made_up(SETTING, rms).items())[:1])
    assert report(SETTING, begun).verdict.word == "open"
    assert [shown.key for shown in report(SETTING, begun).figures] == ["forward", "forward and backward", "times"]
    assert "choose both" in report(replace(SETTING, schemes=("rms",)), {}).verdict.says


def test_a_small_run_is_told_with_schemes_that_torch_does_not_have():
    setting = Setting(schemes=("layer-channels", "rms", "divisive"), seeds=5, channels=16)
    results = {part: run_to_end(part) for part in list_jobs(setting)[:1]}
    found = report(setting, results)
    assert [len(panel.curves) for panel in found.figures[2].panels] == [2, 2, 3, 3]
    assert len(set(map(len, found.table.values()))) == 1
    assert next(iter(results.values()))["times"].shape == (5, 2, 3, 2)
    nothing = report(replace(setting, schemes=("divisive",)), {})
    assert not nothing.figures


def test_the_sizes_grow_and_weights_are_not_of_the_choice():
    assert list(EXAMPLES) == sorted(EXAMPLES)
    with pytest.raises(InvalidInput):
        Setting(schemes=("weight",))


@pytest.mark.heavy
@pytest.mark.parametrize("changes", [{}, {"seed": 8}, {"seeds": 40}])
def test_other_numbers_and_twice_the_rounds_give_the_same_verdict(changes):
    setting = Setting(device="cpu", **changes)
    found = report(setting, {part: run_to_end(part) for part in list_jobs(setting)}).verdict
    assert found.word == "holds-if"
    assert "in PyTorch’s layers, forward and backward" in found.says
