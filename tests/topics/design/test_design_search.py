"""The search for schemes against forward passes that know nothing of the rule, and against all demands there are."""

from itertools import product

import numpy as np
import pytest
from pairs import mark_heavy_except

from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design.conditions import CONDITIONS
from normviz.topics.design.demands import SHAPES, WEIGHT_KEYS, Demands
from normviz.topics.design.search import (
    build_scheme_from_fields,
    compute_invariances,
    find_conflict,
    find_nearest_schemes,
    find_properties,
    find_scheme_name,
    find_schemes,
    get_weight_scheme_key,
    list_fields,
    take_census,
)

LAYERS = list(SHAPES)
FRONTS = {"none": ("none",), "any": WEIGHT_KEYS}
DELTA = 3.0


def summed(x, w):
    """Every filter at every position, without padding."""
    kh, kw = w.shape[:2]
    height, width = x.shape[1] - kh + 1, x.shape[2] - kw + 1
    return sum(x[:, i : i + height, j : j + width] @ w[i, j] for i in range(kh) for j in range(kw))


def changed(key, x, w, rng):
    """The data and the weights of a column of Table 1."""
    x, w = x.copy(), w.copy()
    if key == "weight-matrix-rescaling":
        w *= DELTA
    elif key == "weight-matrix-recentering":
        w += rng.standard_normal(w.shape[:3])[..., None]
    elif key == "weight-vector-rescaling":
        w[..., 1] *= DELTA
    elif key == "dataset-rescaling":
        x *= DELTA
    elif key == "dataset-recentering":
        x += rng.standard_normal(x.shape[3])
    else:
        x[2] *= DELTA
    return x, w


def outputs(scheme, x, w):
    """x̂ of a layer, with the weights normalized first where they are."""
    front = scheme.weight_part
    a = summed(x, w if front is None else normalize(w, front, 0.0).xhat)
    return a if scheme.acts_on in ("weight", "none") else normalize(a, scheme, 0.0).xhat


def measured(scheme, layer, seed=0):
    """What the outputs of a layer do not notice."""
    rng = np.random.default_rng(seed)
    (n, height, width, _), weights = SHAPES[layer]
    inputs = (n, height + weights[0] - 1, width + weights[1] - 1, weights[2])
    x, w = rng.uniform(0, 1, inputs), rng.standard_normal(weights)
    before = outputs(scheme, x, w)
    scale = np.abs(before).max()
    gaps = {key: np.abs(outputs(scheme, *changed(key, x, w, rng)) - before).max() / scale for key in TRANSFORMATIONS}
    assert not any(1e-9 < gap < 1e-6 for gap in gaps.values())
    return tuple(key for key, gap in gaps.items() if gap <= 1e-9)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("weights", FRONTS)
def test_forward_passes_agree_on_a_sample(layer, weights):
    rng = np.random.default_rng(7)
    every = [each for each in find_schemes(Demands(layer, weights=FRONTS[weights])) if not each[0].is_baseline]
    for k in rng.choice(len(every), min(300, len(every)), replace=False):
        scheme, predicted = every[k]
        assert measured(scheme, layer) == predicted, scheme


@pytest.mark.parametrize(
    ("layer", "weights", "sets", "schemes", "most"),
    [
        ("dense", "none", 10, 81, 4),
        ("conv", "none", 13, 6561, 5),
        ("dense", "any", 15, 324, 4),
        ("conv", "any", 17, 26244, 5),
    ],
)
def test_the_census(layer, weights, sets, schemes, most):
    kinds = take_census(layer, FRONTS[weights])
    assert len(kinds) == len({kind.invariances for kind in kinds}) == sets
    assert sum(kind.schemes for kind in kinds) == schemes
    assert max(len(kind.invariances) for kind in kinds) == most


@pytest.mark.parametrize("layer", LAYERS)
def test_the_census_counts_what_is_searched(layer):
    absorbed = [each for _, each in find_schemes(Demands(layer))]
    assert {kind.invariances: kind.schemes for kind in take_census(layer)} == {
        each: absorbed.count(each) for each in set(absorbed)
    }


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("weights", FRONTS)
@pytest.mark.parametrize(
    "wanted", product((False, True), repeat=6), ids=lambda wanted: "".join("01"[w] for w in wanted)
)
def test_every_demand_has_a_scheme_that_meets_it_or_a_reason(layer, weights, wanted):
    need = tuple(key for key, each in zip(TRANSFORMATIONS, wanted, strict=True) if each)
    without = tuple(key for key in TRANSFORMATIONS if key not in need)
    demands = Demands(layer, need, without, FRONTS[weights])
    schemes = find_schemes(demands)
    if schemes:
        assert find_conflict(demands) == ()
        scheme = schemes[0][0]
        assert (measured(scheme, layer) if not scheme.is_baseline else ()) == need
        return
    near = find_nearest_schemes(demands)[0]
    rest = Demands(
        layer, *(tuple(key for key in keys if key not in near.missed) for keys in (need, without)), FRONTS[weights]
    )
    assert len(find_schemes(rest)) == near.schemes > 0
    assert near.missed


