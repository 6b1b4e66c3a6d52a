"""Fits of candidates to an input and an output: y = γ x̂ + β, where ε, γ and β may be unknown."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import inf, prod
from typing import Any

import numpy as np

from normviz.core.fields import OWN, Shape, shrink_shape
from normviz.core.layouts import parse_layout
from normviz.core.normalize import ignore_float_warnings, normalize
from normviz.core.reductions import broadcast_statistic, centre, compute_rms, reduce_boxes
from normviz.core.registry import Scheme
from normviz.core.tolerances import ANSWER_ROUNDINGS, MACHINE_EPSILONS
from normviz.topics.same.detection.candidates import (
    choose_independent_part,
    is_affine,
    list_candidates,
    needs_missing_gain,
    space_indices_evenly,
)
from normviz.topics.same.detection.curves import estimate_pointwise_fit, is_monotone
from normviz.topics.same.detection.precision import RoundingBounds
from normviz.topics.same.detection.regression import (
    choose_outcome,
    fit_affine_values,
    fit_pointwise_function,
    fit_trials,
)
from normviz.topics.same.detection.trials import Divisors, FitTrial
from normviz.topics.same.variants import VARIANTS

TRIED_EPSILONS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-12, 0.0)
"""Values of ε to try, the largest first."""

MAX_PART, MAX_JUDGED = 2**16, 2**14
"""Most elements of the part on which a candidate is tried first, and most elements that judge it."""

MAX_CONFIRMED = 2**20
"""Most elements by which a fit is confirmed."""

FIRST_CHANNELS, MIN_FIRST_SIZE = 4, 2**12
"""Number of channels on which a candidate is tried first, if the elements are more than this number."""

NOTHING, EPS_ALONE, CHANNELS, ELEMENTS = range(4)
"""Estimates of a fit, the simplest first: one of `TRIED_EPSILONS`; any ε, or α and s; γ, β by channel; by element."""


Elements = tuple[np.ndarray, np.ndarray, tuple[np.ndarray, ...]]
"""Parts of the input and the output, and the indices of the elements that judge a candidate."""


@dataclass(frozen=True)
class CandidateFit:
    """Fit of one candidate scheme to y.

    Attributes:
        schemes: the candidate: schemes that compute the same on this shape.
        level: what is estimated from y, from `NOTHING` to `ELEMENTS`.
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
        return tuple(k for k, axis in enumerate(parse_layout(self.layout).axes) if rules[axis] != OWN)


def fit_candidates(x: np.ndarray, y: np.ndarray, layout: str, dtype: str) -> Iterator[CandidateFit]:
    """Yield for every candidate scheme the simplest fit that explains y, or the one with the smallest residual.

    A candidate is tried on a part of the tensors that gives the same x̂ (`choose_independent_part`), and judged by
    `MAX_JUDGED` elements of it. A fit is confirmed on a larger part, by up to `MAX_CONFIRMED` elements. x and y are
    tensors (N, H, W, C) of arrays in a `layout`, y rounded to a `dtype`.
    """
    for schemes in list_candidates(x.shape):
        fit = _fit_pointwise_function if schemes[0].function is not None else _fit_schemes
        found = fit(*_choose_elements(x, y, schemes[0], MAX_PART, MAX_JUDGED), schemes, layout, dtype)
        is_partly_judged = y.size > MAX_JUDGED
        yield _confirm_fit(x, y, found, dtype) if is_partly_judged and found.fits and found.is_decided else found


def _choose_elements(x: np.ndarray, y: np.ndarray, scheme: Scheme, most: int, most_judged: int) -> Elements:
    """Return a float64 part of x and of y, `most` elements, and the indices of `most_judged` elements to compare."""
    part = choose_independent_part(x.shape, scheme, most)
    some, target = (each[part].astype(float, copy=False) for each in (x, y))
    return some, target, space_indices_evenly(some.shape, shrink_shape(some.shape, most_judged))


def _fit_schemes(
    x: np.ndarray, y: np.ndarray, judged: tuple[np.ndarray, ...], schemes: tuple[Scheme, ...], layout: str, dtype: str
) -> CandidateFit:
    """Fit one candidate, schemes with equal x̂, and compare γ x̂ + β with y at the elements `judged`."""
    scheme = schemes[0]
    if scheme.count_covariances(x.shape) and not _is_linear(x, y, scheme, dtype):
        return CandidateFit(schemes, layout, CHANNELS, ("C",))
    usual = TRIED_EPSILONS if scheme.suppression else (0.0,)
    estimated = _estimate_eps(x, y, scheme)
    trials = compute_trials(x, schemes, usual if estimated is None else (*usual, estimated), dtype, judged)
    few, y = slice(0, FIRST_CHANNELS), y[judged]
    if y.shape[3] > FIRST_CHANNELS and y.size > MIN_FIRST_SIZE:
        first = list(_fit_levels(y[..., few], trials.select_channels(few), len(usual), schemes, layout))
        if not any(fit.fits or not fit.is_decided for fit in first):
            return min(first, key=lambda fit: fit.residual)
    tried = list(_fit_levels(y, trials, len(usual), schemes, layout))
    good = (fit for fit in sorted(tried, key=lambda fit: not fit.is_decided) if fit.fits)
    return next(good, None) or min(tried, key=lambda fit: (fit.is_decided, fit.residual))


