"""Batch norm on shifted pictures: the shifts, the statistics, and what follows from made-up results."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.statistics_repair import (
    HEADLINE_LEVEL,
    LEARNING_RATES,
    SHIFT_LEVELS,
    SHIFT_NAMES,
    TEST_BATCH_SIZES,
    Setting,
    StatisticsRepairTraining,
    list_jobs,
    report,
    shift_pictures,
)
from normviz.train.dense import load_digit_parts

SETTING = Setting(seeds=4)
OFF = np.array([0.0, 0.002, -0.001, 0.001])
"""What seeds differ by."""
BEST = 2
"""The position of the rate with the lowest validation error in made-up results."""


def made_up(recalculated, running=lambda level: 0.02 + level / 2):
    """Return results whose errors at the best rate are those of two functions of the strength of the shift."""
    found = {}
    for number, part in enumerate(list_jobs(SETTING)):
        noise = np.roll(OFF, number)
        old, new = (np.array([f(level) for level in SHIFT_LEVELS])[:, None] + noise for f in (running, recalculated))
        new = new + 0.1 * OFF
        by_rate = {name: np.zeros((len(SHIFT_LEVELS), len(LEARNING_RATES), 4)) for name in ("running", "recalculated")}
        by_rate["running"][:, BEST], by_rate["recalculated"][:, BEST] = old, new
        own = np.zeros((len(TEST_BATCH_SIZES), len(SHIFT_LEVELS), len(LEARNING_RATES), 4))
        own[:, :, BEST] = new + 0.05
        validation = np.ones((1, len(LEARNING_RATES), 4))
        validation[:, BEST] = 0
        found[part] = {
            **by_rate, "own": own, "losses": validation, "validation": validation, "test": validation,
            "measured": np.array([1]), "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return found


@pytest.mark.parametrize(
    ("recalculated", "word"),
    [
        (lambda level: 0.02, "holds"),
        (lambda level: 0.02 + level * (level < 0.5) / 2, "holds-if"),
        (lambda level: 0.02 + level / 2, "open"),
        (lambda level: 0.02 + level, "wrong"),
    ],
)
def test_the_verdict_is_that_of_all_strengths(recalculated, word):
    assert report(SETTING, made_up(recalculated)).verdict.word == word


def test_levels_are_those_of_the_rate_that_validation_digits_chose():
    found = report(SETTING, made_up(lambda level: 0.04))
    assert found.headline == "Yes: at strength 0.4, new statistics lower errors from 22% to 4%."
    assert "22.1 ± 0.2% with stored statistics" in found.verdict.says
    assert "clearly at 4 of 4 strengths" in found.verdict.says
    assert [figure.key for figure in found.figures] == ["levels", "all lines", "sizes"]
    (panel,), (below,) = (figure.panels for figure in found.figures[:2])
    assert [curve.texts for curve in panel.curves] == [(), (), ["22%"], ["4%"]]
    assert [curve.name for curve in below.curves[:2]] == [curve.name for curve in panel.curves[:2]]
    assert len(below.curves) == 4
    assert len(set(panel.pictures)) == len(SHIFT_LEVELS)
    assert len(found.table["seed"]) == len(SHIFT_LEVELS) * 4


def test_a_gain_that_is_not_clear_is_none():
    found = report(SETTING, made_up(lambda level: 0.0199 + level / 2))
    assert found.headline == "Not clearly: at strength 0.4, new statistics change errors from 22% to 22%."
    assert found.verdict.word == "open"


def test_nothing_is_said_before_both_are_trained():
    found = made_up(lambda level: 0.02)
    found.popitem()
    assert report(SETTING, found).verdict.word == "open"
    assert report(SETTING, {}).headline == "Not all networks are trained yet."


@pytest.mark.parametrize("shift", SHIFT_NAMES)
def test_pictures_stay_between_0_and_1_and_level_0_changes_nothing(shift):
    x = torch.linspace(0, 1, 11)
    np.testing.assert_array_equal(shift_pictures(x, shift, 0.0), x)
    for level in SHIFT_LEVELS:
        shifted = shift_pictures(x, shift, level)
        assert shifted.min() >= 0
        assert shifted.max() <= 1


@pytest.fixture(scope="module")
def trained():
    """The results of a short training, by shift and scheme."""
    setting = Setting(seeds=2, steps=20)
    return {
        (shift, part.row.key): run_to_end(part)
        for shift in SHIFT_NAMES
        for part in list_jobs(replace(setting, shift=shift))
    }


def test_new_statistics_undo_a_shift_and_a_factor_of_all_pixels(trained):
    for shift in ("washed", "dim"):
        new = trained[shift, "batch"]["recalculated"]
        np.testing.assert_allclose(new, np.broadcast_to(new[:1], new.shape), atol=0.01)
    clipped = trained["bright", "batch"]["recalculated"]
    assert (clipped[-1] > clipped[0] + 0.02).all()


def test_layer_norm_has_no_statistics_to_recalculate_and_is_invariant_to_a_factor(trained):
    for shift in SHIFT_NAMES:
        found = trained[shift, "layer"]
        np.testing.assert_array_equal(found["running"], found["recalculated"])
    dim = trained["dim", "layer"]["running"]
    np.testing.assert_allclose(dim, np.broadcast_to(dim[:1], dim.shape), atol=0.01)


def test_own_statistics_are_those_of_the_digits_of_a_batch():
    """Against torch.nn.BatchNorm1d in training mode."""
    from normviz.core.registry import SCHEMES
    from normviz.train.dense import Dense
    from normviz.train.norm import NormLayer

    x, _ = load_digit_parts(torch.device("cpu")).test
    network = Dense([SCHEMES["batch"]], (0,), (64,), 32, 1e-5, torch.device("cpu"))
    found = network.with_batch_size(8).compute_logits(x[None, :32], NormLayer.collect_statistics)[0, 0]
    norm = torch.nn.BatchNorm1d(64)
    batches = [torch.relu(norm(x[k : k + 8] @ network.weights[0][0, 0])) for k in range(0, 32, 8)]
    np.testing.assert_allclose(
        found, (torch.cat(batches) @ network.weights[1][0, 0]).detach(), rtol=1e-4, atol=1e-4
    )  # fmt: skip
    assert network.norms[0].shape[0] == 32


def test_a_part_is_the_dense_grid_with_more_results(trained):
    part = list_jobs(Setting(seeds=2, steps=20))[0]
    assert isinstance(part, StatisticsRepairTraining)
    found = trained["bright", "batch"]
    assert found["test"].shape[1:] == found["running"].shape[1:] == (len(LEARNING_RATES), 2)
    np.testing.assert_array_equal(found["running"][0], found["test"][-1])
    assert SHIFT_LEVELS.index(HEADLINE_LEVEL)
