"""Which normalization made y of x: every candidate is fitted to the numbers, and all that fit are told.

y = γ x̂ + β, where x̂ is the candidate's at an unknown ε, and γ and β are missing, or there is one for each channel, or
one for each of the elements that share a statistic. An explanation with fewer learned numbers goes before one with
more. Candidates that explain y equally well are named together: which of them it was, these numbers cannot tell. So
are those that compute the same from the arrays in another layout, or with any γ and β.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, log10, prod
from typing import NamedTuple

import numpy as np

from normviz.core.equality import behaviour
from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, OWN, Shape, divisors
from normviz.core.layouts import LAYOUTS, check_layout, to_tensor
from normviz.core.normalize import Normalized, normalize, quiet, reduce
from normviz.core.schemes import SCHEMES, Scheme, get_scheme
from normviz.core.text import spoken
from normviz.core.tolerances import ANSWER, ROUNDING
from normviz.data.files import looks_channels_first
from normviz.describe.wording import shape_words
from normviz.readings.precision import losses, precision
from normviz.readings.readings import READINGS

MAX_ELEMENTS = 2**16
"""The largest arrays that are looked at: some hundred fits are tried."""

EPS = (1e-3, 1e-4, 1e-5, 1e-6, 1e-8, 1e-12, 0.0)
"""The ε that are tried, the largest first."""

MOST_GROUPS = 32
"""Group norm is tried with up to so many groups."""

BLURRED = 0.1
"""Elements of which rounding may have taken this part are not looked at."""

SURE = 9
"""So many decimal digits of y must be explained, beyond what fitted numbers explain by themselves."""

AFFINE = {"batch", "none"}
"""With a γ and a β for each channel these are any factor and any shift of a channel."""

NOTHING, EPS_ALONE, CHANNELS, ELEMENTS = range(4)
"""What is fitted, the simplest first: nothing but one of `EPS`; any ε; γ and β by channel; γ and β by element."""


@dataclass(frozen=True)
class Fit:
    """How well a candidate explains y.

    Attributes:
        schemes: what it is; several where they compute the same on this shape.
        layout: what the axes of the arrays were taken for.
        level: what was fitted, of `NOTHING` to `ELEMENTS`.
        along: the axes along which γ and β were fitted.
        eps: those ε with which it fits, or the one with which it fits best.
        residual: the largest |y − γ x̂ − β| over the largest |y|.
        fits: whether that is no more than rounding.
        told: whether that says anything: with too few numbers, anything fits.
        gain, bias: whether γ is other than 1, β other than 0.
    """

    schemes: tuple[Scheme, ...]
    layout: str
    level: int = NOTHING
    along: tuple[str, ...] = ()
    eps: tuple[float, ...] = ()
    residual: float = inf
    fits: bool = False
    told: bool = True
    gain: bool = False
    bias: bool = False

    @property
    def scheme(self) -> Scheme:
        """The first of those that compute the same."""
        return self.schemes[0]

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes of the array in which elements share a statistic."""
        field = self.scheme.field
        rules = (OWN,) * 4 if field is None else field.rules
        return tuple(k for k, axis in enumerate(LAYOUTS[self.layout]) if rules[axis] != OWN)


