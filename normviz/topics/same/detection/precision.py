"""Bounds of the rounding errors of an output, from the numbers alone."""

import numpy as np

from normviz.core.fields import CHANNEL_FIELD, Field
from normviz.core.kinds.whitening import compute_steepest_slope
from normviz.core.normalize import ignore_float_warnings
from normviz.core.reductions import broadcast_statistic, centre, reduce_boxes
from normviz.core.registry import Scheme
from normviz.core.tolerances import ANSWER_ROUNDINGS, MACHINE_EPSILONS


def find_precision(y: np.ndarray) -> str:
    """Return the name of the shortest floating-point type that holds all numbers of an array exactly."""
    with np.errstate(over="ignore"):
        single = y.astype(np.float32)
        if not np.array_equal(single, y):
            return "float64"
        if not np.any(np.ascontiguousarray(single).view(np.uint32) & 0xFFFF):
            return "bfloat16"
        return "float16" if np.array_equal(y, y.astype(np.float16)) else "float32"


def is_rounded(x: np.ndarray, dtype: str) -> bool:
    """Return True if the type of this name cannot hold all numbers of x."""
    if dtype == "bfloat16":
        return find_precision(x) != dtype
    with np.errstate(over="ignore"):
        return not np.array_equal(x, x.astype(dtype))


@ignore_float_warnings
def bound_rounding_errors(
    x: np.ndarray, deviation: np.ndarray | None, scheme: Scheme, dtype: str, eps: float = 0.0
) -> np.ndarray:
    """Bound the relative rounding error of each element of x̂, for an output of type `dtype`.

    Half precision is computed in float32, as frameworks do. Rounding of x counts beside the deviation, and twice if the
    variance is a difference of squares. Infinite if a field is constant and ε = 0.

    `deviation`: √(σ² + ε) in the shape of the statistics; None if nothing or a matrix divides.
    """
    last = MACHINE_EPSILONS[dtype]
    inner = MACHINE_EPSILONS["float64" if dtype == "float64" else "float32"]
    field = scheme.suppression
    if field is None:
        return np.full(x.shape, ANSWER_ROUNDINGS * (last * (2 if is_rounded(x, dtype) else 1) + inner))
    beside = (
        _compare_to_eigenvalue(x, scheme, field, eps)
        if deviation is None
        else _compare_to_deviation(x, deviation, field)
    )
    summing = 1 + field.compute_sizes(x.shape).max() ** 0.5 / 16
    squared = beside if scheme.summation is None else beside**2
    first = beside if is_rounded(x, dtype) else 0.0
    found = ANSWER_ROUNDINGS * (last * (1 + first) + inner * summing * (2 + squared))
    return np.broadcast_to(np.where(np.isnan(found), np.inf, found), x.shape)


def _compare_to_deviation(x: np.ndarray, deviation: np.ndarray, field: Field) -> np.ndarray:
    """Compute for every element the largest |x| among those that share its statistic, over their deviation."""
    with np.errstate(divide="ignore"):
        return broadcast_statistic(reduce_boxes(np.abs(x), field, np.max) / deviation, x.shape)


def _compare_to_eigenvalue(x: np.ndarray, scheme: Scheme, field: Field, eps: float) -> np.ndarray:
    """Compute the largest |x| of every element's field over the smallest √(λ + ε) of its whitened group."""
    v = centre(x, CHANNEL_FIELD)[0]
    least = compute_steepest_slope(v, scheme.count_matrices(x.shape), eps)
    return broadcast_statistic(reduce_boxes(np.abs(x), field, np.max) * least, x.shape)
