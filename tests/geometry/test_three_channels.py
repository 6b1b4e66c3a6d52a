"""Layer norm of three channels: the forward and the backward pass against torch, and the figures against Plotly."""

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from normviz.geometry.space_figures import backward_figure, forward_figure
from normviz.geometry.three_channels import INCOMING, RADIUS, backpropagate, forward
from normviz.ui.palette import THEMES

EXAMPLES = [[3.0, 1.0, -1.0], [0.5, 0.25, -3.0], [1.0, 1.0, 1.25]]


@pytest.mark.parametrize("x", EXAMPLES)
@pytest.mark.parametrize("eps", [0.0, 1e-5, 1.0])
def test_both_passes_are_those_of_torch(x, eps):
    given = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    xhat = torch.nn.functional.layer_norm(given, (3,), eps=eps)
    xhat.backward(torch.tensor(INCOMING, dtype=torch.float64))
    one, back = forward(x, eps), backpropagate(x, eps)
    np.testing.assert_allclose(one.xhat, xhat.detach().numpy(), atol=1e-12)
    np.testing.assert_allclose(back.outgoing, given.grad.numpy(), atol=1e-12)
    np.testing.assert_allclose(back.projected / one.divisor, given.grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("x", EXAMPLES)
def test_at_no_epsilon_both_steps_are_projections(x):
    one, back = forward(x, 0.0), backpropagate(x, 0.0)
    assert one.v.sum() == pytest.approx(0, abs=1e-12)
    assert np.linalg.norm(one.xhat) == pytest.approx(RADIUS)
    assert back.centred.sum() == pytest.approx(0, abs=1e-12)
    assert back.projected @ one.xhat == pytest.approx(0, abs=1e-12)


def test_epsilon_keeps_the_output_inside_and_part_of_the_gradient_along_it():
    one, back = forward(EXAMPLES[0], 1.0), backpropagate(EXAMPLES[0], 1.0)
    assert np.linalg.norm(one.xhat) < 0.9 * RADIUS
    assert abs(back.projected @ one.xhat) > 0.1


def test_three_equal_values_become_nothing():
    one, back = forward([2.0, 2.0, 2.0], 0.0), backpropagate([2.0, 2.0, 2.0], 0.0)
    assert not one.xhat.any()
    assert not back.outgoing.any()
    given = torch.full((3,), 2.0)
    assert torch.nn.functional.layer_norm(given, (3,), eps=0.0).isnan().all()  # what the page says of PyTorch


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("x", [*EXAMPLES, [2.0, 2.0, 2.0], [0.0, 0.0, 0.0]])
def test_the_figures_are_valid_and_hold_all_vectors(theme, x):
    one, back = forward(x, 0.0), backpropagate(x, 0.0)
    for figure in (forward_figure(one, theme), backward_figure(one, back, theme)):
        go.Figure(figure.to_dict())
        reach = figure.layout["scene"]["xaxis"]["range"][1]
        for trace in figure.data:
            ends = np.concatenate([np.ravel(trace[axis]) for axis in "xyz"]).astype(float)
            assert np.abs(ends).max() <= reach, trace.get("name")
