"""Channels in the batch beside their running averages."""

import numpy as np
import pytest
from lab_page import plots
from test_model_page import opened

from normviz.topics.model.channels import compute_channel_gaps, summarize_gaps
from normviz.topics.model.figures import draw_channel_gaps
from normviz.topics.model.state import read_example


def rows(mean, variance, running_mean, running_variance):
    return np.array([mean, variance, running_mean, running_variance], np.float32)


def test_gaps_are_in_running_standard_deviations():
    gaps = compute_channel_gaps(rows([5, 1], [16, 3], [1, 1], [3, 3]), eps=1.0)
    np.testing.assert_allclose(gaps.shift, [2, 0])
    np.testing.assert_allclose(gaps.ratio, [np.sqrt(4 / 17), 1])


def test_channels_without_finite_numbers_are_left_out():
    gaps = compute_channel_gaps(rows([np.nan, 1, 2], [1, -5, 1], [0, 0, 1], [1, 1, 1]), eps=0.0)
    assert gaps.number.tolist() == [2]
    assert compute_channel_gaps(rows([0], [1], [0], [0]), eps=0.0).number.size == 0
    assert compute_channel_gaps(rows([0], [0], [0], [1]), eps=0.0).number.size == 0  # divided by 0, infinitely often


@pytest.mark.parametrize(
    ("statistics", "heading"),
    [
        (rows([0, 0], [1, 1], [0, 0], [4, 4]), "Inference divides by 2 times the deviation of this batch"),
        (rows([0, 0], [4, 4], [0, 0], [1, 1]), "Inference divides by 0.5 times the deviation of this batch"),
        (
            rows([0, 0], [1, 1], [0.5, -0.5], [1, 1]),
            "Inference subtracts a mean 0.5 deviations from that of this batch",
        ),
        (rows([0, 0], [1, 1], [0.05, 0], [1, 1.1]), "The running averages fit this batch"),
    ],
)
def test_the_heading_names_the_largest_difference(statistics, heading):
    gaps = compute_channel_gaps(statistics, eps=0.0)
    assert summarize_gaps(gaps) == heading
    low, high = draw_channel_gaps(gaps).layout["yaxis"]["range"]
    assert low < np.log10(min(gaps.ratio)) <= np.log10(max(gaps.ratio)) < high


def test_the_figure_is_that_of_layers_with_running_averages():
    (trace,) = plots(opened(layer="layer1.bn1"))["channels"]["figure"]["data"]
    layer = read_example("resnet").choose_layer("layer1.bn1")
    np.testing.assert_allclose(trace["x"], compute_channel_gaps(layer.recorded.statistics, layer.eps).shift, rtol=1e-6)
    assert "channels" not in plots(opened(layer="norm"))
