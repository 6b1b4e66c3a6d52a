"""`normviz.detect`: the plainest name, and errors in one line."""

import numpy as np
import pytest

import normviz

X = np.random.default_rng(0).normal(size=(4, 6, 5, 3))


@pytest.mark.parametrize("key", ["batch", "layer", "instance", "rms"])
def test_the_plainest_of_equal_schemes_gives_the_key(key):
    found = normviz.detect(X, normviz.normalize(X, key, layout="NCHW").y, layout="NCHW")
    assert found.verdict == "one"
    assert found.layer.scheme.key == key


MISTAKES = {
    "another shape": (X, X[:1], "both need one shape"),
    "strings": (X, "a", "real numbers are needed"),
    "nothing": (None, X, "real numbers are needed"),
    "NaN": (X, X * np.nan, "finite ones are needed"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_ends_in_one_line(mistake):
    x, y, words = MISTAKES[mistake]
    with pytest.raises(normviz.InvalidInput, match=words) as caught:
        normviz.detect(x, y, layout="NCHW")
    assert "\n" not in str(caught.value)


def test_no_normalization_at_all_has_no_layer():
    found = normviz.detect(X, np.random.default_rng(1).normal(size=X.shape), layout="NCHW")
    assert (found.verdict, found.layer) == ("none", None)


@pytest.mark.parametrize("key", ["layer", "batch", "group", "whitening"])
def test_large_arrays_are_named_from_a_part(key):
    x = np.random.default_rng(0).normal(size=(64, 16, 8, 8)) * np.linspace(0.3, 2, 64).reshape(64, 1, 1, 1)
    groups = {"groups": 4} if key in ("group", "whitening") else {}
    found = normviz.detect(x, normviz.normalize(x, key, layout="NCHW", **groups).y, layout="NCHW")
    assert found.layer.scheme.key == key