def _fit_levels(
    y: np.ndarray, trials: FitTrial, tried_count: int, schemes: tuple[Scheme, ...], layout: str
) -> Iterator[CandidateFit]:
    """Yield one candidate's fits from `NOTHING` to `ELEMENTS`; ε after the first `tried_count` is estimated from y."""
    tried, estimated = trials.select_eps(slice(tried_count)), trials.select_eps(slice(tried_count, None))
    fits = [_fit_level(y, [each], schemes, layout, EPS_ALONE, ()) for each in ([estimated] if estimated.eps else [])]
    yield _add_estimated_eps(_fit_level(y, [tried], schemes, layout, NOTHING, ()), fits)
    yield from fits
    for level, along in _list_levels(schemes)[2:]:
        yield _fit_level(y, [tried], schemes, layout, level, along)


def _add_estimated_eps(fit: CandidateFit, estimated: list[CandidateFit]) -> CandidateFit:
    """Return the fit with the ε of the fits `estimated` added, except those close to an ε that it already has."""
    added = [
        eps
        for each in estimated
        for eps in each.eps
        if each.fits and not any(abs(eps - other) < 0.01 * eps for other in fit.eps)
    ]
    return replace(fit, eps=tuple(sorted({*fit.eps, *added}, reverse=True))) if fit.fits and fit.is_decided else fit


def _list_levels(schemes: tuple[Scheme, ...]) -> list[tuple[int, tuple[str, ...]]]:
    """List the levels (which of ε, γ and β are fitted), each with the axes along which γ and β vary; simplest first."""
    elements = [along for along in dict.fromkeys(map(_find_element_axes, schemes)) if along not in ((), ("C",))]
    return [(NOTHING, ()), (EPS_ALONE, ()), (CHANNELS, ("C",)), *((ELEMENTS, along) for along in elements)]


def _fit_level(
    y: np.ndarray,
    trials: Iterable[FitTrial],
    schemes: tuple[Scheme, ...],
    layout: str,
    level: int,
    along: tuple[str, ...],
) -> CandidateFit:
    """Return the best fit of one candidate at `level`, with γ and β along axes `along`, and all ε that explain y."""
    best = choose_outcome([fit_trials(y, each, along, int(level == EPS_ALONE)) for each in trials])
    found = CandidateFit(schemes, layout, level, along, best.eps if schemes[0].suppression else (), *best[1:])
    return replace(found, fits=False) if found.gain and needs_missing_gain(schemes) else found


def _confirm_fit(x: np.ndarray, y: np.ndarray, fit: CandidateFit, dtype: str) -> CandidateFit:
    """Return the fit with up to `MAX_CONFIRMED` elements; where that fails, one at a level with more parameters."""
    some, target, judged = _choose_elements(x, y, fit.scheme, MAX_CONFIRMED, MAX_CONFIRMED)
    if fit.scheme.function is not None:
        return _fit_pointwise_function(some, target, judged, fit.schemes, fit.layout, dtype)
    target, levels, found = target[judged], _list_levels(fit.schemes), fit
    is_any_eps = fit.level == CHANNELS and is_affine(fit.schemes)  # γ cancels ε
    for level, along in levels[levels.index((fit.level, fit.along)) :]:
        if level == EPS_ALONE != fit.level:
            continue
        epsilons = (fit.eps or (0.0,))[: 1 if is_any_eps else None]
        trials = (compute_trials(some, fit.schemes, (eps,), dtype, judged) for eps in epsilons)  # one in memory
        found = _fit_level(target, trials, fit.schemes, fit.layout, level, along)
        if found.fits and found.is_decided:
            break
    return replace(found, eps=fit.eps) if is_any_eps else found


def _find_element_axes(scheme: Scheme) -> tuple[str, ...]:
    """Return the axes along which γ and β vary if each element of a field has its own, as in layer norm; else ()."""
    if scheme.key not in VARIANTS or scheme.field is None:
        return ()
    return tuple(axis for axis, rule in zip(scheme.axes, scheme.field.rules, strict=True) if rule != OWN)


