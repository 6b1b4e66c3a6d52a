"""Fits of candidates to an input and an output: y = γ x̂ + β, where ε, γ and β may be unknown."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, log10, prod
from typing import NamedTuple

import numpy as np

from normviz.core.fields import AXES, OWN
from normviz.core.layouts import ALL_LAYOUTS
from normviz.core.normalize import ignore_float_warnings, normalize
from normviz.core.reductions import broadcast_statistic, centre, reduce_boxes
from normviz.core.registry import Scheme
from normviz.core.tolerances import ANSWER_ROUNDINGS, MACHINE_EPSILONS
from normviz.topics.same.detection.candidates import is_affine, is_changed_by_gain, list_candidates
from normviz.topics.same.detection.curves import estimate_pointwise, is_monotone
from normviz.topics.same.detection.precision import bound_rounding_errors
from normviz.topics.same.variants import VARIANTS

TRIED_EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-12, 0.0)
"""Values of ε to try, the largest first."""

MAX_ROUNDING_SHARE = 0.1
"""Elements of which rounding may have changed this share are ignored."""

MIN_CLEAR_SHARE = 0.5
"""Least share of elements that are not ignored."""

MIN_TOTAL_DIGITS = 9
"""Least number of decimal digits of y in total that a fit explains, beyond the fitted numbers."""

MIN_DIGITS_EACH = 0.5
"""Least number of decimal digits of each y that a fit explains: many weak agreements prove nothing."""

FIRST_CHANNELS = 4
"""Number of channels on which a candidate is tried first."""

NOTHING, EPS_ALONE, CHANNELS, ELEMENTS = range(4)
"""Levels of a fit, the simplest first: one of `TRIED_EPSILONS`; any ε, or α and s; γ and β by channel; by element."""


@dataclass(frozen=True)
class CandidateFit:
    """Fit of one candidate scheme to y.

    Attributes:
        schemes: the candidate: schemes that compute the same on this shape.
        layout: layout in which the arrays were read.
        level: fitted numbers, from `NOTHING` to `ELEMENTS`.
        along: axes along which γ and β were fitted.
        eps: all ε that fit, else the best ε.
        residual: max|y − γ x̂ − β| / max|y|; infinite if a quick test excluded the candidate.
        fits: True if the residual is within rounding.
        is_decided: True if the numbers can decide; with too few, everything fits.
        gain, bias: True if γ is not 1, β is not 0.
    """

    schemes: tuple[Scheme, ...]
    layout: str
    level: int = NOTHING
    along: tuple[str, ...] = ()
    eps: tuple[float, ...] = ()
    residual: float = inf
    fits: bool = False
    is_decided: bool = True
    gain: bool = False
    bias: bool = False

    @property
    def scheme(self) -> Scheme:
        """The first of the schemes that compute the same."""
        return self.schemes[0]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of the array along which elements share a statistic."""
        field = self.scheme.field
        rules = (OWN,) * 4 if field is None else field.rules
        return tuple(k for k, axis in enumerate(ALL_LAYOUTS[self.layout]) if rules[axis] != OWN)


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


def fit_candidates(x: np.ndarray, y: np.ndarray, layout: str, dtype: str) -> Iterator[CandidateFit]:
    """Yield for every candidate scheme the simplest fit that explains y, or else the nearest one.

    Args:
        x, y: the input and the output as tensors (N, H, W, C).
        layout: layout of the arrays they come from.
        dtype: type to which y is rounded.
    """
    for schemes in list_candidates(x.shape):
        scheme = schemes[0]
        if scheme.count_matrices(x.shape) and not _is_linear(x, y, scheme, dtype):
            yield CandidateFit(schemes, layout, CHANNELS, ("C",))
            continue
        if scheme.function is not None:
            yield _fit_function(x, y, scheme, layout, dtype)
            continue
        trials = list(_compute_trials(x, schemes, TRIED_EPSILONS if scheme.suppression else (0.0,), dtype))
        estimated = _estimate_eps(x, y, scheme)
        own = [] if estimated is None else list(_compute_trials(x, schemes, (estimated,), dtype))
        few = slice(0, FIRST_CHANNELS)
        first = list(
            _fit_candidate(
                y[..., few],
                [t.select_channels(few) for t in trials],
                [t.select_channels(few) for t in own],
                schemes,
                layout,
            )
        )
        if x.shape[3] > FIRST_CHANNELS and not any(fit.fits or not fit.is_decided for fit in first):
            yield min(first, key=lambda fit: fit.residual)
            continue
        tried = list(_fit_candidate(y, trials, own, schemes, layout))
        good = (fit for fit in tried if fit.fits and fit.is_decided)
        yield next(good, None) or min(tried, key=lambda fit: (fit.is_decided, fit.residual))