@pytest.mark.parametrize("layer", LAYERS)
def test_named_schemes_are_where_they_belong(layer):
    named = {key: kind.invariances for kind in take_census(layer, WEIGHT_KEYS) for key in kind.names.keys}
    hollow = {"instance", "layer-spatial", "filter-response"}  # of one element on a dense layer
    left_out = {"custom", "whitening"} | (hollow if layer == "dense" else set())
    assert set(named) == set(SCHEMES) - left_out
    assert all(each == compute_invariances(SCHEMES[key], layer) for key, each in named.items())


def test_known_ones_are_called_by_name():
    names = {find_scheme_name(scheme, "conv") for scheme, _ in find_schemes(Demands("conv"))}
    assert {SCHEMES[key].name for key in ("batch", "layer", "layer-channels", "instance", "group", "rms")} <= names


def test_the_simplest_comes_first():
    (first, _), *_ = find_schemes(Demands("dense", ("case-rescaling",)))
    assert find_scheme_name(first, "dense") == "RMS normalization"
    assert first.summation is None


def test_one_field_comes_before_two_and_groups_after_whole_axes():
    schemes = [scheme for scheme, _ in find_schemes(Demands("conv", ("case-rescaling",)))]
    two = [scheme.summation is not None and scheme.suppression != scheme.summation for scheme in schemes]
    grouped = [sum(rule.kind == "groups" for field in scheme.fields for rule in field.rules) for scheme in schemes]
    assert list(zip(two, grouped, strict=True)) == sorted(zip(two, grouped, strict=True))


def test_of_those_that_give_up_least_the_largest_set_comes_first():
    ways = find_nearest_schemes(Demands("conv", ("weight-matrix-recentering", "dataset-recentering")))
    assert [near.schemes for near in ways] == sorted((near.schemes for near in ways), reverse=True)
    assert ways[0].missed == ("weight-matrix-recentering",)
    assert "batch" in ways[0].names.keys


@pytest.mark.parametrize(
    "given",
    [
        {"layer": "deep"},
        {"layer": "dense", "need": ("x",)},
        {"layer": "dense", "without": ("x",)},
        {"layer": "dense", "weights": ("batch",)},
        {"layer": "dense", "need": ("case-rescaling",), "without": ("case-rescaling",)},
    ],
)
def test_what_cannot_be_asked_is_refused_in_words(given):
    with pytest.raises(InvalidInput, match=r"would do|cannot be both"):
        Demands(**given)


def test_own_everywhere_is_no_step():
    assert list_fields("dense").count(None) == list_fields("conv").count(None) == 1
    assert build_scheme_from_fields(None, None).key == "none"
    assert build_scheme_from_fields(None, None, "weight").key == "weight"


@pytest.mark.parametrize("count", mark_heavy_except([10], [10, 40]))
@pytest.mark.parametrize("layer", LAYERS)
def test_what_is_found_is_all_that_meets_the_demands(layer, count):
    rng = np.random.default_rng(3)
    every = list(find_schemes(Demands(layer, weights=WEIGHT_KEYS)))
    answers = [find_properties(scheme, layer) for scheme, _ in rng.choice(np.array(every, object), 300)]
    for _ in range(count):
        demands = some_demands(rng, layer)
        met = find_schemes(demands)
        assert all(demands.are_met_by(find_properties(scheme, layer)) for scheme, _ in met[:40])
        assert len(met) <= len(every)
    for scheme, absorbed in every[:: len(every) // (5 * count)]:
        exact = Demands(layer, absorbed, tuple(set(TRANSFORMATIONS) - set(absorbed)), (get_weight_scheme_key(scheme),))
        assert scheme in [each for each, _ in find_schemes(exact)]
    assert len(set(answers)) > 5


def some_demands(rng, layer):
    """Demands at random: each transformation either way or not at all, and some conditions."""
    asked = rng.integers(0, 3, len(TRANSFORMATIONS))
    need, without = (tuple(key for key, each in zip(TRANSFORMATIONS, asked, strict=True) if each == k) for k in (1, 2))
    conditions = tuple(key for key in CONDITIONS if rng.integers(0, 4) == 0)
    return Demands(layer, need, without, tuple(rng.permutation(WEIGHT_KEYS)[: rng.integers(1, 5)].tolist()), conditions)


def test_a_slice_of_what_is_found_is_what_stands_there():
    schemes = find_schemes(Demands("conv", ("case-rescaling",)))
    assert list(schemes[3:6]) == [schemes[k] for k in (3, 4, 5)]
    assert schemes[-1] == list(schemes)[-1]
