"""The small networks: gradients against differences, and what they do not depend on."""

import numpy as np
import pytest

from normviz.topics.geometry.network import compute_scores_and_gradients, initialize_network, load_digit_rows

WIDTHS = (12, 9)
SCHEMES = ("none", "batch", "layer")
NAMES = tuple(initialize_network(0, WIDTHS))


def batch(size=40):
    x, labels = load_digit_rows()
    return x[:size], labels[:size]


def nets(seed=1):
    """Two networks with all parameters somewhere."""
    rng = np.random.default_rng(seed)
    net = {name: np.repeat(part, 2, axis=0) for name, part in initialize_network(seed, WIDTHS).items()}
    return {name: part + 0.1 * rng.standard_normal(part.shape) for name, part in net.items()}


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_is_the_derivative(name, scheme):
    (x, labels), net, step = batch(), nets(), 1e-6
    _, loss, g = compute_scores_and_gradients(net, x, labels, scheme)
    np.testing.assert_allclose(compute_scores_and_gradients(net, x, labels, scheme)[1], loss, rtol=1e-14)
    way = np.random.default_rng(3).standard_normal(net[name].shape)
    ahead, behind = (
        compute_scores_and_gradients(net | {name: net[name] + side * step * way}, x, labels, scheme)[1]
        for side in (1, -1)
    )
    np.testing.assert_allclose(np.sum(g[name] * way, axis=(1, 2)), (ahead - behind) / (2 * step), rtol=1e-4, atol=1e-9)


def test_the_gradient_is_at_right_angles_to_every_unit_and_falls_with_its_length():
    (x, labels), net = batch(), nets(2)
    net["w0"][1] = 3 * net["w0"][0]
    net = {name: part if name == "w0" else np.stack([part[0]] * 2) for name, part in net.items()}
    _, _, g = compute_scores_and_gradients(net, x, labels, "batch")
    assert np.abs((net["w0"] * g["w0"]).sum(axis=1)).max() < 1e-13
    np.testing.assert_allclose(3 * g["w0"][1], g["w0"][0], atol=1e-14)


def test_networks_side_by_side_are_those_alone():
    (x, labels), net = batch(), nets(4)
    _, loss, g = compute_scores_and_gradients(net, x, labels, "layer")
    for k in range(2):
        _, one, alone = compute_scores_and_gradients(
            {name: part[k : k + 1] for name, part in net.items()}, x, labels, "layer"
        )
        np.testing.assert_allclose(one[0], loss[k], rtol=1e-13)
        for name in NAMES:
            np.testing.assert_allclose(alone[name][0], g[name][k], atol=1e-13)
