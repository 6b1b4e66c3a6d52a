"""Detector of the normalization between two arrays x and y: fits every candidate and returns all that fit.

The model is y = γ x̂ + β with an unknown ε. γ and β are absent, or one for each channel, or one for each of the elements
that share a statistic. Explanations with fewer learned numbers are preferred. Candidates that explain y equally well
are returned together, also those that compute the same from the arrays in another layout, or with any γ and β.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, OWN, Shape
from normviz.core.layouts import ALL_LAYOUTS, parse_layout
from normviz.core.text import join_words
from normviz.core.tolerances import ANSWER_ROUNDINGS, MACHINE_EPSILONS
from normviz.data.files import is_likely_channels_first
from normviz.describe.wording import format_shape
from normviz.topics.same.detection.candidates import is_affine, is_changed_by_gain
from normviz.topics.same.detection.fitting import CHANNELS, NOTHING, CandidateFit, fit_candidates
from normviz.topics.same.detection.precision import find_precision

MAX_ELEMENTS = 2**16
"""Most elements of an array: the detector tries some hundred fits."""


@dataclass(frozen=True)
class Detection:
    """Result of the detector: which normalization computes y from x.

    Attributes:
        fits: the fits of all candidates, in every layout tried.
        constant: True if y is one number, or one for each channel, whatever x is.
        shapes: shapes of the tensors (N, H, W, C), by layout.
    """

    fits: tuple[CandidateFit, ...]
    constant: bool
    shapes: dict[str, Shape]

    @cached_property
    def answer(self) -> tuple[CandidateFit, ...]:
        """The simplest fitting schemes and those indistinguishable from them; empty if none fits or y is constant."""
        good = [] if self.constant else [fit for fit in self.fits if fit.fits and fit.is_decided]
        simplest = min((fit.level for fit in good), default=NOTHING)
        found = [fit for fit in good if fit.level == simplest]
        computed = {self.make_computation_key(fit) for fit in found}
        found = [fit for fit in good if fit in found or self.make_computation_key(fit) in computed]
        hidden = [fit for fit in self.fits if any(self._may_mimic(each, fit) for each in found)]
        return (*found, *(replace(fit, level=CHANNELS, along=("C",)) for fit in hidden if fit not in found))

    def make_computation_key(self, fit: CandidateFit) -> tuple[object, ...]:
        """Return a key that is equal for fits with the same computation, in any layout of the arrays."""
        shape, axes = self.shapes[fit.layout], ALL_LAYOUTS[fit.layout]
        long = [(k, axis) for k, axis in enumerate(axes) if shape[axis] > 1]
        fields = (fit.scheme.summation, fit.scheme.suppression)
        rules = [field and [(k, field.rules[axis]) for k, axis in long] for field in fields]
        over = (each and tuple((k, rule) for k, rule in each if rule != OWN) for each in rules)
        learned = tuple(k for k, axis in long if AXES["activation"][axis] in fit.along)
        return fit.scheme.kind, learned, *over

    def _may_mimic(self, fit: CandidateFit, other: CandidateFit) -> bool:
        """Return True if a γ and a β for each channel may make one candidate look like the other.

        Affine schemes turn into each other, and into schemes that fit although the numbers do not show their division,
        as on a single example. If the spread of x is small beside its mean, a scheme without centring gives the x̂ of
        the scheme with centring, up to γ and β.
        """
        if fit.level != CHANNELS or fit.layout != other.layout:
            return False
        if is_affine(fit.schemes) and is_affine(other.schemes):
            return not (fit.gain and is_changed_by_gain(other.schemes))
        if is_affine(fit.schemes) and other.fits and not other.is_decided:
            return other.level == CHANNELS and other.scheme.function is None
        divides, also = self.make_computation_key(fit)[-1], self.make_computation_key(other)[-1]
        centred = (fit.scheme.summation is None) != (other.scheme.summation is None)
        return not other.is_decided and centred and divides == also != ()

    @property
    def is_unique(self) -> bool:
        """True if there is one answer: one scheme, or several that compute the same on this shape."""
        return len({(fit.axes, tuple((each.key, each.fields) for each in fit.schemes)) for fit in self.answer}) == 1

    @property
    def is_one_computation(self) -> bool:
        """True if all answers compute the same from the arrays, each in its own layout."""
        return len({self.make_computation_key(fit) for fit in self.answer}) == 1


def detect_normalization(x: np.ndarray, y: np.ndarray, layout: str | None = None) -> Detection:
    """Detect which normalization computes y from x.

    Args:
        x, y: input and output, arrays of one shape with two to four axes.
        layout: a key of `ALL_LAYOUTS`; None tries every layout with as many axes.

    Raises:
        InvalidInput: arrays too large, of two shapes, not finite real numbers, or not in the layout.
    """
    check_detector_arrays(x, y)
    fitting = [name for name, axes in ALL_LAYOUTS.items() if len(axes) == x.ndim]
    if is_likely_channels_first(x.shape):
        fitting.reverse()  # the likelier layout comes first
    if layout is not None:
        if layout not in ALL_LAYOUTS:
            raise InvalidInput(f"{layout!r} is not a layout; {', '.join(ALL_LAYOUTS)} are.")
        if layout not in fitting:
            raise InvalidInput(f"the arrays have {x.ndim} axes; {layout} has {len(ALL_LAYOUTS[layout])}.")
        fitting = [layout]
    name = find_precision(y)
    tensors = {
        each: (parse_layout(each).to_tensor(x.astype(float)), parse_layout(each).to_tensor(y.astype(float)))
        for each in fitting
    }
    fits = (fit_candidates(*pair, each, name) for each, pair in tensors.items())
    constant = any(_is_constant(pair[1], name) for pair in tensors.values())
    return Detection(tuple(fit for some in fits for fit in some), constant, {k: p[0].shape for k, p in tensors.items()})


def check_detector_arrays(x: np.ndarray, y: np.ndarray) -> None:
    """Raise InvalidInput for arrays that cannot be a layer's input and output."""
    for name, array in (("x", x), ("y", y)):
        if array.dtype.kind not in "fiub":
            raise InvalidInput(f"{name} holds {array.dtype} values; real numbers are needed.")
        if not 2 <= array.ndim <= 4:
            ways = join_words([f"({', '.join(each)})" for each in ALL_LAYOUTS])
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
        shapes = f"x is {format_shape(x.shape)}, y is {format_shape(y.shape)}"
        turned = sorted(x.shape) == sorted(y.shape)
        raise InvalidInput(f"{shapes}; {'bring both into one layout' if turned else 'both need one shape'}.")


def _is_constant(y: np.ndarray, name: str) -> bool:
    """Return True if y is, up to rounding, one number, or one for each of several channels."""
    flat, off = y.reshape(-1, y.shape[-1]), ANSWER_ROUNDINGS * MACHINE_EPSILONS[name] * np.abs(y).max()
    return bool(np.ptp(y) <= off or (len(flat) > 1 and np.all(np.ptp(flat, axis=0) <= off)))