@dataclass(frozen=True)
class Detection:
    """What made y of x.

    Attributes:
        fits: every candidate, in every layout that was tried.
        constant: y is the same number, or one for each channel, whatever x is.
        shapes: of the tensors (N, H, W, C), by layout.
    """

    fits: tuple[Fit, ...]
    constant: bool
    shapes: dict[str, Shape]

    @cached_property
    def answer(self) -> tuple[Fit, ...]:
        """The simplest explanations, and what they cannot be told from; none where nothing fits, or y is constant."""
        good = [] if self.constant else [fit for fit in self.fits if fit.fits and fit.told]
        simplest = min((fit.level for fit in good), default=NOTHING)
        found = [fit for fit in good if fit.level == simplest]
        computed = {self.computed(fit) for fit in found}
        found = [fit for fit in good if fit in found or self.computed(fit) in computed]
        hidden = [fit for fit in self.fits if any(self._hides(each, fit) for each in found)]
        return (*found, *(replace(fit, level=CHANNELS, along=("C",)) for fit in hidden if fit not in found))

    def computed(self, fit: Fit) -> tuple[object, ...]:
        """Along what γ and β were fitted, what is averaged and what divides: in axes longer than 1, of any layout."""
        shape, axes = self.shapes[fit.layout], LAYOUTS[fit.layout]
        long = [(k, axis) for k, axis in enumerate(axes) if shape[axis] > 1]
        fields = (fit.scheme.summation, fit.scheme.suppression)
        rules = [field and [(k, field.rules[axis]) for k, axis in long] for field in fields]
        over = (each and tuple((k, rule) for k, rule in each if rule != OWN) for each in rules)
        return tuple(k for k, axis in long if AXES["activation"][axis] in fit.along), *over

    def _hides(self, fit: Fit, other: Fit) -> bool:
        """Whether a γ and a β for each channel make one candidate the other, or may where rounding hides the other.

        Batch norm then is any factor and shift for each channel. Of an x whose spread is small beside its mean, RMS
        norm leaves what layer norm does, but for γ and β.
        """
        if fit.level != CHANNELS or fit.layout != other.layout:
            return False
        keys, others = ({scheme.key for scheme in each.schemes} for each in (fit, other))
        if keys & AFFINE and others & AFFINE:
            return True
        divides, also = self.computed(fit)[-1], self.computed(other)[-1]
        return not other.told and "rms" in keys ^ others and divides == also != ()

    @property
    def told(self) -> bool:
        """Whether there is one answer: one scheme, or several that compute the same on this shape."""
        return len({(fit.axes, fit.schemes) for fit in self.answer}) == 1


def detect(x: np.ndarray, y: np.ndarray, layout: str | None = None) -> Detection:
    """Which normalization made y of x.

    Args:
        x, y: input and output, arrays of one shape with two to four axes.
        layout: a key of `LAYOUTS`; None: each that has as many axes is tried.

    Raises:
        InvalidInput: arrays that are too large, of two shapes, or not of finite real numbers, or another layout's.
    """
    check_arrays(x, y)
    fitting = [name for name, axes in LAYOUTS.items() if len(axes) == x.ndim]
    if looks_channels_first(x.shape):
        fitting.reverse()  # the likelier one is told first
    if layout is not None:
        check_layout(layout)
        if layout not in fitting:
            raise InvalidInput(f"the arrays have {x.ndim} axes; {layout} has {len(LAYOUTS[layout])}.")
        fitting = [layout]
    name = precision(y)
    tensors = {each: (to_tensor(x.astype(float), each), to_tensor(y.astype(float), each)) for each in fitting}
    fits = (_fits(*pair, each, name) for each, pair in tensors.items())
    constant = any(_is_constant(pair[1], name) for pair in tensors.values())
    return Detection(tuple(fit for some in fits for fit in some), constant, {k: p[0].shape for k, p in tensors.items()})


def check_arrays(x: np.ndarray, y: np.ndarray) -> None:
    """Raise InvalidInput for what cannot be an input and its output."""
    for name, array in (("x", x), ("y", y)):
        if array.dtype.kind not in "fiub":
            raise InvalidInput(f"{name} holds {array.dtype} values; real numbers are needed.")
        if not 2 <= array.ndim <= 4:
            ways = spoken([f"({', '.join(each)})" for each in LAYOUTS])
            raise InvalidInput(f"{name} has {array.ndim} axes; {ways} are looked at.")
        if not array.size:
            raise InvalidInput(f"{name} has the shape {array.shape}; every axis needs at least one element.")
        if array.size > MAX_ELEMENTS:
            raise InvalidInput(f"{name} has {array.size:,} elements; up to {MAX_ELEMENTS:,} are looked at.")
        with np.errstate(over="ignore"):
            strange = int(np.sum(~np.isfinite(array.astype(float))))
        if strange:
            raise InvalidInput(f"{name} holds {strange:,} NaN or infinite values; finite ones are needed.")
    if x.shape != y.shape:
        shapes = f"x is {shape_words(x.shape)}, y is {shape_words(y.shape)}"
        turned = sorted(x.shape) == sorted(y.shape)
        raise InvalidInput(f"{shapes}; {'bring both into one layout' if turned else 'both need one shape'}.")


