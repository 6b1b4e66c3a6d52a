"""Statistics of a scheme on a tensor: their table, the steps of one element, its saturation."""

from math import inf
from typing import NamedTuple

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Field, Index
from normviz.core.kinds.base import Kind, NormalizationResult
from normviz.core.kinds.general import GENERAL
from normviz.core.normalize import ignore_float_warnings, normalize
from normviz.core.reductions import broadcast_statistic, centre, compute_rms
from normviz.core.registry import Scheme
from normviz.core.tolerances import get_relative_tolerance


class ElementSteps(NamedTuple):
    """Normalization of one element, step by step: x, mean, v, deviation, x̂ and y; None for steps that do not occur."""

    x: float
    mean: float | None
    v: float
    deviation: float | None
    xhat: float
    y: float


def compute_element_steps(x: np.ndarray, result: NormalizationResult, scheme: Scheme, index: Index) -> ElementSteps:
    """Return the steps that normalize the element at `index` of x, from the result of `normalize` on x."""

    def own(statistic: np.ndarray | None, field: Field | None) -> float | None:
        return (
            None if field is None or statistic is None else float(statistic[field.find_statistic_index(index, x.shape)])
        )

    return ElementSteps(
        x=float(x[index]),
        mean=own(result.mean, scheme.summation),
        v=float(result.v[index]),
        deviation=own(result.deviation, scheme.suppression),
        xhat=float(result.xhat[index]),
        y=float(result.y[index]),
    )


class SaturationCurve(NamedTuple):
    """x̂ of one element as a function of the contrast c, a factor of the whole tensor: c v / sqrt(ε + c² E_B[v²]).

    Far below the knee c = sqrt(ε / E_B[v²]) it is linear in c, with slope v/√ε; far above, it is saturated at
    v / sqrt(E_B[v²]). Source: Ren et al. 2017.

    Attributes:
        v: of the element at c = 1.
        root: sqrt(E_B[v²]) at c = 1.
        level: the value at which x̂ saturates.
        kind: the kind of the scheme, which adds ε to the divisor.
    """

    v: float
    root: float
    level: float
    kind: Kind = GENERAL

    @ignore_float_warnings
    def compute_response(self, contrasts: np.ndarray, eps: float) -> np.ndarray:
        """Compute x̂ at every contrast c > 0, an array of the shape of `contrasts`."""
        below = self.kind.add_eps(contrasts * self.root, eps)
        return self.level * (contrasts * self.root / np.where(below == 0, 1, below))

    def compute_knee(self, eps: float) -> float:
        """Return the contrast c at which ε = c² E_B[v²] and x̂ begins to saturate; infinite if v is 0 in the field."""
        return eps**0.5 / self.root if self.root else inf

    def compute_slope(self, eps: float) -> float:
        """Return the slope of x̂ in c far below the knee; infinite at ε = 0, where x̂ is always saturated."""
        return self.v / eps**0.5 if eps else inf


class SplitSaturationCurve(NamedTuple):
    """x̂ of one element as a function of the contrast: a sum of curves, under whitening one per eigenvector of Σ."""

    parts: tuple[SaturationCurve, ...]

    def compute_response(self, contrasts: np.ndarray, eps: float) -> np.ndarray:
        """Compute x̂ at every contrast c > 0, an array of the shape of `contrasts`."""
        return np.sum([part.compute_response(contrasts, eps) for part in self.parts], axis=0)


def compute_saturation(x: np.ndarray, scheme: Scheme, index: Index) -> SaturationCurve:
    """Compute how x̂ of an element depends on the contrast of x. Raises InvalidInput if the scheme does not divide."""
    alone = compute_element_steps(x, normalize(x, scheme, 0.0), scheme, index)
    if alone.deviation is None:
        raise InvalidInput(f"{scheme.name} does not divide, so nothing saturates; choose a scheme that does.")
    return SaturationCurve(alone.v, alone.deviation, alone.xhat)


def compute_split_saturation(x: np.ndarray, scheme: Scheme, index: Index) -> SplitSaturationCurve:
    """Compute x̂ of the element at `index` as a function of the contrast of x, for a scheme with a suppression field."""
    parts = scheme.kind.list_element_parts(scheme, normalize(x, scheme, 0.0), index)
    return SplitSaturationCurve(tuple(SaturationCurve(*part, scheme.kind) for part in parts))


def estimate_rounding(x: np.ndarray) -> float:
    """Estimate the rounding error of a mean of x: the tolerance of its type times its largest finite magnitude."""
    return get_relative_tolerance(x.dtype) * float(
        np.abs(x, where=np.isfinite(x), out=np.zeros(x.shape)).max(initial=0.0)
    )


def build_statistics_row_field(scheme: Scheme) -> Field:
    """Build the field of the elements that share both the mean and the divisor, a row of the statistics table."""
    first, last = scheme.fields[0], scheme.fields[-1]
    return Field(tuple(a if a == b else OWN for a, b in zip(first.rules, last.rules, strict=True)))


def compute_variance(x: np.ndarray, field: Field) -> np.ndarray:
    """Compute the variance E_B[x²] - E_B[x]² over a field, in the shape of the field's statistics."""
    # A variance does not depend on the mean, and loses fewer digits without it.
    v, _ = centre(x, field.with_full_windows)
    return np.maximum(compute_rms(v, field) ** 2 - centre(v, field)[1] ** 2, 0)


@ignore_float_warnings
def compute_covariances(v: np.ndarray) -> np.ndarray:
    """Compute E[v_c v_j] of all channels of the centred (N, H, W, C), as a (C, C) matrix."""
    rows = v.reshape(-1, v.shape[-1])
    return rows.T @ rows / len(rows)


@ignore_float_warnings
def build_statistics_table(x: np.ndarray, scheme: Scheme, result: NormalizationResult) -> dict[str, np.ndarray]:
    """Build a table of the statistics of x, one row each, as columns by name.

    Each statistic is a row. A column for each axis holds the index of the statistic along it (on a grouped axis, the
    number of the group); axes with a single statistic have no column. elements: how many share the divisor. mean: of x
    over the summation field, or over the suppression field where nothing is centred. variance, rms: of x over the
    suppression field. divisor: the divisor of v, sqrt(ε + E_B[v²]) in the general form. Without fields, an empty table.

    A scheme that whitens divides by a matrix and has no column "divisor"; its rows are those of the channels.
    """
    if not scheme.fields:
        return {}
    averaged, divided = scheme.fields[0], scheme.kind.find_divisor_field(scheme)
    counts = build_statistics_row_field(scheme).compute_statistics_shape(x.shape)
    first = np.ix_(*(np.arange(count) * n // count for count, n in zip(counts, x.shape, strict=True)))

    def rows(statistic: np.ndarray, field: Field) -> np.ndarray:
        return np.broadcast_to(broadcast_statistic(statistic, x.shape), x.shape)[first].reshape(-1)

    indices = zip(scheme.axes, np.indices(counts).reshape(4, -1), counts, strict=True)
    columns: dict[str, np.ndarray] = {axis: index for axis, index, count in indices if count > 1}
    columns["elements"] = divided.compute_sizes(x.shape)[first].reshape(-1)
    columns["mean"] = rows(centre(x, averaged)[1], averaged)
    columns["variance"] = rows(compute_variance(x, divided), divided)
    columns["rms"] = rows(compute_rms(x, divided), divided)
    if result.deviation is not None:
        columns["divisor"] = rows(result.deviation, divided) / scheme.compute_scale(x.shape)
    return columns
