"""Slices through the loss: what is drawn is what is computed, and what does not hang on the weights' length."""

import numpy as np
import pytest

from normviz.geometry.network import digits, losses
from normviz.geometry.slices import (
    DIRECTIONS,
    GRID,
    SEEN,
    Slice,
    directions,
    landscape,
    rescaled,
    slices,
    trained,
)

SCHEMES = ("none", "batch", "layer")
every_scheme = pytest.mark.parametrize("scheme", SCHEMES)


@every_scheme
def test_rescaled_weights_are_the_same_function(scheme):
    x, labels = digits()
    net = trained(scheme, 30, 1)
    for delta in (0.1, 3.0):
        after = losses(rescaled(net, scheme, delta), x, labels, scheme)
        assert after == pytest.approx(losses(net, x, labels, scheme), rel=1e-11)


@every_scheme
def test_training_lowers_the_loss(scheme):
    x, labels = digits()
    before, after = (losses(trained(scheme, steps, 0), x, labels, scheme)[0] for steps in (0, 100))
    assert after < before / 3


def test_a_direction_has_every_units_length():
    net = trained("none", 5, 0)
    first, second = directions(net, net, 0)
    assert set(first) == {"w0", "w1", "classifier"}
    for name, part in first.items():
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), np.linalg.norm(net[name], axis=1), rtol=1e-12)
        assert abs(np.sum(part * second[name])) < 0.3 * np.sum(part**2)


@every_scheme
def test_the_landscape_is_the_loss_there(scheme):
    net = trained(scheme, 20, 2)
    setting = Slice(beside="layer", reach=0.5, times=3.0, directions="fixed", seed=2)
    found = landscape(net, scheme, setting)
    here = rescaled(net, scheme, 3.0)
    first, second = directions(here, net, 2)
    x, labels = (each[:SEEN] for each in digits())
    for row, column in ((0, 0), (3, 17), (GRID // 2, GRID // 2)):
        beta, alpha = found.at[row], found.at[column]
        moved = {name: here[name] + alpha * first[name] + beta * second[name] for name in first}
        assert losses(here | moved, x, labels, scheme)[0] == pytest.approx(found.losses[row, column], rel=1e-10)
    assert found.middle == pytest.approx(losses(net, x, labels, scheme)[0], rel=1e-11)


@pytest.mark.parametrize("kind", DIRECTIONS)
def test_only_directions_that_follow_the_weights_do_not_see_their_length(kind):
    found = slices(Slice(trained=50))
    for scheme in ("none", "batch"):
        gap = found.apart[scheme, kind]
        assert gap < 1e-11 if kind == "filter" else gap > 0.01
        assert found.own[scheme] < 1e-11


def test_the_border_is_the_edge_of_the_picture():
    found = slices(Slice(trained=0)).landscapes["none"]
    edge = [found.losses[0], found.losses[-1], found.losses[1:-1, 0], found.losses[1:-1, -1]]
    assert found.border == pytest.approx(np.concatenate(edge).mean())
