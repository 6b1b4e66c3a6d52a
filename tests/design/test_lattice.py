"""The order of the sets of invariances, by brute force, and the words on it."""

from itertools import chain, combinations, product

import pytest

from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.design import lattice_words as words
from normviz.design.lattice import Order, Trained, order, simplest
from normviz.design.search import WEIGHTS, Kind, Names, invariances

FRONTS = (*((key,) for key in WEIGHTS), WEIGHTS)
MAPS = list(product(LAYERS, FRONTS))
EVERY = [frozenset(some) for some in chain(*(combinations(TRANSFORMATIONS, count) for count in range(7)))]


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_a_set_lies_right_above_another_where_none_of_all_64_sets_on_the_map_lies_between(layer, fronts):
    every = order(layer, fronts)
    there = [each for each in EVERY if tuple(key for key in TRANSFORMATIONS if key in each) in every.sets]
    assert len(there) == len(every.sets) == len(set(every.sets))
    covers = {(frozenset(a), frozenset(b)) for a, b in every.covers}
    assert len(covers) == len(every.covers)
    assert covers == {(a, b) for a in there for b in there if a < b and not any(a < c < b for c in there)}
    for a, b in covers:  # no line says what others say together
        rest = covers - {(a, b)}
        reached = {a}
        while more := {high for low, high in rest if low in reached} - reached:
            reached |= more
        assert b not in reached


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_what_two_sets_share_is_a_set_and_a_lattice_is_called_one(layer, fronts):
    every = order(layer, fronts)
    shared = [tuple(key for key in a if key in b) for a, b in product(every.sets, repeat=2)]
    assert every.meets == all(each in every.sets for each in shared)
    assert every.meets  # as the page says
    bounded = all(any({*a, *b} <= {*c} for c in every.sets) for a, b in product(every.sets, repeat=2))
    assert every.joins == bounded  # then what all above both share is the least of them
    assert ("a lattice" in words.shape_of(every)) == bounded


def test_an_order_without_a_least_set_above_two_is_no_lattice():
    a, b, c, d, e, f = TRANSFORMATIONS
    some = [(), (a,), (b,), (a, b, c), (a, b, d), (a, b, c, d, e, f)]
    every = Order(tuple(Kind(each, 1, Names()) for each in some), ())
    assert not every.joins
    assert not every.meets


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_what_excludes_each_other_and_what_follows(layer, fronts):
    every = order(layer, fronts)
    there = [frozenset(each) for each in every.sets]
    never = [each for each in EVERY if not any(each <= other for other in there)]
    least = {each for each in never if not any(other < each for other in never)}
    assert {frozenset(each) for each in every.exclusive()} == least
    for one, other in product(TRANSFORMATIONS, repeat=2):
        having = [each for each in there if one in each]
        assert every.follows(one, other) == (having != [] and all(other in each for each in having))


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_the_simplest_scheme_of_a_set_is_of_that_set(layer, fronts):
    for kind in order(layer, fronts).kinds:
        scheme = simplest(kind, layer, fronts)
        assert invariances(scheme, layer) == kind.invariances
        assert not any(rule.kind == "groups" for field in scheme.fields for rule in field.rules)


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_numbers_in_words_are_those_of_the_map(layer, fronts):
    every = order(layer, fronts)
    said = words.headline(every, layer, fronts)
    assert f"**{len(every.sets)}**" in said
    assert f"**{every.schemes:,} schemes**" in said
    assert f"**{max(map(len, every.sets))}** of 6" in said
    assert ("None ignores all 6" in said) == (tuple(TRANSFORMATIONS) not in every.sets)
    assert sum(words.numbers(every, {})["schemes"]) == every.schemes
    limits = " ".join(words.limits(every, layer, fronts))
    assert all(words.absorbed(some) in limits for some in every.exclusive())


@pytest.mark.parametrize(("layer", "fronts"), MAPS)
def test_what_one_more_costs(layer, fronts):
    every = order(layer, fronts)
    for kind in every.kinds:
        said = words.told(kind, every, layer, fronts)
        more = {key: words.more(kind.invariances, key, every) for key in TRANSFORMATIONS if key not in kind.invariances}
        assert all(f"**One more,** {each}" in said for each in more.values())
        for key, text in more.items():
            having = [each for each in every.kinds if {*kind.invariances, key} <= {*each.invariances}]
            count = sum(each.schemes for each in having)
            assert (f"{count:,} scheme" in text) if count else ("no scheme" in text)
            if not count:
                pairs = [{*each} for each in every.exclusive() if {*each} <= {*kind.invariances, key}]
                assert any(text.endswith(f"excludes {words.absorbed(sorted(each - {key}))}.") for each in pairs) or any(
                    each == {key} for each in pairs
                )


def test_a_set_that_there_is_not_gives_the_one_that_differs_least():
    every = order("dense")
    assert every.nearest(every.sets[4]).invariances == every.sets[4]
    assert every.nearest(TRANSFORMATIONS).invariances == (
        "weight-matrix-rescaling",
        "weight-matrix-recentering",
        "dataset-rescaling",
        "case-rescaling",
    )
    assert every.nearest(["case-rescaling"]).invariances == ()


def test_what_training_says_in_words():
    assert Trained(81, 0, 0, 81, 81).words == "81 of 81 as predicted"
    assert (
        Trained(3700, 2, 78, 3780, 3780).words
        == "3,700 of 3,780 as predicted, 2 not as predicted, 78 without an answer"
    )
