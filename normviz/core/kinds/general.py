"""The general form: x̂ = scale · v / sqrt(ε + E_B[v²]), or x̂ = v without a suppression field.

    ∂L/∂v = g/σ - v · E_Bᵀ[g·v/σ³]        with σ² = ε + E_B[v²], g = ∂L/∂x̂

Nothing is divided by σ³: g·v/σ³ is (g·x̂)/σ², of which a power of the largest 1/σ in a window is taken out first. So
1e20 and 1e-20 neither overflow nor vanish in float32. Where x̂ is 0/0, its derivative is 0, as x̂ itself is.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from array_api_compat import array_namespace

from normviz.core.arrays import Array
from normviz.core.fields import Field
from normviz.core.kinds.base import Kind, NormalizationResult
from normviz.core.reductions import (
    average_windows,
    broadcast_statistic,
    compute_rms,
    count_elements,
    divide_by_divisor,
    gather_windows,
    invert_deviation,
    reduce_boxes,
    reshape_along_axis,
    sum_over_intersection,
)

if TYPE_CHECKING:
    from normviz.core.scheme import Scheme


@dataclass(frozen=True)
class GeneralKind(Kind):
    """The kind of schemes that divide by the root mean square over a field, or do not divide at all."""

    key: ClassVar[str] = "general"

    def normalize(self, scheme: "Scheme", v: Array, eps: float) -> tuple[Array | None, Array]:
        if scheme.suppression is None:
            return None, v
        deviation = compute_rms(v, scheme.suppression, eps)
        xhat = divide_by_divisor(v, broadcast_statistic(deviation, v.shape))
        return deviation, xhat * scheme.compute_scale(v.shape[-4:])

    def backpropagate(
        self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float
    ) -> tuple[Array, Array | None]:
        return (g, None) if scheme.suppression is None else _differentiate_division(g, result, scheme.suppression)

    def compute_diagonal(self, scheme: "Scheme", result: NormalizationResult, kept: Array, eps: float) -> Array:
        summation, suppression, v = scheme.summation, scheme.suppression, result.v
        if suppression is None or result.deviation is None:
            return kept
        shape = tuple(v.shape[-4:])
        inverse = broadcast_statistic(invert_deviation(result.deviation), v.shape)
        unit = v * inverse
        through = unit  # Σ_j b_ij v_j ∂v_j/∂x_i, over σ and times the number of elements in B
        if summation is not None:
            both = v / count_elements(summation, shape, v)
            through = unit - sum_over_intersection(both, summation, suppression, shape) * inverse
        return (kept - unit * through / count_elements(suppression, shape, v)) * inverse

    def compute_steepest_slope(self, scheme: "Scheme", result: NormalizationResult, eps: float) -> Array:
        if scheme.suppression is None:
            return array_namespace(result.v).ones((1,) * 4)
        return broadcast_statistic(invert_deviation(result.deviation), result.v.shape)

    def find_averaging_fields(self, scheme: "Scheme") -> tuple[Field | None, Field | None]:
        return scheme.summation, scheme.suppression


def _differentiate_division(g: Array, result: NormalizationResult, field: Field) -> tuple[Array, Array]:
    """Compute ∂L/∂v = g/σ - v · E_Bᵀ[g·v/σ³] and ∂L/∂ε = -½ Σ g·v/σ³."""
    xp = array_namespace(g)
    largest = invert_deviation(result.deviation)
    inverse = broadcast_statistic(largest, g.shape)
    along = g * (result.v * inverse)
    deps = -0.5 * xp.sum(along * inverse * inverse, axis=tuple(range(-4, 0)))
    total = reduce_boxes(along, field.with_own_windows, xp.mean)
    for axis, rule in field.windowed_axes:  # Σ over a window of (1/σ)² · along, in units of the window's largest (1/σ)²
        sizes = reshape_along_axis(np.diff(rule.compute_bounds(g.shape[axis]))[:, 0], axis, g)
        near = gather_windows(largest, rule, axis)
        most = xp.max(near, axis=axis, keepdims=True)
        share = near / xp.where(most == 0, xp.ones_like(most), most)
        total = average_windows(gather_windows(total / sizes, rule, axis) * share * share, rule, axis) * sizes
        largest = xp.squeeze(most, axis=axis)
    largest = broadcast_statistic(largest, g.shape)
    return g * inverse - (result.v * largest) * (broadcast_statistic(total, g.shape) * largest), deps


GENERAL = GeneralKind()
"""The kind of most schemes."""
