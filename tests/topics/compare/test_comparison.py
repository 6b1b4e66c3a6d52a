"""Schemes side by side: what is said of each is true of what it computes."""

import numpy as np
import pytest
from hypothesis import given
from strategies import noise, shapes, shapes_with_fields

from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.compare.comparison import (
    PROPERTY_DESCRIBERS,
    describe_batch_dependence,
    describe_reduced_axes,
    describe_sequence_use,
    describe_single_example,
    is_shared_along,
    summarize_batch_use,
    tabulate_properties,
)
from normviz.ui.cube_row import draw_cube_row

OPTIONS = [key for key, scheme in SCHEMES.items() if not scheme.is_weight_scheme]
SHAPE = (4, 3, 2, 6)


def tensor(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


@pytest.mark.parametrize("key", OPTIONS)
def test_the_batch_matters_where_it_is_said_to(key):
    x = tensor(SHAPE)
    other = np.concatenate([x[:1], tensor((3, *SHAPE[1:]), 1)])
    same = np.allclose(normalize(x, SCHEMES[key]).xhat[0], normalize(other, SCHEMES[key]).xhat[0])
    assert same == (describe_batch_dependence(SCHEMES[key], SHAPE) == "no")


@pytest.mark.parametrize("key", OPTIONS)
def test_padding_a_sequence_matters_where_it_is_said_to(key):
    x = tensor((4, 5, 1, 6))
    padded = np.concatenate([x, np.zeros((4, 3, 1, 6))], axis=1)
    same = np.allclose(normalize(x, SCHEMES[key]).xhat, normalize(padded, SCHEMES[key]).xhat[:, :5])
    assert same == (describe_sequence_use(SCHEMES[key], SHAPE) == "yes")


@pytest.mark.parametrize("key", OPTIONS)
def test_one_case(key):
    words = describe_single_example(SCHEMES[key], SHAPE)
    if words.startswith("only as"):
        (twin,) = (scheme for scheme in SCHEMES.values() if scheme.label == words.removeprefix("only as "))
        x = tensor((1, *SHAPE[1:]))
        assert np.allclose(normalize(x, SCHEMES[key]).xhat, normalize(x, twin).xhat)
        assert is_shared_along(SCHEMES[key], "N", SHAPE)
    elif words.startswith("no: "):
        assert not SCHEMES[key].fits((1, *SHAPE[1:]))
    else:
        assert words == "yes"


def test_the_facts_that_are_known():
    rows = tabulate_properties([SCHEMES[key] for key in ("batch", "layer", "group", "none")], SHAPE)
    assert rows["A statistic runs over"] == [
        "N, H, W",
        "H, W, C",
        "H, W; C in 2 groups",
        "nothing",
    ]
    assert rows["Depends on the batch"][1:] == ["no"] * 3
    assert rows["Works with N = 1"][0] == "only as Instance"
    assert rows["Learned"] == ["γ (6,), β (6,)", "γ (3, 2, 6), β (3, 2, 6)", "γ (6,), β (6,)", "nothing"]
    assert rows["State for inference"][0] == "running mean, running variance"
    assert describe_single_example(SCHEMES["batch"], (4, 1, 1, 6)).startswith("no: a field of one element")


@given(shapes)
def test_there_are_words_for_every_scheme_and_shape(shape):
    schemes = [get_scheme(key, groups=1) for key in OPTIONS]
    rows = tabulate_properties(schemes, shape)
    assert list(rows) == list(PROPERTY_DESCRIBERS)
    assert all(len(words) == len(schemes) and all(words) for words in rows.values())
    assert describe_reduced_axes(SCHEMES["none"], shape) == "nothing"


TIMED = {key: SCHEMES[key] for key in OPTIONS} | {
    "each step over the batch": SCHEMES["custom"].with_fields(*[Field.parse("full, own, own, full")] * 2),
    "a group a step": SCHEMES["custom"].with_fields(*[Field.parse("own, groups(3), own, full")] * 2),
    "windows of one step": SCHEMES["custom"].with_fields(*[Field.parse("own, window(0), own, full")] * 2),
}


@pytest.mark.parametrize("key", TIMED)
def test_time_is_averaged_where_it_is_said_to_be(key):
    x = tensor(SHAPE)
    later = x.copy()
    later[0, 1] += noise(5, *later[0, 1].shape)
    same = np.allclose(normalize(x, TIMED[key]).xhat[0, 0], normalize(later, TIMED[key]).xhat[0, 0])
    assert same == ("averages time" not in describe_sequence_use(TIMED[key], SHAPE))


def test_examples_that_end_are_the_reason_only_where_time_is_kept():
    assert describe_sequence_use(TIMED["each step over the batch"], SHAPE) == "no: a late step has fewer examples"
    assert describe_sequence_use(SCHEMES["batch"], SHAPE) == "no: it averages time, where padding would count"


@given(shapes_with_fields(2))
def test_the_batch_matters_where_it_is_said_to_for_any_fields(shape_fields):
    shape, first, second = shape_fields
    if shape[0] == 1:
        return
    scheme = SCHEMES["custom"].with_fields(first, second)
    x = tensor(shape)
    other = np.concatenate([x[:1], tensor((shape[0] - 1, *shape[1:]), 1)])
    same = np.allclose(normalize(x, scheme, 1.0).xhat[0], normalize(other, scheme, 1.0).xhat[0])
    assert same or describe_batch_dependence(scheme, shape) != "no"


@pytest.mark.parametrize("key", ["rms", "layer", "layer-channels"])
@pytest.mark.parametrize(("eps", "begins"), [(0.0, "no: "), (1.0, "hardly: where ε is small")])
def test_a_sign_is_all_that_is_left_at_epsilon_zero_only(key, eps, begins):
    shape = (4, 1, 1, 1 if key == "rms" else 2)
    assert describe_single_example(SCHEMES[key], shape, eps).startswith(begins)
    assert tabulate_properties([SCHEMES[key]], shape, eps)["Works with N = 1"][0].startswith(begins)


def test_groups_of_examples_do_not_fit_a_single_one():
    scheme = SCHEMES["custom"].with_fields(*[Field.parse("groups(2), full, full, own")] * 2)
    assert describe_single_example(scheme, SHAPE) == "no: 2 groups do not divide N = 1; 1 does."


def test_what_a_statistic_runs_over_where_the_fields_differ():
    scheme = SCHEMES["custom"].with_fields(Field.parse("own, full, own, own"), Field.parse("own, own, own, full"))
    assert describe_reduced_axes(scheme, SHAPE) == "H averaged in A, kept in B; C kept in A, averaged in B"


@pytest.mark.parametrize("key", OPTIONS)
@pytest.mark.parametrize("shape", [(4, 2, 2, 4), (2, 1, 1, 6), (4, 3, 1, 2)])
def test_the_sentence_under_a_cube_is_what_changing_another_example_does(key, shape):
    scheme = get_scheme(key, 2, 1)
    x = tensor(shape, 3)
    changed = x.copy()
    changed[1:] += tensor(changed[1:].shape, 4)
    mixes = not np.array_equal(normalize(x, scheme, 1e-5).xhat[0], normalize(changed, scheme, 1e-5).xhat[0])
    words = summarize_batch_use(scheme, shape)
    assert words.startswith(f"Mixes examples: **{'yes' if mixes else 'no'}**")
    alone = words.split("Works with N = 1: ")[1]
    assert alone.startswith(("**yes**", "**as ", "**no**", "**hardly**"))
    if alone.startswith(("**yes", "**as")):  # more is left than zeros or signs
        xhat = np.abs(normalize(x[:1], scheme, 1e-5).xhat)
        assert np.ptp(xhat) > 1e-3


def test_the_description_of_the_cubes_says_what_is_lit_in_each():
    x = np.zeros((4, 4, 4, 6))
    schemes = [SCHEMES[key] for key in ("none", "batch", "layer")]
    alt = draw_cube_row(schemes, x, [x] * 3, {"focus": (0, 0, 0, 2), "camera": ""}, "light").alt
    assert "in 3 cubes, one for each scheme. No norm: no elements share a statistic." in alt
    assert "64 elements: all n, h, w of channel 2" in alt
    assert "96 elements: all h, w, c of example 0" in alt