@ignore_float_warnings
def compute_trials(
    x: np.ndarray,
    schemes: tuple[Scheme, ...],
    epsilons: tuple[float, ...],
    dtype: str,
    judged: tuple[np.ndarray, ...] | None = None,
) -> FitTrial:
    """Compute x̂ = v / √(σ² + ε) of a candidate at several ε, at the elements `judged` or at all."""
    scheme = schemes[0]
    at: Any = (..., *(judged or ()))
    field, bounds = scheme.suppression, RoundingBounds(x, scheme, dtype)
    number = _index_statistics(x.shape, scheme)[at]
    if field is None:
        size = np.zeros(x.shape) if scheme.summation is None else _compute_field_maximum(x, scheme)
        divisors = None if scheme.summation is None else Divisors(number, np.zeros(number.shape))
        xhat, lost, size = (
            each[at][None] for each in (normalize(x, scheme, 0.0).xhat, bounds.compute_bounds(None), size)
        )
        return FitTrial((0.0,), xhat, lost, size, None, divisors)
    v = x if scheme.summation is None else centre(x, scheme.summation)[0]
    some, linear = v[at], (centre(x, field)[0] if field.find_smallest_size(x.shape) > 1 else x)[at]
    root = np.reshape(epsilons, (-1, 1, 1, 1, 1)) ** 0.5
    if scheme.count_covariances(x.shape):
        whitening = _Whitening(v, scheme, judged)
        xhat, deviation = map(np.stack, zip(*map(whitening.compute_xhat, epsilons), strict=True))
        alone = np.broadcast_to(np.sqrt((v**2).mean((0, 1, 2))), x.shape)[at]
        unmixed = some / np.where(alone == 0, np.inf, np.hypot(alone, root))
        divisors = Divisors(number, np.zeros(xhat.shape), unmixed, x.shape[3] // whitening.groups)
    else:
        deviation = np.hypot(compute_rms(v, field), root)
        wide = np.broadcast_to(broadcast_statistic(deviation, x.shape), (len(epsilons), *x.shape))[at]
        xhat = some / np.where(wide == 0, np.inf, wide)
        divisors = Divisors(number, np.log(np.where(wide == 0, 1.0, wide)))
    lost, least = bounds.compute_bounds(deviation)[at], bounds.compute_bounds(deviation, is_square_difference=False)[at]
    least_normal = 2.0**-14  # smaller numbers are not rounded by a share of their size in float16
    size = np.full(xhat.shape, least_normal if scheme.summation is None else 1.0)
    return FitTrial(epsilons, xhat, lost, size, linear, divisors, is_affine(schemes), least / lost)


def _index_statistics(shape: Shape, scheme: Scheme) -> np.ndarray:
    """Return for every element the index of its statistic, in the tensor's shape; 0 if the scheme has none."""
    if scheme.field is None:
        return np.zeros(shape, int)
    counts = scheme.field.compute_statistics_shape(shape)
    return np.broadcast_to(broadcast_statistic(np.arange(prod(counts)).reshape(counts), shape), shape)


class _Whitening:
    """Whitening of centred values v at the elements `judged`, for several ε from one SVD of each group."""

    def __init__(self, v: np.ndarray, scheme: Scheme, judged: tuple[np.ndarray, ...] | None) -> None:
        self.groups, self.judged = scheme.count_covariances(v.shape), judged or space_indices_evenly(v.shape, v.shape)
        rows = v.reshape(prod(v.shape[:3]), self.groups, -1)
        self.left, values, self.right = np.linalg.svd(np.swapaxes(rows, 0, 1), full_matrices=False)
        self.left = self.left[:, np.ravel_multi_index(self.judged[:3], v.shape[:3]).ravel()]
        self.deviation = values / len(rows) ** 0.5
        self.length = len(rows) ** 0.5
        self.least = max(len(rows), rows.shape[2]) * np.finfo(float).eps * self.deviation.max(1, keepdims=True)

    def compute_xhat(self, eps: float) -> tuple[np.ndarray, np.ndarray]:
        """Compute x̂, and each group's smallest √(λ + ε) above rounding, (1, 1, 1, groups), λ the eigenvalues of Σ."""
        root = np.hypot(self.deviation, eps**0.5)
        inverse = np.where(root > self.least, 1 / np.where(root > self.least, root, 1), 0.0)
        xhat = (self.left * (self.deviation * self.length * inverse)[:, None]) @ self.right
        smallest = np.where(inverse > 0, root, np.inf).min(1)
        channels = np.swapaxes(xhat, 0, 1).reshape(*(each.size for each in self.judged[:3]), -1)
        return channels[..., self.judged[3].ravel()], smallest[None, None, None]


def _compute_field_maximum(x: np.ndarray, scheme: Scheme) -> np.ndarray:
    """Compute for every element the largest |x| among the elements averaged with it, in the shape of x."""
    field = scheme.fields[0]
    return np.broadcast_to(broadcast_statistic(reduce_boxes(np.abs(x), field, np.max), x.shape), x.shape)


@ignore_float_warnings
def _estimate_eps(x: np.ndarray, y: np.ndarray, scheme: Scheme) -> float | None:
    """Estimate ε of y = x̂ = v/√(σ² + ε), from the elements with the smallest shared variance.

    None if it cannot be estimated: a single field, fields of one variance, or a scheme outside the general form.
    """
    field = scheme.suppression
    if field is None or not scheme.is_general_form or prod(field.compute_statistics_shape(x.shape)) < 2:
        return None
    v = x if scheme.summation is None else centre(x, scheme.summation)[0]
    square = np.asarray(compute_rms(v, field)) ** 2
    with np.errstate(divide="ignore"):
        slope = reduce_boxes(v * y, field, np.mean) / square
        found = np.where((square > 0) & (slope > 0), 1 / slope**2 - square, np.nan)
    if not np.isfinite(found).any():
        return None
    at = np.nanargmin(np.where(np.isfinite(found), square, np.nan))
    eps = float(found.flat[at])
    if not eps > 0:
        return None
    return eps if (square.max() + eps) / (square.min() + eps) > 1.01 else None


def _is_linear(x: np.ndarray, y: np.ndarray, scheme: Scheme, name: str) -> bool:
    """Return True if every channel of y may be a linear function of the channels of its whitening group.

    False if the vectors are too few to decide, at most one more than the channels of a group.
    """
    groups, count, channels = scheme.count_covariances(x.shape), prod(x.shape[:3]), x.shape[3]
    size = channels // groups
    if count <= size + 1:
        return False
    rows, targets = x.reshape(count, groups, size), y.reshape(count, groups, size)
    if count > (most := max(4 * size, 1024)):  # so many vectors are enough
        some = np.linspace(0, count - 1, most).astype(int)
        rows, targets = rows[some], targets[some]
    rough = {"float64": 1e-6, "float32": 1e-2}.get(name, 0.1)  # whitening loses as many digits as Σ has
    for group in range(groups):
        given = rows[:, group] - rows[:, group].mean(0)
        wanted = targets[:, group] - targets[:, group].mean(0)
        rest = wanted - given @ np.linalg.lstsq(given, wanted, rcond=None)[0]
        if np.abs(rest).max() > rough * max(np.abs(wanted).max(), np.finfo(float).tiny):
            return False
    return True


def _fit_pointwise_function(
    x: np.ndarray, y: np.ndarray, judged: tuple[np.ndarray, ...], schemes: tuple[Scheme, ...], layout: str, name: str
) -> CandidateFit:
    """Fit y = f(αx + s) with estimated α and s, then with γ and β; compare with y at the elements `judged`."""
    scheme, x, y = schemes[0], x[judged], y[judged]
    found = CandidateFit((scheme,), layout, CHANNELS, ("C",))
    if not is_monotone(x, y, 2 * ANSWER_ROUNDINGS * MACHINE_EPSILONS[name] * float(np.abs(y).max())):
        return found
    lost = RoundingBounds(x, scheme, name).compute_bounds(None) * (
        1 if name != "float64" else 16
    )  # α and s are rounded too
    line = fit_affine_values(y, FitTrial((), x, lost, np.zeros(x.shape)), ("C",))
    if np.all(np.abs(y - line.values) <= line.allowed):
        return replace(found, is_decided=False)  # f may be straight
    for level, along in ((EPS_ALONE, ()), (CHANNELS, ("C",))):
        estimated = estimate_pointwise_fit(x, y, scheme, with_gain=bool(along))
        if estimated is None:
            return replace(found, is_decided=False)
        xhat = normalize(x, estimated.scheme, 0.0).xhat
        trial = FitTrial((), xhat, lost, estimated.moved)
        outcome = fit_pointwise_function(y, trial, along, x, line)
        exact = not along or name in ("float64", "float32")  # γ, β, α and s bend to any curve of a half precision
        is_decided = outcome.is_decided and exact and estimated.bent
        found = CandidateFit(
            (estimated.scheme,), layout, level, along, (), outcome.residual, outcome.fits, is_decided, *outcome[4:]
        )
        if found.fits and found.is_decided:
            break
    return found
