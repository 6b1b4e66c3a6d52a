"""Parametrize with a choice of cases in `make test` and all of them in `make test-all`."""

from collections.abc import Iterable, Sequence
from itertools import combinations, product
from typing import Any

import pytest

Case = tuple[Any, ...]


def mark_heavy_except(light: Sequence[Any], cases: Iterable[Any]) -> list[Any]:
    """Return the cases for `pytest.mark.parametrize`, heavy but for these.

    Raises:
        AssertionError: where one of the light cases is not among the cases.

    Example:
        >>> [len(case.marks) for case in mark_heavy_except("a", "abc")]
        [0, 1, 1]
    """
    cases = list(cases)
    assert set(light) <= set(cases), set(light) - set(cases)
    return [pytest.param(case, marks=[] if case in light else [pytest.mark.heavy]) for case in cases]


def cover_pairs(cases: Sequence[Case]) -> list[Case]:
    """Return few of the cases, in which every pair of values occurs that occurs in any case.

    A fault shows in one value, or where two meet; one that needs three is rare. The next case is always the first one
    of those with the most new pairs.

    Example:
        >>> cover_pairs([(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 0, 1), (1, 1, 0), (1, 1, 1)])
        [(0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)]
    """
    pairs = {case: set(combinations(enumerate(map(repr, case)), 2)) for case in cases}
    missing, found = set().union(*pairs.values()), []
    while missing:
        best = max(cases, key=lambda case: len(pairs[case] & missing))
        found.append(best)
        missing -= pairs[best]
    return found


def each_value(*factors: Iterable[Any]) -> list[Any]:
    """Return all combinations of the factors' values for `pytest.mark.parametrize`, heavy but for a few.

    As many are light as the longest factor has values, and each value of each factor is in one of them.

    Example:
        >>> [len(case.marks) for case in each_value("ab", "cd")]
        [0, 1, 1, 0]
    """
    lists = [list(each) for each in factors]
    light = [tuple(each[k % len(each)] for each in lists) for k in range(max(map(len, lists)))]
    return [pytest.param(*case, marks=[] if case in light else [pytest.mark.heavy]) for case in product(*lists)]


def pairwise(*factors: Iterable[Any]) -> list[Any]:
    """Return all combinations of the factors' values for `pytest.mark.parametrize`, heavy but for a cover of the pairs.

    Example:
        >>> [len(case.marks) for case in pairwise("ab", "cd", "ef")]
        [0, 1, 1, 0, 1, 0, 0, 1]
    """
    cases = list(product(*factors))
    light = cover_pairs(cases)
    return [pytest.param(*case, marks=[] if case in light else [pytest.mark.heavy]) for case in cases]
