"""The definitions, written out with loops: slow, and independent of what they check."""

from functools import reduce

import numpy as np


def share(rule, i, j, n):
    """Whether index j shares a statistic with index i along an axis of length n."""
    match rule.kind:
        case "own":
            return i == j
        case "full":
            return True
        case "groups":
            size = n // rule.parameter
            return i // size == j // size
        case "window":
            return abs(i - j) <= rule.parameter


def members(field, index, shape):
    """Which elements share a statistic with the one at `index`, as an array of truth values."""
    along = (
        np.array([share(rule, i, j, n) for j in range(n)]) for rule, i, n in zip(field.rules, index, shape, strict=True)
    )
    return reduce(np.logical_and.outer, along)


def over_members(x, field, how):
    """`how` of the elements that share a statistic, at every element."""
    result = np.empty_like(x)
    for index in np.ndindex(*x.shape):
        result[index] = how(x[members(field, index, x.shape)])
    return result


def general_form(x, summation, suppression, eps):
    """v, and v over the root of ε + E_B[v²] with 0/0 = 0; a field of None: no such step."""
    v = x if summation is None else x - over_members(x, summation, np.mean)
    if suppression is None:
        return v, v
    deviation = np.sqrt(eps + over_members(v * v, suppression, np.mean))
    return v, np.divide(v, deviation, out=np.zeros_like(v), where=deviation != 0)


def relative_difference(a, b):
    """Largest difference over the largest magnitude of b; 0 for two arrays of zeros."""
    a, b = np.asarray(a), np.asarray(b)
    assert a.shape == b.shape
    gap, scale = np.max(np.abs(a - b), initial=0), np.max(np.abs(b), initial=0)
    return gap / scale if scale else gap