def candidates(shape: Shape) -> list[tuple[Scheme, ...]]:
    """What it may have been: those that compute the same on this shape together, layer norm's readings first."""
    keys = (*READINGS, "instance", "batch", "rms", "none")
    groups = [get_scheme("group", groups=g) for g in divisors(shape[3])[1:-1] if g <= MOST_GROUPS]
    found: dict[object, list[Scheme]] = {}
    for scheme in (*(SCHEMES[key] for key in keys[:-2]), *groups, *(SCHEMES[key] for key in keys[-2:])):
        found.setdefault(behaviour(scheme, shape), []).append(scheme)
    return [tuple(each) for each in found.values()]


class Trial(NamedTuple):
    """A candidate's x̂ at one ε, and how far each element may be off for a size of 1."""

    eps: float
    xhat: np.ndarray
    lost: np.ndarray


class Outcome(NamedTuple):
    """What came of one ε: how y is explained, and how well."""

    eps: float
    residual: float
    fits: bool
    told: bool
    gain: bool = False
    bias: bool = False


def _fits(x: np.ndarray, y: np.ndarray, layout: str, name: str) -> Iterator[Fit]:
    """Every candidate with the simplest explanation that fits, or the nearest one."""
    for schemes in candidates(x.shape):
        trials = [_trial(x, schemes[0], eps, name) for eps in (EPS if schemes[0].suppression else (0.0,))]
        tried = list(_tried(x, y, schemes, layout, trials, name))
        good = (fit for fit in tried if fit.fits and fit.told)
        yield next(good, None) or min(tried, key=lambda fit: (fit.told, fit.residual))


def _tried(
    x: np.ndarray, y: np.ndarray, schemes: tuple[Scheme, ...], layout: str, trials: list[Trial], name: str
) -> Iterator[Fit]:
    """The explanations by one candidate, the simplest first."""
    yield _best([_without(y, each) for each in trials], schemes, layout, NOTHING, ())
    eps = _estimate(x, y, schemes[0])
    if eps is not None:
        yield _best([_without(y, _trial(x, schemes[0], eps, name), 1)], schemes, layout, EPS_ALONE, ())
    yield _best([_with(y, each, ("C",)) for each in trials], schemes, layout, CHANNELS, ("C",))
    for along in dict.fromkeys(_elements(scheme) for scheme in schemes):
        if along not in ((), ("C",)):
            yield _best([_with(y, each, along) for each in trials], schemes, layout, ELEMENTS, along)


def _elements(scheme: Scheme) -> tuple[str, ...]:
    """The axes of γ and β where there is one for each of the elements that share a statistic."""
    if scheme.key not in READINGS or scheme.field is None:
        return ()
    return tuple(axis for axis, rule in zip(scheme.axes, scheme.field.rules, strict=True) if rule != OWN)


def _best(outcomes: list[Outcome], schemes: tuple[Scheme, ...], layout: str, level: int, along: tuple[str, ...]) -> Fit:
    """The ε that fit, with the best of them; where none does, the nearest."""
    best = min(outcomes, key=lambda each: (not (each.fits and each.told), each.residual))
    good = [each.eps for each in outcomes if each.fits and each.told] or [best.eps]
    eps = tuple(good) if schemes[0].suppression else ()
    return Fit(schemes, layout, level, along, eps, *best[1:])


def _trial(x: np.ndarray, scheme: Scheme, eps: float, name: str) -> Trial:
    result: Normalized = normalize(x, scheme, eps)
    return Trial(eps, result.xhat, losses(x, result, scheme, name))


def _without(y: np.ndarray, trial: Trial, fitted: int = 0) -> Outcome:
    """y = x̂, after `fitted` numbers were chosen by y."""
    allowed = trial.lost * (np.abs(trial.xhat) + 1)
    clear = trial.lost < BLURRED
    return _judged(y, trial.xhat, allowed, clear, trial.eps, int(clear.sum()) - fitted)


