"""Judgement of one candidate at one ε: whether y = γ x̂ + β up to rounding, with γ and β by least squares."""

from math import inf, log10
from typing import NamedTuple

import numpy as np

from normviz.core.fields import AXES
from normviz.core.normalize import ignore_float_warnings

MAX_ROUNDING_SHARE = 0.1
"""Elements of which rounding may have changed this share are ignored."""

MIN_CLEAR_SHARE = 0.5
"""Least share of elements that are not ignored."""

MIN_TOTAL_DIGITS = 9
"""Least number of decimal digits of y in total that a fit explains, beyond the fitted numbers."""

MIN_DIGITS_EACH = 0.5
"""Least number of decimal digits of each y that a fit explains: many weak agreements prove nothing."""

MIN_DIGITS_BEHIND_AFFINE = 1.0
"""Least number of digits of each y with fitted γ and β, which bring smooth functions of x near to each other."""


class FitTrial(NamedTuple):
    """x̂ of a candidate scheme at one ε, with a bound of its rounding errors.

    Attributes:
        eps: ε.
        xhat: x̂.
        lost: bound of the rounding error of each element, relative to its size.
        size: size of the numbers that each element comes from; 1 if something divides.
        linear: x̂ without the division: x − E_B[x]. None if nothing divides.
    """

    eps: float
    xhat: np.ndarray
    lost: np.ndarray
    size: np.ndarray
    linear: np.ndarray | None = None

    def select_channels(self, channels: slice) -> "FitTrial":
        """Return the trial restricted to some channels."""
        xhat, lost, size = (each[..., channels] for each in (self.xhat, self.lost, self.size))
        return FitTrial(self.eps, xhat, lost, size, None if self.linear is None else self.linear[..., channels])


class FitOutcome(NamedTuple):
    """Result of fitting one candidate at one ε; the attributes are those of `CandidateFit`."""

    eps: float
    residual: float
    fits: bool
    is_decided: bool
    gain: bool = False
    bias: bool = False


def judge_without_affine(y: np.ndarray, trial: FitTrial, fitted: int = 0) -> FitOutcome:
    """Judge whether y = x̂ without γ and β; `fitted`: the number of parameters estimated from y, such as ε."""
    allowed = trial.lost * (np.abs(trial.xhat) + trial.size)
    clear = trial.lost < MAX_ROUNDING_SHARE
    return _judge_fit(y, trial.xhat, allowed, clear, trial.eps, int(clear.sum()) - fitted, y - y.mean())


def fit_affine(y: np.ndarray, trial: FitTrial, along: tuple[str, ...]) -> FitOutcome:
    """Fit y = γ x̂ + β, with γ and β along some axes.

    If x̂ without its division fits as well, the numbers cannot decide (`is_decided` is False).
    """
    found = regress_affine(y, trial, along)
    if not (found.fits and found.is_decided) or trial.linear is None:
        return found
    plain = regress_affine(y, trial._replace(xhat=trial.linear, size=np.zeros(y.shape)), along)
    return found._replace(is_decided=not plain.fits)


class AffineSolution(NamedTuple):
    """γ and β by weighted least squares, in a shape that broadcasts against y.

    Attributes:
        gain, bias: γ and β; where `known` is False, 0 and the mean of y.
        known: True where x̂ varies by more than its rounding errors.
        clear: elements of x̂ that rounding leaves usable.
        noise: bound of the rounding error of each element of x̂.
        level: weighted mean of y.
    """

    gain: np.ndarray
    bias: np.ndarray
    known: np.ndarray
    clear: np.ndarray
    noise: np.ndarray
    level: np.ndarray


@ignore_float_warnings
def solve_affine(y: np.ndarray, trial: FitTrial, along: tuple[str, ...]) -> AffineSolution:
    """Solve y = γ x̂ + β for γ and β along some axes by least squares, each element weighted by its precision."""
    over = tuple(k for k, axis in enumerate(AXES["activation"]) if axis not in along)
    clear = trial.lost < MAX_ROUNDING_SHARE
    usual = np.sqrt((trial.xhat**2).mean(over, keepdims=True))
    noise = trial.lost * (np.abs(trial.xhat) + np.maximum(trial.size, usual))
    weight = np.where(clear & (noise > 0), 1 / np.where(noise > 0, noise, 1) ** 2, 0.0)
    total = np.maximum(weight.sum(over, keepdims=True), np.finfo(float).tiny)

    def mean(values: np.ndarray) -> np.ndarray:
        return (weight * values).sum(over, keepdims=True) / total

    centred, level = mean(trial.xhat), mean(y)
    spread_out = mean((trial.xhat - centred) ** 2)
    count = clear.sum(over, keepdims=True)
    known = spread_out * total > 25 * np.maximum(count, 1)  # x̂ varies by five times what it may be off
    gain = np.where(known, mean((trial.xhat - centred) * (y - level)) / np.where(known, spread_out, 1), 0.0)
    return AffineSolution(gain, level - gain * centred, known, clear, noise, level)


@ignore_float_warnings
def regress_affine(y: np.ndarray, trial: FitTrial, along: tuple[str, ...]) -> FitOutcome:
    """Judge whether y = γ x̂ + β, with γ and β along some axes by least squares."""
    over = tuple(k for k, axis in enumerate(AXES["activation"]) if axis not in along)
    gain, bias, known, clear, noise, level = solve_affine(y, trial, along)
    count = clear.sum(over, keepdims=True)
    allowed = 2 * (np.abs(gain) * noise + trial.lost * np.abs(bias))
    free = int(np.where(known, np.maximum(count - 2, 0), 0).sum())  # where x̂ stands still, anything fits
    found = _judge_fit(
        y, gain * trial.xhat + bias, allowed, clear & known, trial.eps, free, y - level, MIN_DIGITS_BEHIND_AFFINE
    )
    least = 8 * float(np.median(trial.lost))
    has_gain = bool(np.any(known & (np.abs(gain - 1) > least)))
    has_bias = bool(np.any(known & (np.abs(bias) > least * np.maximum(np.abs(gain), 1))))
    return FitOutcome(*found[:4], has_gain, has_bias)


def _judge_fit(
    y: np.ndarray, fitted: np.ndarray, allowed: np.ndarray, clear: np.ndarray, eps: float, free: int,
    varying: np.ndarray,
    least_digits: float = MIN_DIGITS_EACH,
) -> FitOutcome:  # fmt: skip
    """Judge whether y equals the fitted values up to rounding, and whether there are enough numbers to decide.

    `clear`: elements that are not ignored; `free`: numbers of y minus fitted numbers; `varying`: y minus the constant
    that β explains, whose digits a fit has to explain.
    """
    apart, largest = np.abs(y - fitted), float(np.abs(y).max())
    if not clear.any():
        return FitOutcome(eps, inf, False, False)
    residual = float(apart[clear].max()) / (largest or 1.0)
    size = float(np.sqrt(np.mean(varying[clear] ** 2)))
    digits = -log10(min(max(float(np.median(allowed[clear])) / (size or inf), 1e-16), 1.0)) if size else 0.0
    is_decided = digits >= least_digits and free * digits >= MIN_TOTAL_DIGITS and clear.mean() >= MIN_CLEAR_SHARE
    return FitOutcome(eps, residual, bool(np.all(apart[clear] <= allowed[clear])), is_decided)
