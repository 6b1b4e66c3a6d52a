"""Evidence of y for a fit: digits of the statistics that it tests, and other explanations."""

from math import inf

import numpy as np

from normviz.core.fields import AXES
from normviz.core.normalize import ignore_float_warnings
from normviz.topics.same.detection.trials import FittedValues, FitTrial, list_other_axes

MAX_ROUNDING_SHARE = 0.1
"""Elements of which rounding may have changed this share are ignored."""


@ignore_float_warnings
def count_confirmed_digits(y: np.ndarray, trial: FitTrial, fit: FittedValues, estimate_count: int = 0) -> float:
    """Return how many decimal digits of the divisors √(σ² + ε) of a fit y confirms; infinite if nothing divides.

    Without γ and β, y tests the size of every statistic. Behind γ it tests their differences, as far as γ leaves them:
    none of batch norm. Two centred numbers are ±1 whatever divides them, and test only how far ε moves them from there.
    Each counts with the digits by which it changes an element of y beyond rounding. Whitening is tested by its mixing
    of channels: C (C - 1) / 2 numbers for each group.

    `estimate_count`: the number of parameters estimated from y, such as ε.
    """
    if trial.divisors is None:
        return inf
    number, logarithm, unmixed, mixed = trial.divisors
    owner = np.unique(number, return_inverse=True)[1].reshape(number.shape)
    change, group = trial.xhat, owner
    if unmixed is not None:
        change = trial.xhat - unmixed
    elif fit.along:
        change = trial.xhat * (logarithm - logarithm.mean(list_other_axes(fit.along), keepdims=True))
        first = tuple(slice(None) if axis in fit.along else slice(1) for axis in AXES["activation"])
        group = np.broadcast_to(owner[first], owner.shape)
    if unmixed is None:
        size, over = np.abs(trial.xhat), list_other_axes(fit.along)
        usual = size.mean(over, keepdims=True) if fit.along else 1.0
        change = np.where(_have_equal_magnitudes(size, owner), size - usual, change)
    off = np.maximum(np.abs(y - fit.values), fit.allowed / 4)  # a smaller error is chance
    square, error = (
        np.bincount(owner.ravel(), np.where(fit.usable, each, 0.0).ravel() ** 2) for each in (fit.gain * change, off)
    )
    digits = np.log10(np.clip(square / np.where(error > 0, error, 1), 1, 1e32)) / 2
    tested = digits > 0
    if unmixed is not None:
        return float(digits.sum()) * mixed * (mixed - 1) / 2
    absorbed = len(np.unique(group[tested[owner]])) if fit.along else estimate_count
    count = int(tested.sum())
    return float(digits.sum()) * max(0, count - absorbed) / max(count, 1)


def _have_equal_magnitudes(size: np.ndarray, owner: np.ndarray) -> np.ndarray:
    """Return for every element True if all magnitudes in `size` that share its statistic are equal, as of two numbers.

    `owner` holds the index of each element's statistic.
    """
    mean, square = (np.bincount(owner.ravel(), each.ravel()) for each in (size, size**2))
    return (square - mean**2 / np.bincount(owner.ravel()) < 1e-9 * square)[owner]


def is_normalized(y: np.ndarray, allowed: np.ndarray) -> bool:
    """Return True if y has mean 0 and mean square 1 at each index of some axis, as after a second normalization."""
    for axis in (axis for axis in range(4) if y.shape[axis] > 1):
        over = tuple(k for k in range(4) if k != axis)
        mean, square, off = (np.mean(each, over) for each in (y, y**2, allowed))
        if np.all(np.abs(mean) <= off) and np.all(np.abs(square - 1) < 0.01):  # ε and rounding
            return True
    return False


def is_excluded(y: np.ndarray, fit: FittedValues, rival: FittedValues) -> bool:
    """Return True if a rival's error exceeds the rounding bounds, and clearly exceeds the error of `fit`."""
    allowed, usable = np.maximum(fit.allowed, rival.allowed), fit.usable
    apart, own = (np.abs(y - each.values)[usable] for each in (rival, fit))
    is_clear = float(np.sum(own**2)) < 0.4**2 * float(np.sum(apart**2))  # 0.4: share of the root mean square
    return is_clear and bool(np.any(apart > allowed[usable]))


def is_surely_rounded(y: np.ndarray, trial: FitTrial, fit: FittedValues) -> bool:
    """Return True if y is within the tighter rounding bounds of a variance that averages centred squares."""
    return not np.any((np.abs(y - fit.values) > trial.sure * fit.allowed)[fit.usable])


def is_constant_where_xhat_is(y: np.ndarray, trial: FitTrial, fit: FittedValues) -> bool:
    """Return True if y is constant up to rounding in every channel in which x̂ is constant."""
    still = ~fit.usable & (trial.lost < MAX_ROUNDING_SHARE)
    noise = trial.lost * (np.abs(trial.xhat) + trial.size)
    allowed = fit.allowed + 2 * float(np.abs(fit.gain).max()) * noise
    return bool(np.all(np.abs(y - fit.values)[still] <= allowed[still]))
