"""The cases that stay in `make test` hold every pair of values, and no case is lost from `make test-all`."""

from itertools import combinations, product

import pytest
from pairs import cover_pairs, each_value, pairwise

FACTORS = [[3, 2], [2, 2, 2], [4, 2, 3, 3], [5, 1, 4]]


@pytest.mark.parametrize("sizes", FACTORS)
def test_every_pair_of_values_is_covered(sizes):
    cases = list(product(*map(range, sizes)))
    found = cover_pairs(cases)
    for a, b in combinations(range(len(sizes)), 2):
        assert {(case[a], case[b]) for case in found} == set(product(range(sizes[a]), range(sizes[b])))


@pytest.mark.parametrize("sizes", FACTORS)
def test_no_case_is_lost(sizes):
    params = pairwise(*map(range, sizes))
    assert [param.values for param in params] == list(product(*map(range, sizes)))
    assert [param.values for param in params if not param.marks] == [
        case for case in product(*map(range, sizes)) if case in cover_pairs(list(product(*map(range, sizes))))
    ]


def test_two_factors_need_all_cases_and_four_need_few():
    assert len(cover_pairs(list(product(range(3), range(2))))) == 6
    assert len(cover_pairs(list(product(range(4), range(2), range(3), range(3))))) < 16


def test_each_value_occurs_in_a_light_case():
    cases = each_value("abc", "de", range(4))
    light = [case.values for case in cases if not case.marks]
    assert len(cases) == 24
    assert len(light) == 4
    assert [set(values) for values in zip(*light, strict=True)] == [set("abc"), set("de"), set(range(4))]
