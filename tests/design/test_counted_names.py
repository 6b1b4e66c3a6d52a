"""The names beside a number of schemes: those that are counted, those that coincide, and those of the same set only."""

from functools import lru_cache
from itertools import product

import numpy as np
import pytest

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.core.text import spoken
from normviz.core.transformations import LAYERS
from normviz.design import lattice_words as words
from normviz.design.lattice import order
from normviz.design.search import SHAPES, WEIGHTS, Demands, fields, made, nearest, searched

FRONTS = (*((key,) for key in WEIGHTS), WEIGHTS)
MAPS = list(product(LAYERS, FRONTS))


def computed(scheme, layer):
    """x̂ of a random tensor as one row, rounded, so that equal schemes give equal bytes."""
    x = np.random.default_rng(0).normal(size=SHAPES[layer][scheme.acts_on == "weight"])
    return (np.round(normalize(x, scheme, 0.0).xhat, 9) + 0.0).tobytes()


@lru_cache
def every(layer):
    """x̂ of all schemes of a layer with nothing in front."""
    return {computed(made(a, b), layer) for a, b in product(fields(layer), repeat=2)}


@pytest.mark.parametrize("layer", LAYERS)
def test_counted_names_are_among_the_schemes_of_the_map_and_others_are_not(layer):
    for kind in order(layer).kinds:
        for keys in kind.names.counted:
            assert len({computed(SCHEMES[key], layer) for key in keys} & every(layer)) == 1
        firsts = [computed(SCHEMES[keys[0]], layer) for keys in kind.names.counted]
        assert len({*firsts}) == len(firsts)
        assert not {computed(SCHEMES[key], layer) for key in kind.names.uncounted} & every(layer)


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_what_is_said_of_names_agrees_with_the_census(layer, fronts):
    whole = order(layer, fronts)
    for kind in whole.kinds:
        names, said = kind.names, words.told(kind, whole, layer, fronts)
        assert len(names.counted) <= kind.schemes
        first = [SCHEMES[keys[0]].name for keys in names.counted]
        count = f"{len(first)} of {kind.schemes:,}: {spoken(first, 'and')}" if first else f"none of {kind.schemes:,}"
        assert f"**With a name of their own:** {count}." in said
        for keys in names.counted:
            same = f"**Same x̂ on this layer:** {spoken([SCHEMES[key].name for key in keys], 'and')}."
            assert (same in said) == (len(keys) > 1)
        others = spoken([SCHEMES[key].name for key in names.uncounted] or ["-"], "and")
        assert (f"**Same set, but not counted:** {others}." in said) == bool(names.uncounted)
    keys = [key for kind in whole.kinds for key in kind.names.keys]
    assert len(keys) == len({*keys})


@pytest.mark.parametrize("layer", LAYERS)
def test_layers_behind_schemes_of_weights_are_counted_with_them(layer):
    counted = {key for kind in order(layer, WEIGHTS).kinds for keys in kind.names.counted for key in keys}
    for front in WEIGHTS:
        found = {scheme.canonical(SHAPES[layer][scheme.acts_on == "weight"]) for scheme, _ in searched(layer, (front,))}
        here = {key for kind in order(layer, (front,)).kinds for keys in kind.names.counted for key in keys}
        assert all(SCHEMES[key].canonical(SHAPES[layer][SCHEMES[key].acts_on == "weight"]) in found for key in here)
        assert here <= counted


def test_the_set_of_layer_norm_on_a_dense_layer_has_two_names_of_four():
    whole = order("dense")
    kind = whole.nearest(
        ("weight-matrix-rescaling", "weight-matrix-recentering", "dataset-rescaling", "case-rescaling")
    )
    assert kind.names.counted == (("layer", "layer-channels"), ("group",))
    assert kind.names.uncounted == ("divisive",)
    assert words.labelled(kind.names) == "Layer = Layer (channels), Group; not counted: Divisive"
    assert "Divisive" not in words.headline(whole, "dense", ("none",))


def test_names_beside_what_would_do_say_which_are_counted():
    near = nearest(Demands("dense", ("weight-vector-rescaling", "case-rescaling")))
    every = [key for each in near for key in each.names.keys]
    assert {"layer", "divisive"} <= {*every}
    assert all("not counted: Divisive" in words.labelled(each.names) for each in near if "divisive" in each.names.keys)
