"""The quick normalization of the page on geometry against the library's."""

import numpy as np
import pytest
from direct import relative_difference

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.topics.geometry.fisher import find_averaged_axes, normalize_sums

KEYS = ("none", "batch", "layer", "rms")


@pytest.mark.parametrize("key", KEYS)
def test_forward_is_that_of_the_library(key):
    a = np.random.default_rng(0).standard_normal((3, 7, 5)) * 3 + 1
    theirs = normalize(a[:, :, None, None], SCHEMES[key], 0.0 if find_averaged_axes(key) else None).xhat
    assert relative_difference(normalize_sums(a, key).xhat, theirs[:, :, 0, 0]) < 1e-14


@pytest.mark.parametrize("key", KEYS[1:])
def test_a_field_of_zeros_becomes_zero(key):
    assert not normalize_sums(np.zeros((4, 3)), key).xhat.any()
