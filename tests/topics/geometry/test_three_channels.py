"""Layer norm of three channels: the forward and the backward pass against torch, and the figures against Plotly."""

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from normviz.charts.palette import THEMES
from normviz.topics.geometry.space_figures import draw_gradient, draw_normalization, draw_step
from normviz.topics.geometry.three_channels import (
    CIRCLE_RADIUS,
    INCOMING_GRADIENT,
    LEARNING_RATE,
    normalize_example,
    take_step,
)

EXAMPLES = [[3.0, 1.0, -1.0], [0.5, 0.25, -3.0], [1.0, 1.0, 1.25]]


@pytest.mark.parametrize("x", EXAMPLES)
@pytest.mark.parametrize("eps", [0.0, 1e-5, 1.0])
def test_both_passes_are_those_of_torch(x, eps):
    given = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    xhat = torch.nn.functional.layer_norm(given, (3,), eps=eps)
    xhat.backward(torch.tensor(INCOMING_GRADIENT, dtype=torch.float64))
    step = take_step(x, eps)
    np.testing.assert_allclose(step.before.xhat, xhat.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(step.change, -LEARNING_RATE * given.grad.numpy(), atol=1e-12)
    moved = torch.nn.functional.layer_norm(given.detach() - LEARNING_RATE * given.grad, (3,), eps=eps)
    np.testing.assert_allclose(step.after.xhat, moved.numpy(), atol=1e-12)


@pytest.mark.parametrize("x", EXAMPLES)
def test_at_no_epsilon_v_is_on_the_plane_and_xhat_on_the_circle_and_a_step_is_across(x):
    step = take_step(x, 0.0)
    assert step.before.v.sum() == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(step.before.xhat) == pytest.approx(CIRCLE_RADIUS)
    assert step.change.sum() == pytest.approx(0, abs=1e-12)
    assert step.change @ step.before.v == pytest.approx(0, abs=1e-12)
    tangent = np.linalg.norm(step.change) / np.linalg.norm(step.before.v)
    assert step.angle == pytest.approx(np.degrees(np.arctan(tangent)))


@pytest.mark.parametrize("x", EXAMPLES)
def test_half_the_vector_takes_twice_the_step(x):
    long, short = (take_step(times * np.array(x), 0.0) for times in (1.0, 0.5))
    np.testing.assert_allclose(short.change, 2 * long.change)
    assert short.angle > long.angle
    if long.angle < 3:
        assert short.angle / long.angle == pytest.approx(4, rel=0.02)


def test_epsilon_keeps_the_output_inside():
    assert np.linalg.norm(normalize_example(EXAMPLES[0], 1.0).xhat) < 0.9 * CIRCLE_RADIUS


def test_three_equal_values_become_nothing():
    step = take_step([2.0, 2.0, 2.0], 0.0)
    assert not step.before.xhat.any()
    assert not step.change.any()
    assert step.angle == 0
    given = torch.full((3,), 2.0)
    assert torch.nn.functional.layer_norm(given, (3,), eps=0.0).isnan().all()  # what the page says of PyTorch


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("x", [*EXAMPLES, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0], [0.1, 0.0, 0.0]])
def test_the_figures_are_valid_and_hold_all_vectors(theme, x):
    long, short = (take_step(times * np.array(x), 0.0) for times in (1.0, 0.5))
    for figure in (draw_normalization(long.before, theme), draw_gradient(long, theme), draw_step(long, short, theme)):
        go.Figure(figure.to_dict())
        reach = figure.layout["scene"]["xaxis"]["range"][1]
        for trace in figure.data:
            ends = np.concatenate([np.ravel(trace[axis]) for axis in "xyz"]).astype(float)
            assert np.abs(ends).max() <= reach, trace.get("name")


def test_the_gradient_is_drawn_at_v_in_the_plane():
    step = take_step(EXAMPLES[0], 0.0)
    drawn = {
        trace["name"]: np.array([trace[axis][-1] - trace[axis][0] for axis in "xyz"])
        for trace in draw_gradient(step).data
        if "name" in trace
    }
    assert set(drawn) == {"v", "x̂", "projection 1", "∂L/∂x"}
    np.testing.assert_allclose(drawn["v"], step.before.v, atol=1e-12)
    for arrow in drawn.values():
        assert arrow.sum() == pytest.approx(0, abs=1e-12)
    assert drawn["∂L/∂x"] @ drawn["v"] == pytest.approx(0, abs=1e-12)
