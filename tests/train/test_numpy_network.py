"""The NumPy networks: gradients against differences, and what they do not depend on."""

from dataclasses import replace

import numpy as np
import pytest

from normviz.data.digits import load_digits
from normviz.train.numpy_network import initialize_networks

WIDTHS = (12, 9)


def make_networks(**options):
    """Two networks with all parameters somewhere."""
    rng = np.random.default_rng(1)
    networks = initialize_networks([np.random.default_rng(k) for k in range(2)], WIDTHS, **options)
    for array in networks.parameters:
        array += 0.1 * rng.standard_normal(array.shape)
    return networks


def draw_batch(size=40):
    images, labels = load_digits()
    chosen = np.random.default_rng(0).integers(len(images), size=(2, size))
    return images.reshape(-1, 64)[chosen], labels[chosen]


def compute_losses(networks, x, labels):
    return networks.compute_gradients(networks.run(x), labels)


@pytest.mark.parametrize("eps", [0.0, 0.1])
@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("activation", ["sigmoid", "relu"])
def test_gradients_are_central_differences(activation, normalized, eps):
    networks, (x, labels) = make_networks(activation=activation, normalized=normalized, eps=eps), draw_batch()
    _, slopes = compute_losses(networks, x, labels)
    rng = np.random.default_rng(1)
    for array, slope in zip(networks.parameters, slopes, strict=True):
        assert array.shape == slope.shape
        way = rng.standard_normal(array.shape)
        losses = []
        for h in (1e-6, -1e-6):
            array += h * way
            losses.append(compute_losses(networks, x, labels)[0])
            array -= h * way
        np.testing.assert_allclose((losses[0] - losses[1]) / 2e-6, (way * slope).sum((1, 2)), rtol=1e-4, atol=1e-8)


def test_the_gradient_is_at_right_angles_to_every_unit_and_falls_with_its_length():
    networks, (x, labels) = make_networks(eps=0.0), draw_batch()
    for array in networks.parameters:
        array[1] = array[0]
    networks.weights[0][1] *= 3
    _, gradients = compute_losses(networks, x[0], labels[0])
    assert np.abs((networks.weights[0] * gradients[0]).sum(axis=1)).max() < 1e-13
    np.testing.assert_allclose(3 * gradients[0][1], gradients[0][0], atol=1e-14)


def test_networks_side_by_side_are_networks_alone():
    networks, (x, labels) = make_networks(eps=1e-5), draw_batch()
    loss, gradients = compute_losses(networks, x, labels)
    for k in range(2):
        parts = {name: [a[k : k + 1] for a in getattr(networks, name)] for name in ("weights", "gains", "biases")}
        one, alone = compute_losses(replace(networks, **parts), x[k], labels[k])
        np.testing.assert_allclose(one[0], loss[k], rtol=1e-13)
        for own, theirs in zip(alone, gradients, strict=True):
            np.testing.assert_allclose(own[0], theirs[k], atol=1e-13)


def test_a_unit_without_variance_gives_zero_at_eps_0():
    layer = make_networks(eps=0.0).run(draw_batch()[0][:, :1]).layers[0]
    assert not layer.xhat.any()
