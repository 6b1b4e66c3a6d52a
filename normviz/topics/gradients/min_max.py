"""Min–max scaling in place of normalization, with its exact gradient."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from normviz.core.fields import Field
from normviz.core.reductions import apply_transposed_average, broadcast_statistic, reduce_boxes
from normviz.topics.gradients.homework import broadcast_mean


@dataclass(frozen=True)
class MinMaxScaling:
    """One variant of min–max scaling: x̂ = scale · (x − origin)/(max − min + ε) + shift.

    Attributes:
        x: the tensor.
        field: the elements whose smallest and largest value are used; without windows.
        eps: ε in the denominator.
        centred: True if the origin is the mean of the field, False if it is the smallest value.
        scale, shift: 1 and 0 for values in 0..1, 2 and −1 for values in −1..1.
    """

    x: np.ndarray
    field: Field
    eps: float
    centred: bool
    scale: float
    shift: float

    def _reduce_to_extreme(self, how: object) -> np.ndarray:
        """Return each field's smallest or largest value (`how`: np.min or np.max), copied to its elements."""
        return np.broadcast_to(broadcast_statistic(reduce_boxes(self.x, self.field, how), self.x.shape), self.x.shape)

    @property
    def xhat(self) -> np.ndarray:
        """The scaled tensor x̂."""
        low, high = self._reduce_to_extreme(np.min), self._reduce_to_extreme(np.max)
        origin = broadcast_mean(self.x, self.field) if self.centred else low
        return self.scale * (self.x - origin) / (high - low + self.eps) + self.shift

    def backward(self, g: np.ndarray) -> np.ndarray:
        """Return ∂L/∂x from g = ∂L/∂x̂: the sum of the direct path and those through the origin, minimum and maximum."""
        low, high = self._reduce_to_extreme(np.min), self._reduce_to_extreme(np.max)
        m = self.field.compute_sizes(self.x.shape)
        length = high - low + self.eps
        direct = self.scale * g / length
        of_length = -apply_transposed_average(g * (self.xhat - self.shift) / length, self.field) * m
        of_origin = -apply_transposed_average(direct, self.field) * m
        ends = np.where(self.x == high, of_length, 0.0) - np.where(self.x == low, of_length, 0.0)
        return direct + ends + (of_origin / m if self.centred else np.where(self.x == low, of_origin, 0.0))


def generate_min_max_variants(x: np.ndarray, field: Field, eps: float) -> Iterator[MinMaxScaling]:
    """Yield the usual variants, without ε and with it: to 0..1, to −1..1, and around the mean; none for windows."""
    if field.windowed_axes:
        return
    for added in dict.fromkeys((0.0, eps)):
        yield MinMaxScaling(x, field, added, False, 1.0, 0.0)
        yield MinMaxScaling(x, field, added, False, 2.0, -1.0)
        yield MinMaxScaling(x, field, added, True, 1.0, 0.0)
