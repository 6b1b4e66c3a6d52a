"""Reasons: given exactly where nothing is found, minimal, and true, sentence by sentence, of all schemes."""

from itertools import combinations

import numpy as np
import pytest
from pairs import mark_heavy_except

from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design.demands import DEMANDABLE, SHAPES, WEIGHT_KEYS, Demands
from normviz.topics.design.reasons import describe_requirement, explain_no_answer, format_demand, restrict_demands
from normviz.topics.design.search import find_conflict, find_nearest_schemes, find_properties, find_schemes

LAYERS = list(SHAPES)
FRONTS = {**{key: (key,) for key in WEIGHT_KEYS}, "any": WEIGHT_KEYS}
AXES = {"example": 0, "row": 1, "column": 2, "channel": 3}


LITERALS = [(key, wanted) for key in DEMANDABLE for wanted in ((True, False) if key in TRANSFORMATIONS else (True,))]


def many_demands(layer, weights, count):
    """All of up to two, and many at random: each transformation absorbed, let through or either, some conditions."""
    for some in (*combinations(LITERALS, 1), *combinations(LITERALS, 2)):
        if len(dict(some)) == len(some):
            yield restrict_demands(Demands(layer), some, weights)
    rng = np.random.default_rng(5)
    for _ in range(count):
        asked = dict(zip(DEMANDABLE, rng.integers(0, 3, len(DEMANDABLE)).tolist(), strict=True))
        some = [(key, asked[key] == 1) for key in DEMANDABLE if asked[key] and (key, asked[key] == 1) in LITERALS]
        yield restrict_demands(Demands(layer), some, weights)


@pytest.fixture(scope="module")
def sets():
    """By layer and front, all that schemes have together: brute force, one scheme of each kind of fields."""
    every = {}
    for layer in LAYERS:
        for front in WEIGHT_KEYS:
            rows = {}
            for scheme, _ in find_schemes(Demands(layer, weights=(front,))):
                rows.setdefault(reaching(scheme), scheme)
            every[layer, front] = {frozenset(find_properties(scheme, layer)): scheme for scheme in rows.values()}
    return every


def reaching(scheme):
    """What the rule and the conditions may tell apart."""
    if scheme.activation_part is None:
        return scheme.key
    fields = (scheme.summation, scheme.suppression)
    return tuple(
        f and tuple(rule.kind if axis == 0 else rule.kind != "own" for axis, rule in enumerate(f.rules)) for f in fields
    )


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("front", FRONTS)
@pytest.mark.parametrize("count", mark_heavy_except([100], [100, 600]))
def test_a_conflict_is_there_exactly_where_nothing_is(layer, front, count, sets):
    """Against the sets themselves; a conflict is minimal."""
    have = np.array([[key in each for key in DEMANDABLE] for one in FRONTS[front] for each in sets[layer, one]])
    reasons = {}
    for demands in many_demands(layer, FRONTS[front], count):
        places, wanted = (
            [DEMANDABLE.index(key) for key, _ in demands.all_demands],
            [each for _, each in demands.all_demands],
        )
        met = have[:, places] == wanted
        some = find_conflict(demands)
        assert bool(some) == (not met.all(1).any()) == (len(find_schemes(demands)) == 0)
        if some and some not in reasons:
            within = met[:, [demands.all_demands.index(each) for each in some]]
            assert not within.all(1).any()
            assert all(np.delete(within, k, 1).all(1).any() for k in range(len(some)))
            reasons[some] = str(explain_no_answer(demands))
            assert all(format_demand(each) in reasons[some][:1].lower() + reasons[some][1:] for each in some)
    assert len(reasons) > 5
    assert not any(not wanted and TRANSFORMATIONS[key].factor is None for some in reasons for key, wanted in some)


