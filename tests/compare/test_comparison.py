"""Schemes side by side: what is said of each is true of what it computes."""

import numpy as np
import pytest
from hypothesis import given
from strategies import shapes

from normviz.compare.comparison import PROPERTIES, on_batch, reduction, sequences, single_example, spans, table
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES, get_scheme

OPTIONS = [key for key, scheme in SCHEMES.items() if scheme.acts_on != "weight"]
SHAPE = (4, 3, 2, 6)


def tensor(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("key", OPTIONS)
def test_the_batch_matters_where_it_is_said_to(key):
    x = tensor(SHAPE)
    other = np.concatenate([x[:1], tensor((3, *SHAPE[1:]), 1)])
    same = np.allclose(normalize(x, SCHEMES[key]).xhat[0], normalize(other, SCHEMES[key]).xhat[0])
    assert same == (on_batch(SCHEMES[key], SHAPE) == "no")


@pytest.mark.parametrize("key", OPTIONS)
def test_padding_a_sequence_matters_where_it_is_said_to(key):
    x = tensor((4, 5, 1, 6))
    padded = np.concatenate([x, np.zeros((4, 3, 1, 6))], axis=1)
    same = np.allclose(normalize(x, SCHEMES[key]).xhat, normalize(padded, SCHEMES[key]).xhat[:, :5])
    assert same == (sequences(SCHEMES[key], SHAPE) == "yes")


@pytest.mark.parametrize("key", OPTIONS)
def test_one_case(key):
    words = single_example(SCHEMES[key], SHAPE)
    if words.startswith("only as"):
        (twin,) = (scheme for scheme in SCHEMES.values() if scheme.label == words.removeprefix("only as "))
        x = tensor((1, *SHAPE[1:]))
        assert np.allclose(normalize(x, SCHEMES[key]).xhat, normalize(x, twin).xhat)
        assert spans(SCHEMES[key], "N")
    else:
        assert words == "yes"


def test_the_facts_that_are_known():
    rows = table([SCHEMES[key] for key in ("batch", "layer", "group", "none")], SHAPE)
    assert rows["A statistic runs over"] == [
        "N averaged, H averaged, W averaged",
        "H averaged, W averaged, C averaged",
        "H averaged, W averaged, C in 2 groups",
        "nothing",
    ]
    assert rows["Depends on the batch"][1:] == ["no"] * 3
    assert rows["Works with N = 1"][0] == "only as Instance"
    assert rows["Learned"] == ["γ (6,), β (6,)", "γ (3, 2, 6), β (3, 2, 6)", "γ (6,), β (6,)", "nothing"]
    assert rows["State for inference"][0] == "running mean, running variance"
    assert single_example(SCHEMES["batch"], (4, 1, 1, 6)).startswith("no: a field of one element")


@given(shapes)
def test_there_are_words_for_every_scheme_and_shape(shape):
    schemes = [get_scheme(key, groups=1) for key in OPTIONS]
    rows = table(schemes, shape)
    assert list(rows) == list(PROPERTIES)
    assert all(len(words) == len(schemes) and all(words) for words in rows.values())
    assert reduction(SCHEMES["none"], shape) == "nothing"
