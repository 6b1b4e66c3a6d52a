"""The quick normalization of the page on geometry against the library's, and its way back against differences."""

import numpy as np
import pytest
from direct import relative_difference

from normviz.core import backward as library
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.topics.geometry.norms import backward, find_averaged_axes, normalize_sums

KEYS = ("none", "batch", "layer", "rms")


@pytest.mark.parametrize("key", KEYS)
def test_forward_is_that_of_the_library(key):
    a = np.random.default_rng(0).standard_normal((3, 7, 5)) * 3 + 1
    theirs = normalize(a[:, :, None, None], SCHEMES[key], 0.0 if find_averaged_axes(key) else None).xhat
    assert relative_difference(normalize_sums(a, key).xhat, theirs[:, :, 0, 0]) < 1e-14


@pytest.mark.parametrize("key", KEYS)
def test_backward_is_the_derivative(key):
    rng = np.random.default_rng(1)
    a, g, way = rng.standard_normal((3, 2, 6, 5))
    step = 1e-6
    ahead, behind = (np.sum(g * normalize_sums(a + side * step * way, key).xhat) for side in (1, -1))
    assert np.sum(way * backward(g, normalize_sums(a, key), key)) == pytest.approx(
        (ahead - behind) / (2 * step), rel=1e-7
    )


@pytest.mark.parametrize("key", KEYS)
def test_backward_is_that_of_the_library(key):
    a, g = np.random.default_rng(2).standard_normal((2, 3, 7, 5))
    theirs = library.backward(
        a[:, :, None, None], g[:, :, None, None], SCHEMES[key], 0.0 if find_averaged_axes(key) else None
    )
    assert relative_difference(backward(g, normalize_sums(a, key), key), theirs[:, :, 0, 0]) < 1e-13


@pytest.mark.parametrize("key", KEYS[1:])
def test_a_field_of_zeros_becomes_zero(key):
    normed = normalize_sums(np.zeros((4, 3)), key)
    assert not normed.xhat.any()
    assert np.isfinite(backward(np.ones((4, 3)), normed, key)).all()
