"""The names beside a number of schemes: those that are counted, those that coincide, and those of the same set only."""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.core.transformations import LAYERS
from normviz.topics.design.demands import SHAPES, WEIGHT_KEYS, Demands
from normviz.topics.design.search import (
    build_scheme_from_fields,
    find_nearest_schemes,
    find_schemes,
    list_fields,
    take_census,
)
from normviz.topics.design.wording import format_named_labels

FRONTS = (*((key,) for key in WEIGHT_KEYS), WEIGHT_KEYS)
MAPS = list(product(LAYERS, FRONTS))


def computed(scheme, layer):
    """x̂ of a random tensor as one row, rounded, so that equal schemes give equal bytes."""
    x = np.random.default_rng(0).normal(size=SHAPES[layer][scheme.is_weight_scheme])
    return (np.round(normalize(x, scheme, 0.0).xhat, 9) + 0.0).tobytes()


@lru_cache
def every(layer):
    """x̂ of all schemes of a layer with nothing in front."""
    return {computed(build_scheme_from_fields(a, b), layer) for a, b in product(list_fields(layer), repeat=2)}


@pytest.mark.parametrize("layer", LAYERS)
def test_counted_names_are_among_the_schemes_of_the_map_and_others_are_not(layer):
    for kind in take_census(layer):
        for keys in kind.names.counted:
            assert len({computed(SCHEMES[key], layer) for key in keys} & every(layer)) == 1
        firsts = [computed(SCHEMES[keys[0]], layer) for keys in kind.names.counted]
        assert len({*firsts}) == len(firsts)
        assert not {computed(SCHEMES[key], layer) for key in kind.names.uncounted} & every(layer)


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_each_name_is_in_one_set_of_the_census(layer, fronts):
    keys = [key for kind in take_census(layer, fronts) for key in kind.names.keys]
    assert len(keys) == len({*keys})
    assert all(len(kind.names.counted) <= kind.schemes for kind in take_census(layer, fronts))


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_behind_schemes_of_weights_are_counted_with_them(layer):
    counted = {key for kind in take_census(layer, WEIGHT_KEYS) for keys in kind.names.counted for key in keys}
    for front in WEIGHT_KEYS:
        found = {
            scheme.compute_canonical_key(SHAPES[layer][scheme.is_weight_scheme])
            for scheme, _ in find_schemes(Demands(layer, weights=(front,)))
        }
        here = {key for kind in take_census(layer, (front,)) for keys in kind.names.counted for key in keys}
        assert all(
            SCHEMES[key].compute_canonical_key(SHAPES[layer][SCHEMES[key].is_weight_scheme]) in found for key in here
        )
        assert here <= counted


def test_the_set_of_layer_norm_on_a_dense_layer_has_two_names_of_four():
    absorbed = ("weight-matrix-rescaling", "weight-matrix-recentering", "dataset-rescaling", "case-rescaling")
    kind = next(each for each in take_census("dense") if each.invariances == absorbed)
    assert kind.names.counted == (("layer", "layer-channels"), ("group",))
    assert kind.names.uncounted == ("divisive",)
    assert format_named_labels(kind.names) == "Layer = Layer (channels), Group; not counted: Divisive"


def test_names_beside_what_would_do_say_which_are_counted():
    near = find_nearest_schemes(Demands("dense", ("weight-vector-rescaling", "case-rescaling")))
    every = [key for each in near for key in each.names.keys]
    assert {"layer", "divisive"} <= {*every}
    assert all(
        "not counted: Divisive" in format_named_labels(each.names) for each in near if "divisive" in each.names.keys
    )
