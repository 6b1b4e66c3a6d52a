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
from normviz.core.tolerances import ANSWER_ROUNDINGS, MACHINE_EPSILONS
from normviz.data.files import is_likely_channels_first
from normviz.describe.wording import format_shape
from normviz.topics.same.detection.candidates import is_affine, needs_missing_gain
from normviz.topics.same.detection.fitting import CHANNELS, NOTHING, CandidateFit, fit_candidates
from normviz.topics.same.detection.precision import find_precision

TRIED_LAYOUTS = (*ALL_LAYOUTS, "NDHWC", "NCDHW")
"""Layouts that are tried if none is given."""


@dataclass(frozen=True)
class Detection:
    """Result of the detector: the fits of all candidates, and the shapes (N, H, W, C), in every layout tried.

    y is `constant` if it is one number, or one for each channel, whatever x is.
    """

    fits: tuple[CandidateFit, ...]
    constant: bool
    shapes: dict[str, Shape]

    @cached_property
    def answer(self) -> tuple[CandidateFit, ...]:
        """The simplest fitting schemes and those indistinguishable from them; empty if none fits or y is constant.

        Schemes that fit with as few learned numbers are among them, even where the numbers cannot confirm them.
        """
        good = [] if self.constant else [fit for fit in self.fits if fit.fits and fit.is_decided]
        simplest = min((fit.level for fit in good), default=NOTHING)
        found = [fit for fit in good if fit.level == simplest]
        computed = {self.make_computation_key(fit) for fit in found}
        found = [fit for fit in good if fit in found or self.make_computation_key(fit) in computed]
        is_any_line = simplest == CHANNELS and any(is_affine(fit.schemes) for fit in found)
        most = NOTHING if is_any_line else simplest  # lines are several in any case
        equal = [fit for fit in self.fits if found and fit.fits and fit.level <= most and fit not in found]
        hidden = [fit for fit in self.fits if any(self._may_mimic(each, fit) for each in found)]
        others = (fit for fit in hidden if fit not in (*found, *equal))
        return (*found, *equal, *(replace(fit, level=CHANNELS, along=("C",)) for fit in others))

    def make_computation_key(self, fit: CandidateFit) -> tuple[object, ...]:
        """Return a key that is equal for fits with the same computation, in any layout of the arrays."""
        shape, axes = self.shapes[fit.layout], parse_layout(fit.layout).axes
        long = [(k, axis) for k, axis in enumerate(axes) if shape[axis] > 1]
        fields = (fit.scheme.summation, fit.scheme.suppression)
        rules = [field and [(k, field.rules[axis]) for k, axis in long] for field in fields]
        over = (each and tuple((k, rule) for k, rule in each if rule != OWN) for each in rules)
        learned = tuple(k for k, axis in long if AXES["activation"][axis] in fit.along)
        return fit.scheme.kind, learned, *over

    def _may_mimic(self, fit: CandidateFit, other: CandidateFit) -> bool:
        """Return True if y cannot distinguish two candidates, since γ and β for each channel may hide their difference.

        Affine schemes turn into each other, and into schemes that fit although the numbers do not show their division,
        as on a single example. If the spread of x is small beside its mean, a scheme without centring gives the x̂ of
        the scheme with centring, up to γ and β.
        """
        if fit.level != CHANNELS or fit.layout != other.layout:
            return False
        if is_affine(fit.schemes) and is_affine(other.schemes):
            return not (fit.gain and needs_missing_gain(other.schemes))
        if is_affine(fit.schemes) and other.fits and not other.is_decided:
            return other.level == CHANNELS and other.scheme.function is None
        divides, also = self.make_computation_key(fit)[-1], self.make_computation_key(other)[-1]
        centred = (fit.scheme.summation is None) != (other.scheme.summation is None)
        return not other.is_decided and centred and divides == also != ()

    @property
    def undecided_fits(self) -> tuple[CandidateFit, ...]:
        """The candidates that the numbers neither confirm nor exclude."""
        return () if self.constant else tuple(fit for fit in self.fits if not fit.is_decided)

    @property
    def is_unique(self) -> bool:
        """True if there is one answer: one scheme, or several that compute the same on this shape."""
        return len({(fit.axes, tuple((each.key, each.fields) for each in fit.schemes)) for fit in self.answer}) == 1

    @property
    def is_one_computation(self) -> bool:
        """True if all answers, each read in its own layout, are the same computation on the arrays."""
        return len({self.make_computation_key(fit) for fit in self.answer}) == 1


def detect_normalization(x: np.ndarray, y: np.ndarray, layout: str | None = None) -> Detection:
    """Detect which normalization computes y from x, arrays of one shape in a layout that `parse_layout` reads.

    Without a layout, `TRIED_LAYOUTS` with as many axes are tried.

    Raises:
        InvalidInput: arrays of two shapes, not finite real numbers, or not in the layout.
    """
    check_detector_arrays(x, y)
    layouts = [name for name in TRIED_LAYOUTS if len(name) == x.ndim] if layout is None else [layout]
    if not layouts:
        raise InvalidInput(f"the arrays have {x.ndim} axes; name them: layout='NCHW', or one letter per axis.")
    if is_likely_channels_first(x.shape):
        layouts.reverse()  # the likelier layout comes first
    name = find_precision(y)
    tensors = {each: (parse_layout(each).to_tensor(x), parse_layout(each).to_tensor(y)) for each in layouts}
    fits = (fit_candidates(*pair, each, name) for each, pair in tensors.items())
    constant = any(_is_constant(pair[1], name) for pair in tensors.values())
    return Detection(tuple(fit for some in fits for fit in some), constant, {k: p[0].shape for k, p in tensors.items()})


def check_detector_arrays(x: np.ndarray, y: np.ndarray) -> None:
    """Raise InvalidInput for arrays that cannot be a layer's input and output."""
    for name, array in (("x", x), ("y", y)):
        if array.dtype.kind not in "fiub":
            raise InvalidInput(f"{name} holds {array.dtype} values; real numbers are needed.")
        if not array.size:
            raise InvalidInput(f"{name} has the shape {array.shape}; every axis needs at least one element.")
        with np.errstate(over="ignore"):
            strange = int(np.sum(~np.isfinite(array.astype(float))))
        if strange:
            raise InvalidInput(f"{name} holds {strange:,} NaN or infinite values; finite ones are needed.")
    if x.shape != y.shape:
        shapes = f"x is {format_shape(x.shape)}, y is {format_shape(y.shape)}"
        turned = sorted(x.shape) == sorted(y.shape)
        raise InvalidInput(f"{shapes}; {'bring both into one layout' if turned else 'both need one shape'}.")


def _is_constant(y: np.ndarray, name: str) -> bool:
    """Return True if y is constant up to rounding, in all or within each channel; `name`: the dtype y is rounded to."""
    y = y.astype(float, copy=False)
    flat, off = y.reshape(-1, y.shape[-1]), ANSWER_ROUNDINGS * MACHINE_EPSILONS[name] * np.abs(y).max()
    return bool(np.ptp(y) <= off or (len(flat) > 1 and np.all(np.ptp(flat, axis=0) <= off)))
