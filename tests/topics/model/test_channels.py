"""Channels in the batch beside their running averages, and the figures of a layer."""

from dataclasses import replace

import numpy as np
import pytest
from lab_page import plots
from test_model_page import opened

from normviz.core.fields import FULL, OWN, Rule
from normviz.describe.problems import GAP_LIMIT
from normviz.topics.model.channels import compare_batch_statistics, compare_running_variances
from normviz.topics.model.figures import draw_channels, draw_fields, draw_layer_gaps
from normviz.topics.model.state import read_example


def rows(mean, variance, running_mean, running_variance):
    return np.array([mean, variance, running_mean, running_variance], np.float32)


@pytest.mark.parametrize(
    ("statistics", "name", "heading"),
    [
        (rows([0, 0], [1, 1], [0, 0], [4, 4]), "deviation", "its outputs vary 2 times less"),
        (rows([0, 0], [4, 4], [0, 0], [1, 1]), "deviation", "its outputs vary 2 times more"),
        (rows([0, 0], [4, 1], [0, 0], [1, 4]), "deviation", "off by a factor of 2, up or down"),
        (rows([0, 0], [1, 1], [0.5, -0.5], [1, 1]), "mean", "the mean is off by 50%"),
        (rows([0, 0], [1, 1], [0.05, 0], [1, 1.1]), "deviation", "match this batch"),
    ],
)
def test_the_heading_names_the_largest_difference(statistics, name, heading):
    averages = compare_batch_statistics(statistics, eps=0.0)
    assert heading in averages.heading
    assert averages.name.endswith(name)
    expected = statistics[[0, 2]] if name == "mean" else np.sqrt(statistics[[1, 3]])
    np.testing.assert_allclose(list(averages.values.values()), expected)


def test_channels_without_finite_numbers_are_left_out():
    averages = compare_batch_statistics(rows([np.nan, 1, 2], [1, -5, 1], [0, 0, 2], [1, 1, 3]), eps=1.0)
    np.testing.assert_allclose(list(averages.values.values()), [[2**0.5], [2]])
    assert compare_batch_statistics(rows([0], [1], [0], [0]), eps=0.0) is None
    assert compare_batch_statistics(rows([0], [0], [0], [1]), eps=0.0) is None  # divided by 0, infinitely often


def test_the_figure_is_that_of_layers_with_running_averages():
    batch, running = plots(opened(layer="layer1.bn1"))["channels"]["figure"]["data"][1:]
    layer = read_example("resnet").choose_row("layer1.bn1")
    averages = compare_batch_statistics(layer.recorded.statistics, layer.eps)
    np.testing.assert_allclose([batch["y"], running["y"]], list(averages.values.values()), rtol=1e-6)
    assert plots(opened(layer="norm"))["channels"]["figure"]["data"][0]["type"] == "heatmap"


def test_far_apart_deviations_have_a_logarithmic_axis():
    averages = compare_batch_statistics(rows([0, 0], [1, 1], [0, 0], [9, 9]), eps=0.0)
    assert draw_channels(averages).layout["yaxis"]["type"] == "linear"
    wide = averages._replace(values={"a": np.ones(2), "b": np.full(2, 300.0)})
    assert draw_channels(wide).layout["yaxis"]["type"] == "log"


def test_a_frozen_layer_shows_its_running_averages_before_and_after_a_pass():
    _, before, after = plots(opened(layer="bn1"))["channels"]["figure"]["data"]
    statistics = read_example("resnet").choose_row("bn1").recorded.statistics
    np.testing.assert_allclose([before["y"], after["y"]], statistics[[3, 5]], rtol=1e-6)
    assert compare_running_variances(statistics[:4]) is None


def test_a_wrong_axis_is_drawn_beside_the_one_that_is_meant():
    now, meant = plots(opened(source="llama", layer="k_norm"))["channels"]["figure"]["data"]
    np.testing.assert_array_equal(np.transpose(now["z"]), meant["z"])


LAYER = read_example("resnet").choose_row("norm")


@pytest.mark.parametrize(
    ("rules", "colours"),
    [
        ((OWN, Rule("groups", 4), FULL, FULL), [[0, 0, 1, 1, 2, 2, 3, 3]] * 12),
        ((FULL, OWN, FULL, FULL), [[0, 1, 2, 3, 4, 5, 6]] * 12),
        ((OWN, FULL, OWN, FULL), [[k] * 8 for k in range(7)]),
        ((OWN, FULL, FULL, FULL), [[0] * 8] * 12),
        ((OWN, OWN, OWN, FULL), None),
        ((OWN, OWN, OWN, OWN), None),
        ((OWN, Rule("window", 1), FULL, FULL), None),
    ],
)
def test_elements_of_one_field_have_one_colour(rules, colours):
    figure = draw_fields(replace(LAYER, fields=(rules, rules)))
    assert (figure and figure.data[0]["z"].tolist()) == colours


def test_the_layers_with_the_largest_changes_keep_their_order():
    (bars,) = (figure := draw_layer_gaps({f"<b>{k}": k / 100 for k in range(12)})).data
    assert list(bars["text"]) == ["0.00", *(f"{k / 100:.2f}" for k in range(4, 12))]
    assert figure.layout["yaxis"]["ticktext"][:2] == ["&lt;b&gt;0", "&lt;b&gt;4"]
    (limit,) = figure.layout["shapes"]  # across the bar of the model only
    assert (limit["x0"], limit["x1"]) == (GAP_LIMIT, GAP_LIMIT)
    assert limit["y0"] < limit["y1"] == 0.5
