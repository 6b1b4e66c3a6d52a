"""The interface of a kind of scheme: what it computes from the centred tensor v, and its derivative."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from normviz.core.arrays import Array
from normviz.core.fields import MAX_WINDOW_ELEMENTS, Field, Index, Shape

if TYPE_CHECKING:
    from normviz.core.scheme import Scheme


class NormalizationResult(NamedTuple):
    """The steps of the general form; statistics have the shape of the field's statistics.

    Attributes:
        mean: E_A[x]; None without centring.
        v: the centred tensor.
        deviation: sqrt(ε + E_B[v²]), or the largest singular value; None if nothing or a matrix divides.
        xhat: the normalized tensor x̂.
        y: γ x̂ + β.
    """

    mean: Array | None
    v: Array
    deviation: Array | None
    xhat: Array
    y: Array


@dataclass(frozen=True)
class Kind:
    """Computation of x̂ from the centred tensor v, shared by several schemes, which add fields, ε and parameters.

    Attributes:
        key: the name under which other layers register what they need for this kind.
        statistic: the name of the statistic that divides.
        decomposes: True if x̂ takes a matrix decomposition.
        has_eps: True if ε stands beside the statistic that divides.
        usual_max: a value of x̂ above which few are; None if it depends on x.
        function: the name of the function that every element passes by itself; None for kinds with statistics.
    """

    key: ClassVar[str]
    statistic: ClassVar[str] = "mean square"
    decomposes: ClassVar[bool] = False
    has_eps: ClassVar[bool] = True
    usual_max: ClassVar[float | None] = 3.0
    function: str | None = None

    def normalize(self, scheme: "Scheme", v: Array, eps: float) -> tuple[Array | None, Array]:
        """Compute the divisor and x̂ from v; the divisor is None if nothing divides, or a matrix does."""
        raise NotImplementedError

    def backpropagate(
        self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float
    ) -> tuple[Array, Array | None]:
        """Return ∂L/∂v and ∂L/∂ε (None without ε), from g = ∂L/∂x̂ times the scheme's scale."""
        raise NotImplementedError

    def compute_diagonal(self, scheme: "Scheme", result: NormalizationResult, kept: Array, eps: float) -> Array:
        """Compute ∂x̂_i/∂x_i of every element, without the scheme's scale, from kept = ∂v_i/∂x_i."""
        raise NotImplementedError

    def compute_steepest_slope(self, scheme: "Scheme", result: NormalizationResult, eps: float) -> Array:
        """Compute the largest ∂x̂/∂v at constant statistics, 1/σ without the scale; it broadcasts against v."""
        raise NotImplementedError

    def backpropagate_frozen(self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float) -> Array:
        """Return ∂L/∂v of the forward `result` from g = ∂L/∂x̂, as if statistics were constants, without the scale."""
        return g * self.compute_steepest_slope(scheme, result, eps)

    def add_eps(self, deviation: Array, eps: float) -> Array:
        """Compute the divisor at ε from the divisor at ε = 0."""
        return np.hypot(deviation, eps**0.5)

    def list_element_parts(
        self, scheme: "Scheme", result: NormalizationResult, index: Index
    ) -> list[tuple[float, float, float]]:
        """Return (v, divisor, x̂) of an element at ε = 0; under whitening, of its part along each eigenvector of Σ."""
        assert scheme.suppression is not None
        assert result.deviation is not None
        deviation = result.deviation[scheme.suppression.find_statistic_index(index, result.v.shape)]
        return [(float(result.v[index]), float(deviation), float(result.xhat[index]))]

    def check(self, scheme: "Scheme", shape: Shape, max_elements: int = MAX_WINDOW_ELEMENTS) -> None:
        """Raise InvalidInput if the fields do not fit the shape (`Field.check`) or this kind."""
        for field in scheme.fields:
            field.check(shape, scheme.axes, max_elements)

    def simplify(self, summation: Field | None, suppression: Field | None) -> "Kind":
        """Return the simplest kind that computes the same x̂ as this one with these fields, simplified before."""
        return self

    def count_covariances(self, scheme: "Scheme", shape: Shape) -> int:
        """Return the number of channel groups that are whitened, each by a covariance matrix; 0 for other kinds."""
        return 0

    def list_dependence_fields(self, scheme: "Scheme") -> tuple[Field, ...]:
        """Return the fields whose elements x influence an element of x̂, without fields inside others."""
        return scheme.fields

    def count_terms(self, scheme: "Scheme", shape: Shape) -> int:
        """Return the number of elements of v that are added up, with weights, in one element of x̂."""
        return 1

    def compute_divisor_shape(self, scheme: "Scheme", shape: Shape) -> tuple[int, ...]:
        """Return the shape of the statistic that divides, for a scheme with a suppression field."""
        assert scheme.suppression is not None
        return scheme.suppression.compute_statistics_shape(shape)

    def find_averaging_fields(self, scheme: "Scheme") -> tuple[Field | None, Field | None]:
        """Return the fields over which x and v² are averaged; None where the kind averages neither."""
        return scheme.summation, None

    def find_divisor_field(self, scheme: "Scheme") -> Field:
        """Return the field over which the table of statistics shows the variance."""
        return scheme.fields[-1]

    def explain_missing_invariance(self) -> str | None:
        """Explain why no change of weights or data cancels without statistics; None for a kind with statistics."""
        return None