@quiet
def _with(y: np.ndarray, trial: Trial, along: tuple[str, ...]) -> Outcome:
    """y = γ x̂ + β, with γ and β along some axes, by least squares in which each element counts as it is exact."""
    over = tuple(k for k, axis in enumerate(AXES["activation"]) if axis not in along)
    clear = trial.lost < BLURRED
    weight = np.where(clear, 1 / (trial.lost * (np.abs(trial.xhat) + 1)) ** 2, 0.0)
    total = np.maximum(weight.sum(over, keepdims=True), np.finfo(float).tiny)

    def mean(values: np.ndarray) -> np.ndarray:
        return (weight * values).sum(over, keepdims=True) / total

    centre, level = mean(trial.xhat), mean(y)
    spread_out = mean((trial.xhat - centre) ** 2)
    count = clear.sum(over, keepdims=True)
    known = spread_out * total > 25 * np.maximum(count, 1)  # x̂ varies by five times what it may be off
    gain = np.where(known, mean((trial.xhat - centre) * (y - level)) / np.where(known, spread_out, 1), 0.0)
    bias = level - gain * centre
    allowed = 2 * trial.lost * (np.abs(gain) * (np.abs(trial.xhat) + 1) + np.abs(bias))
    free = int(np.where(known, np.maximum(count - 2, 0), 0).sum())  # where x̂ stands still, anything fits
    found = _judged(y, gain * trial.xhat + bias, allowed, clear & known, trial.eps, free)
    noise = 8 * float(np.median(trial.lost))
    has_gain = bool(np.any(known & (np.abs(gain - 1) > noise)))
    has_bias = bool(np.any(known & (np.abs(bias) > noise * np.maximum(np.abs(gain), 1))))
    return Outcome(*found[:4], has_gain, has_bias)


def _judged(
    y: np.ndarray, fitted: np.ndarray, allowed: np.ndarray, clear: np.ndarray, eps: float, free: int
) -> Outcome:
    """Whether y is what was fitted, to rounding, and whether that can be told from so many numbers.

    `clear`: the elements that are looked at; `free`: how many numbers of y are explained beyond those that were fitted.
    """
    apart, largest = np.abs(y - fitted), float(np.abs(y).max())
    if not clear.any():
        return Outcome(eps, inf, False, False)
    residual = float(apart[clear].max()) / (largest or 1.0)
    digits = -log10(min(max(float(np.median(allowed[clear])) / (largest or 1.0), 1e-16), 1.0))
    return Outcome(eps, residual, bool(np.all(apart[clear] <= allowed[clear])), free * digits >= SURE)


@quiet
def _estimate(x: np.ndarray, y: np.ndarray, scheme: Scheme) -> float | None:
    """ε of y = x̂, by the field of the smallest variance, as y is v times 1/√(σ² + ε) in each.

    None where there is nothing to tell it by: a single field, or fields of one variance.
    """
    field = scheme.suppression
    if field is None or prod(field.statistics_shape(x.shape)) < 2:
        return None
    result = normalize(x, scheme, 0.0)
    square = np.asarray(result.deviation) ** 2
    with np.errstate(divide="ignore"):
        slope = reduce(result.v * y, field, np.mean) / square
        found = np.where((square > 0) & (slope > 0), 1 / slope**2 - square, np.nan)
    if not np.isfinite(found).any():
        return None
    at = np.nanargmin(np.where(np.isfinite(found), square, np.nan))
    eps = float(found.flat[at])
    spread_of = (square.max() + eps) / (square.min() + eps)
    return eps if eps > 0 and spread_of > 1.01 else None


def _is_constant(y: np.ndarray, name: str) -> bool:
    """Whether y is, to rounding, one number, or one for each of several channels, whatever x is."""
    flat, off = y.reshape(-1, y.shape[-1]), ANSWER * ROUNDING[name] * np.abs(y).max()
    return bool(np.ptp(y) <= off or (len(flat) > 1 and np.all(np.ptp(flat, axis=0) <= off)))
