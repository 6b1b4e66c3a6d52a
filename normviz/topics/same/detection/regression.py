"""Judgement of one candidate at one ε: whether y = γ x̂ + β up to rounding, with γ and β by least squares."""

from math import inf, log10
from typing import NamedTuple

import numpy as np

from normviz.core.normalize import ignore_float_warnings
from normviz.topics.same.detection import evidence
from normviz.topics.same.detection.trials import ALL_AXES, FittedValues, FitTrial, list_other_axes

MIN_EVIDENCE = 3.0
"""Least number of decimal digits of the statistics that a fit tests, by `count_confirmed_digits`.

Hundreds of candidates and ε are tried, of which one may match two digits by chance.
"""


class FitOutcome(NamedTuple):
    """Result of fitting one candidate; the attributes are those of `CandidateFit`."""

    eps: tuple[float, ...]
    residual: float
    fits: bool
    is_decided: bool
    gain: bool = False
    bias: bool = False


def choose_outcome(outcomes: list[FitOutcome]) -> FitOutcome:
    """Return the outcome with the smallest residual; if it fits, with the ε of all outcomes that y does not exclude."""
    best = min(outcomes, key=lambda each: (not (each.fits and each.is_decided), each.residual))
    left = [eps for each in outcomes if each.fits or each.residual == inf for eps in each.eps]
    return best._replace(eps=tuple(sorted(left, reverse=True))) if best.fits and best.is_decided else best


def fit_trials(y: np.ndarray, trials: FitTrial, along: tuple[str, ...], estimate_count: int) -> FitOutcome:
    """Return the best outcome over several ε of y = x̂, or if `along` names axes of y = γ x̂ + β with γ, β along them.

    `estimate_count`: the number of other parameters estimated from y, such as ε.
    """
    fit = fit_affine_values(y, trials, along) if along else use_xhat_as_fit(y, trials, estimate_count)
    apart = np.where(fit.usable, np.abs(y - fit.values), 0.0)
    exist = fit.usable.any(ALL_AXES)
    residual = np.where(exist, apart.max(ALL_AXES), inf)
    left = np.flatnonzero(~exist | np.all((apart <= fit.allowed) | ~fit.usable, ALL_AXES))
    outcomes = []
    for k in map(int, {*left.tolist(), int(np.argmin(residual))}):
        pair = (trials.select_eps(k), fit.select_eps(k))
        outcomes.append(judge_affine(y, *pair) if along else judge_without_affine(y, *pair, estimate_count))
    return choose_outcome(outcomes)


def judge_without_affine(y: np.ndarray, trial: FitTrial, fit: FittedValues, estimate_count: int = 0) -> FitOutcome:
    """Return the outcome of `fit`, y = x̂ with one ε, of which `estimate_count` parameters were estimated from y."""
    outcome = _judge_fit(y, fit, trial.eps)
    is_tested = not outcome.fits or (
        evidence.is_surely_rounded(y, trial, fit)
        and evidence.count_confirmed_digits(y, trial, fit, estimate_count) >= MIN_EVIDENCE
    )
    return outcome._replace(is_decided=outcome.is_decided and is_tested)


def fit_pointwise_function(
    y: np.ndarray, trial: FitTrial, along: tuple[str, ...], x: np.ndarray, line: FittedValues
) -> FitOutcome:
    """Return the outcome of y = f(αx + s), given by `trial`, or if `along` names axes of y = γ f(αx + s) + β.

    α and s are estimated. It is undecided unless y excludes `line`, the fit of a straight line to each channel.
    """
    fit = fit_affine_values(y, trial, along) if along else use_xhat_as_fit(y, trial, 2)
    outcome = _judge_affine_fit(y, trial, fit) if along else judge_without_affine(y, trial, fit, 2)
    is_told = not outcome.fits or evidence.is_excluded(y, fit, line)
    return outcome._replace(is_decided=outcome.is_decided and is_told)


