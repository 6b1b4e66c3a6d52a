"""Bounds of the rounding errors of an output, from the numbers alone."""

import numpy as np

from normviz.core.normalize import ignore_float_warnings
from normviz.core.reductions import broadcast_statistic, reduce_boxes
from normviz.core.registry import Scheme
from normviz.core.tolerances import ANSWER_ROUNDINGS, MACHINE_EPSILONS

LAST_ROUNDINGS = 2
"""Roundings to the type of y; layers of PyTorch needed 1.5 at most (600 random layers)."""


def find_precision(y: np.ndarray) -> str:
    """Return the name of the smallest floating-point dtype that represents all values exactly, such as "bfloat16"."""
    with np.errstate(over="ignore"):
        single = y.astype(np.float32)
        if not np.array_equal(single, y):
            return "float64"
        if not np.any(np.ascontiguousarray(single).view(np.uint32) & 0xFFFF):
            return "bfloat16"
        return "float16" if np.array_equal(y, y.astype(np.float16)) else "float32"


def is_rounded(x: np.ndarray, dtype: str) -> bool:
    """Return True if the dtype of this name cannot represent all values of x exactly."""
    if dtype == "bfloat16":
        return find_precision(x) != dtype
    with np.errstate(over="ignore"):
        return not np.array_equal(x, x.astype(dtype))


class RoundingBounds:
    """Bounds of the relative rounding errors of one scheme's x̂, for an output stored as `dtype`.

    Half precision is computed in float32, as frameworks do. Rounding of x counts relative to √(σ² + ε), twice if the
    variance is a difference of squares.
    """

    def __init__(self, x: np.ndarray, scheme: Scheme, dtype: str) -> None:
        self.x, self.scheme = x, scheme
        self.last = MACHINE_EPSILONS[dtype]
        self.inner = MACHINE_EPSILONS["float64" if dtype == "float64" else "float32"]
        self.is_rounded = is_rounded(x, dtype)
        field = scheme.suppression
        self.largest = None if field is None else reduce_boxes(np.abs(x), field, np.max)
        self.summing = 1.0 if field is None else 1 + field.compute_sizes(x.shape).max() ** 0.5 / 16

    @ignore_float_warnings
    def compute_bounds(self, deviation: np.ndarray | None, is_square_difference: bool = True) -> np.ndarray:
        """Return each element's bound, larger if σ² `is_square_difference`, E[x²] − μ²; infinite if σ² and ε are 0.

        `deviation`: √(σ² + ε) in the shape of the statistics, or the smallest √(λ + ε) of a whitened group; None if
        nothing divides.
        """
        field = self.scheme.suppression
        if not self.scheme.has_effect:  # x itself: nothing is computed, and y is rounded once
            return np.full(self.x.shape, self.last * (2 if self.is_rounded else 1) + ANSWER_ROUNDINGS * self.inner)
        if field is None or deviation is None or self.largest is None:
            return np.full(self.x.shape, LAST_ROUNDINGS * self.last * (2 if self.is_rounded else 1) + self.inner)
        with np.errstate(divide="ignore"):
            beside = self.largest / deviation
        first = beside if self.is_rounded else 0.0
        once = self.scheme.summation is None or not is_square_difference
        inside = ANSWER_ROUNDINGS * (2 + beside) if once else np.maximum(2 + beside**2, ANSWER_ROUNDINGS * (2 + beside))
        found = LAST_ROUNDINGS * self.last * (1 + first) + self.inner * self.summing * inside
        found = np.where(np.isnan(found), np.inf, found)
        return np.broadcast_to(broadcast_statistic(found, self.x.shape), (*found.shape[:-4], *self.x.shape))
