"""The aim of a scheme in a sentence: that it says what is so, and nothing where nothing is."""

import numpy as np
import pytest
from strategies import uneven_array

from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.describe.aims import describe_guarantee, describe_scope

SHAPE = (4, 4, 4, 6)


def aim(key, shape=SHAPE, eps=1e-5, gain=1.0, bias=0.0, x=None, scheme=None):
    scheme = scheme or SCHEMES[key]
    x = uneven_array(shape, 0) if x is None else x
    return describe_guarantee(scheme, x, normalize(x, scheme, eps if scheme.eps is not None else 0.0, gain, bias))


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("batch", "Afterwards every channel has mean 0 and variance 1."),
        ("layer", "Afterwards every example has mean 0 and variance 1."),
        ("layer-channels", "Afterwards every position of every example has mean 0 and variance 1."),
        ("instance", "Afterwards every channel of every example has mean 0 and variance 1."),
        ("group", "Afterwards every group of channels of every example has mean 0 and variance 1."),
        ("ghost-batch", "Afterwards every channel of every group of examples has mean 0 and variance 1."),
        ("rms", "Afterwards every position of every example has mean square 1."),
        ("mean-only-batch", "Afterwards every channel has mean 0."),
        ("weight", "Afterwards the weights of every unit have length 1."),
        ("weight-standardization", "Afterwards every unit has mean 0 and variance 1."),
        ("spectral", "Afterwards the largest singular value is 1."),
        ("dynamic-tanh", "Afterwards every number lies between −1 and 1."),
        ("none", ""),
        ("divisive", ""),
    ],
)
def test_of_every_kind(key, words):
    assert aim(key) == words


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("batch", "every channel alone, over all examples and positions"),
        ("layer", "every example alone, over all positions and channels"),
        ("layer-channels", "every position of every example alone, over all channels"),
        ("instance", "every channel of every example alone, over all positions"),
        ("group", "every group of channels of every example alone, over all positions"),
        ("ghost-batch", "every channel of every group of examples alone, over all positions"),
        ("rms", "every position of every example alone, over all channels; no mean is subtracted"),
        ("mean-only-batch", "every channel alone, over all examples and positions; only the mean is subtracted"),
        (
            "whitening",
            "every group of channels alone, over all examples and positions; correlations are removed, too",
        ),
        ("divisive", "every example alone, over the positions and channels near each element"),
        ("weight", "every unit alone, over all kernel positions and input channels; no mean is subtracted"),
        ("weight-standardization", "every unit alone, over all kernel positions and input channels"),
        ("dynamic-tanh", "every element alone"),
        ("none", "nothing"),
    ],
)
def test_the_scope_names_what_is_normalized_and_over_what(key, words):
    assert describe_scope(SCHEMES[key]) == words


def test_the_scope_follows_the_rules_and_not_the_lengths():
    assert describe_scope(get_scheme("group", groups=2)) == describe_scope(get_scheme("group", groups=6))
    assert describe_scope(get_scheme("group", groups=1)) == describe_scope(SCHEMES["layer"])
    mean, divisor = Field.parse("full, full, full, full"), Field.parse("own, own, own, own")
    assert describe_scope(SCHEMES["custom"].with_fields(mean, divisor)) == (
        "mean: the whole tensor, over all examples, positions and channels; divisor: every element alone"
    )
    rows = Field.parse("own, full, own, window(1)")
    assert describe_scope(SCHEMES["custom"].with_fields(rows, rows)) == (
        "every column of every example alone, over all rows and the channels near each element"
    )


def test_with_gain_and_bias_it_is_the_aim_before_them():
    assert aim("batch", bias=1.0) == "Before γ and β, every channel has mean 0 and variance 1."
    assert aim("rms", gain=2.0) == "Before γ, every position of every example has mean square 1."


def test_a_large_eps_is_said_with_the_variance_that_is_left():
    x = uneven_array(SHAPE, 0)
    variance = x.var((0, 1, 2)) / (x.var((0, 1, 2)) + 1.0)
    words = aim("batch", eps=1.0)
    low, high = (f"{each:.3g}" for each in (variance.min(), variance.max()))
    assert words == f"Afterwards every channel has mean 0 and variance {low} to {high}, below 1 because of ε."


def test_a_field_of_equal_numbers_has_variance_0():
    assert aim("instance", (4, 1, 1, 6)).endswith("variance 0: all numbers of a field are equal.")
    x = uneven_array(SHAPE, 0)
    x[..., 2] = 5
    assert aim("batch", x=x).endswith("variance 0 to 1: 0 where all numbers of a field are equal.")


def test_where_mean_and_divisor_have_fields_of_their_own_a_mean_that_is_not_0_is_not_claimed():
    apart = SCHEMES["custom"].with_fields(Field.parse("own,full,full,own"), Field.parse("full,own,own,own"))
    assert "mean 0" not in aim("custom", scheme=apart)
    assert aim("custom", scheme=apart).startswith("Afterwards every channel of every position has mean square 1")


def test_whitening_says_what_its_matrix_reaches():
    one = get_scheme("whitening", groups=1)
    x = np.random.default_rng(0).standard_normal((8, 8, 8, 3))
    words = aim("whitening", x=x, scheme=one)
    assert words == "Afterwards every channel has mean 0 and variance 1, and no two channels are correlated."
    assert aim("whitening", (2, 1, 1, 6), scheme=one) == ""  # two examples cannot whiten six channels


def test_numbers_that_are_not_finite_have_no_aim():
    x = uneven_array(SHAPE, 0)
    x[0, 0, 0, 0] = np.nan
    assert aim("batch", x=x) == ""