def judge_affine(y: np.ndarray, trial: FitTrial, fit: FittedValues) -> FitOutcome:
    """Return the outcome of `fit`, y = γ x̂ + β with one ε: whether it fits, and whether y excludes simpler fits.

    The outcome is undecided (`is_decided` is False) if y does not exclude a simpler explanation: one γ and one β for
    all elements, which x may determine, or γ and β on x̂ without its division. Nor if they test too few of the
    statistics, if y varies where x̂ is constant, or if γ and β make y a normalized output by themselves.
    """
    outcome, along = _judge_affine_fit(y, trial, fit), fit.along
    if not (outcome.fits and outcome.is_decided) or trial.linear is None or (trial.is_affine and along == ("C",)):
        return outcome
    undivided = trial._replace(xhat=trial.linear, size=np.zeros(y.shape))
    rivals = (fit_affine_values(y, trial, ()), fit_affine_values(y, undivided, along))
    is_told = (
        all(evidence.is_excluded(y, fit, rival) for rival in rivals)
        and evidence.is_surely_rounded(y, trial, fit)
        and evidence.is_constant_where_xhat_is(y, trial, fit)
        and evidence.count_confirmed_digits(y, trial, fit) >= MIN_EVIDENCE
        and not evidence.is_normalized(y, fit.allowed)
    )
    return outcome._replace(is_decided=is_told)


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
    """Solve y = γ x̂ + β by least squares weighted by precision, with a γ and a β for each index along `along`."""
    over = list_other_axes(along)
    clear = trial.lost < evidence.MAX_ROUNDING_SHARE
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


def use_xhat_as_fit(y: np.ndarray, trial: FitTrial, estimate_count: int = 0) -> FittedValues:
    """Return x̂ as fitted values, with γ = 1 and β = 0; `estimate_count` parameters of it were estimated from y."""
    allowed = trial.lost * (np.abs(trial.xhat) + trial.size)
    clear = trial.lost < evidence.MAX_ROUNDING_SHARE
    one, zero = np.ones((1,) * 4), np.zeros((1,) * 4)
    free = clear.sum(ALL_AXES, keepdims=True) - estimate_count
    return FittedValues(trial.xhat, allowed, clear, free, y - y.mean(), one, zero)


@ignore_float_warnings
def fit_affine_values(y: np.ndarray, trial: FitTrial, along: tuple[str, ...]) -> FittedValues:
    """Fit γ and β along the axes `along` by least squares; return the values γ x̂ + β."""
    over = list_other_axes(along)
    gain, bias, known, clear, noise, level = solve_affine(y, trial, along)
    allowed = 2 * (np.abs(gain) * noise + trial.lost * np.abs(bias))
    count = clear.sum(over, keepdims=True)
    free = np.where(known, np.maximum(count - 2, 0), 0)  # a constant x̂ fits anything
    return FittedValues(gain * trial.xhat + bias, allowed, clear & known, free, y - level, gain, bias, along)


def _judge_affine_fit(y: np.ndarray, trial: FitTrial, fit: FittedValues) -> FitOutcome:
    """Return `_judge_fit` of γ x̂ + β, and whether γ differs from 1 and β from 0."""
    outcome = _judge_fit(y, fit, trial.eps)
    least = 8 * float(np.median(trial.lost))
    has_gain = bool(np.any(fit.usable & (np.abs(fit.gain - 1) > least)))
    has_bias = bool(np.any(fit.usable & (np.abs(fit.bias) > least * np.maximum(np.abs(fit.gain), 1))))
    return outcome._replace(gain=has_gain, bias=has_bias)


def _judge_fit(y: np.ndarray, fit: FittedValues, eps: tuple[float, ...]) -> FitOutcome:
    """Return the residual of a fit, whether it is within rounding, and whether y has enough digits to decide."""
    apart, largest, clear = np.abs(y - fit.values), float(np.abs(y).max()), fit.usable
    if not clear.any():
        return FitOutcome(eps, inf, False, False)
    residual = float(apart[clear].max()) / (largest or 1.0)
    size = float(np.sqrt(np.mean(fit.varying[clear] ** 2)))
    digits = -log10(min(max(float(np.median(fit.allowed[clear])) / (size or inf), 1e-16), 1.0)) if size else 0.0
    is_decided = (
        digits >= 0.5  # of each y: many weak agreements prove nothing
        and int(fit.free.sum()) * digits >= 9  # in total, beyond the fitted numbers
        and clear.mean() >= 0.5
    )
    return FitOutcome(eps, residual, bool(np.all(apart[clear] <= fit.allowed[clear])), is_decided)