def _fit_candidate(
    y: np.ndarray, trials: list[FitTrial], own: list[FitTrial], schemes: tuple[Scheme, ...], layout: str
) -> Iterator[CandidateFit]:
    """Yield the fits of one candidate, the simplest first; `own`: its trial at an estimated ε, if any."""
    yield _choose_best_fit([_judge_without_affine(y, each) for each in trials], schemes, layout, NOTHING, ())
    if own:
        yield _choose_best_fit([_judge_without_affine(y, each, 1) for each in own], schemes, layout, EPS_ALONE, ())
    yield _choose_best_fit([_fit_affine(y, each, ("C",)) for each in trials], schemes, layout, CHANNELS, ("C",))
    for along in dict.fromkeys(_find_element_axes(scheme) for scheme in schemes):
        if along not in ((), ("C",)):
            yield _choose_best_fit([_fit_affine(y, each, along) for each in trials], schemes, layout, ELEMENTS, along)


def _find_element_axes(scheme: Scheme) -> tuple[str, ...]:
    """Return the axes of γ and β if they have one value per element of a field, as in layer norm; else none."""
    if scheme.key not in VARIANTS or scheme.field is None:
        return ()
    return tuple(axis for axis, rule in zip(scheme.axes, scheme.field.rules, strict=True) if rule != OWN)


def _choose_best_fit(
    outcomes: list[FitOutcome], schemes: tuple[Scheme, ...], layout: str, level: int, along: tuple[str, ...]
) -> CandidateFit:
    """Choose the best fit over several ε: all ε with an equally good fit, or else the nearest one."""
    best = min(outcomes, key=lambda each: (not (each.fits and each.is_decided), each.residual))
    good = [each.eps for each in outcomes if each.fits and each.is_decided] or [best.eps]
    eps = tuple(good) if schemes[0].suppression else ()
    found = CandidateFit(schemes, layout, level, along, eps, *best[1:])
    return replace(found, fits=False) if found.gain and is_changed_by_gain(schemes) else found


@ignore_float_warnings
def _compute_trials(
    x: np.ndarray, schemes: tuple[Scheme, ...], epsilons: tuple[float, ...], name: str
) -> Iterator[FitTrial]:
    """Yield x̂ of a candidate at every ε: v / √(σ² + ε), with v and σ computed once."""
    scheme = schemes[0]
    field, result = scheme.suppression, normalize(x, scheme, 0.0)
    if field is None:
        size = np.zeros(x.shape) if scheme.summation is None else _compute_field_maximum(x, scheme)
        yield FitTrial(0.0, result.xhat, bound_rounding_errors(x, None, scheme, name), size)
        return
    size, linear = np.ones(x.shape), None if is_affine(schemes) else centre(x, field)[0]
    for eps in epsilons:
        if result.deviation is None:
            xhat, deviation = normalize(x, scheme, eps).xhat, None
        else:
            deviation = scheme.kind.add_eps(np.asarray(result.deviation), eps)
            wide = broadcast_statistic(deviation, x.shape)
            xhat = result.v / np.where(wide == 0, np.inf, wide)
        yield FitTrial(eps, xhat, bound_rounding_errors(x, deviation, scheme, name, eps), size, linear)


def _compute_field_maximum(x: np.ndarray, scheme: Scheme) -> np.ndarray:
    """Compute for every element the largest |x| among the elements that share its statistic."""
    field = scheme.fields[0]
    return np.broadcast_to(broadcast_statistic(reduce_boxes(np.abs(x), field, np.max), x.shape), x.shape)


def _judge_without_affine(y: np.ndarray, trial: FitTrial, fitted: int = 0) -> FitOutcome:
    """Judge whether y = x̂ without γ and β; `fitted`: the number of parameters estimated from y, such as ε."""
    allowed = trial.lost * (np.abs(trial.xhat) + trial.size)
    clear = trial.lost < MAX_ROUNDING_SHARE
    return _judge_fit(y, trial.xhat, allowed, clear, trial.eps, int(clear.sum()) - fitted, y - y.mean())


def _fit_affine(y: np.ndarray, trial: FitTrial, along: tuple[str, ...]) -> FitOutcome:
    """Fit y = γ x̂ + β, with γ and β along some axes.

    If x̂ without its division fits as well, the numbers cannot decide (`is_decided` is False).
    """
    found = _regress_affine(y, trial, along)
    if not (found.fits and found.is_decided) or trial.linear is None:
        return found
    plain = _regress_affine(y, trial._replace(xhat=trial.linear, size=np.zeros(y.shape)), along)
    return found._replace(is_decided=not plain.fits)