def says(text, scheme, layer):
    """Whether a scheme does what a sentence of a reason asks, read word by word."""
    parts = text.split(", and ")
    if " has to stand in front, or " in parts[0]:
        enough, parts[0] = parts[0].split(" has to stand in front, or ")
        if front_name(scheme) in enough:
            return True
    return all(one(part, scheme, layer) for part in parts)


def front_name(scheme):
    return "nothing" if scheme.weight_part is None else scheme.weight_part.name


def one(part, scheme, layer):
    fields = () if scheme.activation_part is None else scheme.fields
    centres = any(each.summation is not None for each in (scheme.activation_part, scheme.weight_part) if each)
    mean = () if scheme.activation_part is None or scheme.summation is None else (scheme.summation,)
    divides = scheme.activation_part is not None and scheme.suppression is not None

    def reach(some, axes):
        return any(field.rules[axis].kind != "own" for field in some for axis in axes if SHAPES[layer][0][axis] > 1)

    named = [axis for word, axis in AXES.items() if word in part]
    if "in front" in part:
        return front_name(scheme) not in part
    if part.startswith("behind "):
        return front_name(scheme) not in part or divides
    if part.startswith("no mean may be subtracted"):
        return not centres
    if part.startswith("a mean has to be subtracted inside"):
        return bool(mean) and not reach(mean, named)
    if part.startswith("the pre-activations have to be divided"):
        return divides and not reach(fields, named)
    if part.startswith("the pre-activations must not be divided"):
        return not divides or reach(fields, named)
    if part.startswith("no field may reach"):
        return not reach(fields, named)
    if part.startswith("every field has to reach"):
        return all(reach((field,), named) for field in fields)
    raise AssertionError(part)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("front", FRONTS)
def test_what_a_demand_asks_is_true_and_together_it_excludes_all(layer, front, sets):
    """A sentence holds for every scheme that meets its demand; and no scheme does what those of a conflict ask."""
    schemes = [scheme for one in FRONTS[front] for scheme in sets[layer, one].values()]
    demands = Demands(layer, weights=FRONTS[front])
    every = [each for each in LITERALS if each[1] or TRANSFORMATIONS[each[0]].factor is not None]
    for each in every:
        for scheme in schemes:
            if (each[0] in find_properties(scheme, layer)) == each[1]:
                assert says(describe_requirement(each, demands), scheme, layer), (each, scheme)
                assert front != "none" or says(describe_requirement(each, demands, False), scheme, layer)
    seen = set()
    for asked_for in many_demands(layer, FRONTS[front], 200):
        why = explain_no_answer(asked_for)
        if why is None or len(why.conflict) == 1 or why.conflict in seen:
            continue
        seen.add(why.conflict)
        texts = [
            text.partition(f"to {format_demand(each)}, ")[2] for text, each in zip(why.asks, why.conflict, strict=True)
        ]
        assert not any(all(says(text, scheme, layer) for text in texts) for scheme in schemes), why
        assert find_conflict(restrict_demands(asked_for, why.conflict, FRONTS[front])) == why.conflict
    assert seen


@pytest.mark.parametrize("layer", LAYERS)
def test_elsewhere_there_are_some(layer):
    why = explain_no_answer(Demands(layer, ("weight-vector-rescaling",), ("dataset-rescaling",)))
    assert why.elsewhere == "With weight normalization or weight standardization in front there are some."
    other = explain_no_answer(Demands(layer, ("weight-matrix-recentering",), weights=("weight",)))
    assert str(other).startswith("Behind weight normalization, no scheme can ignore weight matrix re-centring: ")
    assert str(other).endswith("With nothing or spectral normalization in front there are some.")


def test_of_the_nearest_each_demand_that_is_given_up_leaves_schemes():
    demands = Demands("dense", ("dataset-recentering", "case-rescaling"), conditions=("single", "independent"))
    for near in find_nearest_schemes(demands):
        need, conditions = (
            tuple(key for key in keys if key not in near.missed) for keys in (demands.need, demands.conditions)
        )
        assert len(find_schemes(Demands("dense", need, conditions=conditions))) == near.schemes
