"""A case of Table 1 in words and in a picture: both say what is changed, and nothing more."""

import re
from dataclasses import replace

import numpy as np
import pytest

from normviz.core.registry import SCHEMES
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS
from normviz.topics.table1.cases import describe_case_twin, describe_table_row, explain_case_answer, format_hint
from normviz.topics.table1.grid import build_grid_data
from normviz.topics.table1.pictures import render_change_picture
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.table import build_cells
from normviz.topics.table1.twin_plot import build_loss_plot, build_output_plot, is_visible
from normviz.train.problem import make_changed_samples
from normviz.train.setting import Setting

SETTING = Setting(steps=2, batch=8, width=8, device="cpu")
ALL = pytest.mark.parametrize("key", TRANSFORMATIONS)


@ALL
@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_the_picture_frames_what_is_changed(key, layer):
    change = TRANSFORMATIONS[key]
    html = render_change_picture(change, replace(SETTING, layer=layer), "×")
    *others, twin = html.split('<div class="row">')[1:]
    assert [row.count("<img") for row in (*others, twin)] == [4] * (3 if change.factor is None else 2)
    assert "changed" not in "".join(others)
    assert twin.count("class=changed") == (1 if change.factor else 4)


@ALL
def test_the_samples_are_changed_as_it_is_said(key):
    change = TRANSFORMATIONS[key]
    before, after = make_changed_samples(SETTING, change)
    assert before.shape == after.shape == (4, 8, 8)
    if change.factor is None:
        np.testing.assert_allclose(after - before, np.broadcast_to(after[0] - before[0], after.shape), atol=1e-12)
    else:
        factors = [SETTING.delta, *[1.0 if change.factor else SETTING.delta] * 3]
        np.testing.assert_allclose(after, before * np.reshape(factors, (4, 1, 1)))


@ALL
def test_only_rescaled_weights_learn_at_another_rate(key):
    change = TRANSFORMATIONS[key]
    rate = {
        follow: re.findall(r"learning rate [^.]*", describe_case_twin(change, SETTING, follow))
        for follow in (True, False)
    }
    weights = change.weight_factor is not None
    assert rate == {
        True: ["learning rate is × 9, to match"] * weights,
        False: ["learning rate stays the same"] * weights,
    }


@ALL
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_hint_asks_and_does_not_answer(scheme, key):
    text = format_hint(SCHEMES[scheme], TRANSFORMATIONS[key], SETTING)
    assert text.endswith("?")
    assert "invariant" not in text


def test_the_reason_names_what_cancels_and_what_does_not():
    results, rows = TableResultCache(), [SCHEMES[key] for key in ("none", *PAPER_TABLE, "rms")]
    results.compute_missing(rows, SETTING)
    said = {
        (cell.scheme, cell.transformation): explain_case_answer(
            cell, SCHEMES[cell.scheme], TRANSFORMATIONS[cell.transformation], SETTING
        )
        for cell in build_cells(rows, SETTING, results)
    }
    assert said["none", "dataset-rescaling"] == "Nothing divides, so the factor stays."
    assert said["none", "dataset-recentering"].endswith("Nothing subtracts a mean, so this number stays.")
    assert "share a standard deviation" in said["batch", "dataset-rescaling"]
    assert "share a root mean square" in said["rms", "dataset-rescaling"]
    assert said["batch", "case-rescaling"].startswith("Batch norm averages over the images of a batch, but only one")
    assert said["layer", "weight-vector-rescaling"].startswith("Layer norm averages over the neurons, but only one")
    assert said["layer", "dataset-recentering"].startswith(
        "The sum of a neuron grows by w·τ: the same number for every"
    )
    assert said["layer", "dataset-recentering"].endswith("averages over the neurons, so the number does not cancel.")
    assert said["layer", "weight-matrix-recentering"].endswith("so subtracting the mean cancels it.")
    assert said["weight", "dataset-rescaling"].startswith("Weight norm changes only the weights")
    assert said["weight", "weight-matrix-recentering"].startswith("No mean is subtracted from the weights")


@pytest.mark.parametrize(("layer", "unit", "added"), [("dense", "neuron", "pattern"), ("conv", "channel", "constant")])
def test_a_head_says_what_is_changed_in_the_words_of_the_layer(layer, unit, added):
    data = build_grid_data([], [], replace(SETTING, layer=layer), "", [], "light", False)
    heads = [(each["sign"].replace("\u00a0", " "), each["name"], each["added"]) for each in data["columns"]]
    assert heads == [
        ("× 3", f"all {unit}s", False), ("+ pattern", f"the same for all {unit}s", True), ("× 3", f"one {unit}", False),
        ("× 3", "all images", False), (f"+ {added}", "the same for all images", True), ("× 3", "one image", False),
    ]  # fmt: skip


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_a_convolution_of_digits_sees_one_constant_added(layer):
    before, after = make_changed_samples(replace(SETTING, layer=layer), TRANSFORMATIONS["dataset-recentering"])
    assert np.allclose(after - before, (after - before).flat[0]) == (layer == "conv")


@pytest.mark.parametrize("layer", ["dense", "conv"])
@pytest.mark.parametrize("key", SCHEMES)
def test_a_row_says_in_a_few_words_what_its_scheme_does(key, layer):
    said = describe_table_row(SCHEMES[key], replace(SETTING, layer=layer))
    assert len(said.split()) <= 12
    assert said or key == "custom"
    assert layer == "conv" or "channel" not in said


def test_a_loss_that_diverges_leaves_the_plot():
    losses = np.array([[2.0, 2.0], [1.0, 1e6], [0.5, np.inf]])
    shown = build_loss_plot(losses, SETTING)
    assert (shown["low"], shown["high"]) == (0.0, 10.0)
    assert is_visible(shown)
    assert not is_visible(build_loss_plot(losses[:1], SETTING))
    assert build_loss_plot(np.full((2, 2), np.nan), SETTING)["high"] == 1.0


def test_the_outputs_are_those_of_the_image_where_they_differ_most():
    change = TRANSFORMATIONS["case-rescaling"]
    shown = build_output_plot(SCHEMES["dynamic-tanh"], change, SETTING)
    assert len(shown["first"]) == len(shown["second"]) == shown["count"] == SETTING.width
    assert is_visible(shown)
    same = build_output_plot(SCHEMES["layer"], change, SETTING)
    np.testing.assert_allclose(same["first"], same["second"], atol=1e-6)
    assert build_output_plot(SCHEMES["layer"], change, replace(SETTING, layer="conv", width=128, batch=256)) is None
