"""The recurrent network: its gradient against differences, and what its invariance keeps."""

import numpy as np
import pytest

from normviz.geometry.norms import forward
from normviz.geometry.recurrent import ACTIVATIONS, EXAMPLES, INPUTS, SCALES, SCHEMES, UNITS, Unrolled, flow

every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


def last_state(scheme, setting, scale):
    """The last state as a function of the first, written down once more, step by step; and the drawn numbers."""
    rng = np.random.default_rng(setting.seed)
    w, u = scale * rng.normal(0, UNITS**-0.5, (UNITS, UNITS)), rng.normal(0, INPUTS**-0.5, (INPUTS, UNITS))
    u = u * scale if setting.inputs else u
    h, g = rng.standard_normal((EXAMPLES, UNITS)), rng.standard_normal((EXAMPLES, UNITS))
    inputs = rng.standard_normal((setting.unrolled, EXAMPLES, INPUTS))

    def run(h):
        for x in inputs:
            h = (1.0 if scheme == "none" else setting.gamma) * forward(h @ w + x @ u, scheme).xhat
            h = np.tanh(h) if setting.activation == "tanh" else h
        return h

    return run, h, g


@pytest.mark.parametrize("activation", ACTIVATIONS)
@every_scheme
def test_the_gradient_by_the_first_state_is_the_derivative(scheme, activation):
    setting = Unrolled(activation=activation, gamma=1.5, unrolled=5, seed=3, inputs=activation == "linear")
    run, h, g = last_state(scheme, setting, 1.3)
    step, gradient = 1e-6, np.zeros_like(h)
    for k in range(0, h.size, 1):
        way = np.zeros(h.size)
        way[k] = step
        way = way.reshape(h.shape)
        gradient.flat[k] = np.sum(g * (run(h + way) - run(h - way))) / (2 * step)
    found = flow(scheme, setting, (1.3,)).norms[0]
    assert found[0] == pytest.approx(np.linalg.norm(gradient) / np.linalg.norm(g), rel=1e-5)
    assert (len(found), found[-1]) == (6, 1.0)


@every_scheme
def test_scales_side_by_side_are_those_alone(scheme):
    setting = Unrolled(unrolled=10)
    together = flow(scheme, setting).norms
    for k in (0, 5, len(SCALES) - 1):
        np.testing.assert_allclose(flow(scheme, setting, SCALES[k : k + 1]).norms[0], together[k], rtol=1e-12)


@pytest.mark.parametrize("scheme", SCHEMES[1:])
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_where_the_summed_inputs_are_rescaled_as_a_whole_nothing_changes(scheme, activation):  # L02
    found = flow(scheme, Unrolled(activation=activation, inputs=True, unrolled=30)).norms
    np.testing.assert_allclose(found, np.broadcast_to(found[:1], found.shape), rtol=1e-8)


def test_without_normalization_it_explodes_and_vanishes():  # L02
    found = flow("none", Unrolled(activation="linear", inputs=True)).factor
    np.testing.assert_allclose(found / found[SCALES.index(1.0)], SCALES, rtol=1e-9)
    assert found[0] < 0.6
    assert found[-1] > 4


@pytest.mark.parametrize("scheme", SCHEMES[1:])
def test_large_recurrent_weights_alone_do_not_explode_and_small_ones_vanish(scheme):  # L02
    found = flow(scheme, Unrolled()).factor
    assert found.max() < 1.05 < flow("none", Unrolled()).factor.max()
    assert found[0] < 0.5