@ignore_float_warnings
def _regress_affine(y: np.ndarray, trial: FitTrial, along: tuple[str, ...]) -> FitOutcome:
    """Compute γ and β along some axes by least squares, each element weighted by its precision."""
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
    bias = level - gain * centred
    allowed = 2 * (np.abs(gain) * noise + trial.lost * np.abs(bias))
    free = int(np.where(known, np.maximum(count - 2, 0), 0).sum())  # where x̂ stands still, anything fits
    found = _judge_fit(y, gain * trial.xhat + bias, allowed, clear & known, trial.eps, free, y - level)
    least = 8 * float(np.median(trial.lost))
    has_gain = bool(np.any(known & (np.abs(gain - 1) > least)))
    has_bias = bool(np.any(known & (np.abs(bias) > least * np.maximum(np.abs(gain), 1))))
    return FitOutcome(*found[:4], has_gain, has_bias)


def _judge_fit(
    y: np.ndarray, fitted: np.ndarray, allowed: np.ndarray, clear: np.ndarray, eps: float, free: int,
    varying: np.ndarray,
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
    is_decided = digits >= MIN_DIGITS_EACH and free * digits >= MIN_TOTAL_DIGITS and clear.mean() >= MIN_CLEAR_SHARE
    return FitOutcome(eps, residual, bool(np.all(apart[clear] <= allowed[clear])), is_decided)


@ignore_float_warnings
def _estimate_eps(x: np.ndarray, y: np.ndarray, scheme: Scheme) -> float | None:
    """Estimate ε of y = x̂ = v/√(σ² + ε), from the field with the smallest variance.

    None if it cannot be estimated: a single field, fields of one variance, or a scheme outside the general form.
    """
    field = scheme.suppression
    if field is None or not scheme.is_general_form or prod(field.compute_statistics_shape(x.shape)) < 2:
        return None
    result = normalize(x, scheme, 0.0)
    square = np.asarray(result.deviation) ** 2
    with np.errstate(divide="ignore"):
        slope = reduce_boxes(result.v * y, field, np.mean) / square
        found = np.where((square > 0) & (slope > 0), 1 / slope**2 - square, np.nan)
    if not np.isfinite(found).any():
        return None
    at = np.nanargmin(np.where(np.isfinite(found), square, np.nan))
    eps = float(found.flat[at])
    if not eps > 0:
        return None
    return eps if (square.max() + eps) / (square.min() + eps) > 1.01 else None


def _is_linear(x: np.ndarray, y: np.ndarray, scheme: Scheme, name: str) -> bool:
    """Return True if every channel of y may be a linear function of its group's channels, as in whitening.

    False if the vectors are too few to decide, at most one more than the channels of a group.
    """
    groups, count, channels = scheme.count_matrices(x.shape), prod(x.shape[:3]), x.shape[3]
    size = channels // groups
    if count <= size + 1:
        return False
    rows, targets = x.reshape(count, groups, size), y.reshape(count, groups, size)
    rough = {"float64": 1e-6, "float32": 1e-2}.get(name, 0.1)  # whitening loses as many digits as Σ has
    for group in range(groups):
        given = rows[:, group] - rows[:, group].mean(0)
        wanted = targets[:, group] - targets[:, group].mean(0)
        rest = wanted - given @ np.linalg.lstsq(given, wanted, rcond=None)[0]
        if np.abs(rest).max() > rough * max(np.abs(wanted).max(), np.finfo(float).tiny):
            return False
    return True


def _fit_function(x: np.ndarray, y: np.ndarray, scheme: Scheme, layout: str, name: str) -> CandidateFit:
    """Fit a pointwise scheme with estimated α and s: first without γ and β, then with them.

    If a factor and a shift of x fit as well, the numbers cannot decide (`is_decided` is False).
    """
    found = CandidateFit((scheme,), layout, CHANNELS, ("C",))
    if not is_monotone(x, y, 2 * ANSWER_ROUNDINGS * MACHINE_EPSILONS[name] * float(np.abs(y).max())):
        return found
    lost = bound_rounding_errors(x, None, scheme, name) * (1 if name != "float64" else 16)  # α and s are rounded too
    for level, along in ((EPS_ALONE, ()), (CHANNELS, ("C",))):
        estimated = estimate_pointwise(x, y, scheme, with_gain=bool(along))
        if estimated is None:
            return replace(found, is_decided=False)
        xhat = normalize(x, estimated.scheme, 0.0).xhat
        trial = FitTrial(0.0, xhat, lost, estimated.moved)
        outcome = _regress_affine(y, trial, along) if along else _judge_without_affine(y, trial, 2)
        straight = _regress_affine(y, FitTrial(0.0, x, lost, np.zeros(x.shape)), ("C",))
        exact = not along or name in ("float64", "float32")  # γ, β, α and s bend to any curve of a half precision
        is_decided = outcome.is_decided and exact and estimated.bent and not (outcome.fits and straight.fits)
        found = CandidateFit(
            (estimated.scheme,), layout, level, along, (), outcome.residual, outcome.fits, is_decided, *outcome[4:]
        )
        if found.fits and found.is_decided:
            break
    return found
