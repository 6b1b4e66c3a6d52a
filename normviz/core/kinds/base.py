"""The interface of a kind of scheme: what it computes from the centred tensor v, and its derivative."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from normviz.core.arrays import Array
from normviz.core.fields import MAX_WINDOW_ELEMENTS, Field, Shape

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
    """The computation that turns v into x̂. A scheme adds fields, ε and parameters.

    Attributes:
        key: the name under which other layers register what they need for this kind.
        statistic: the name of the statistic that divides.
        decomposes: True if x̂ takes a matrix decomposition.
        divides_by_singular_value: True if one singular value divides the whole tensor, seen as a matrix.
        divides_by_matrix: True if the divisor is a matrix for each group of channels.
        has_eps: True if ε stands beside the statistic that divides.
        function: the name of the function that every element passes by itself; None for kinds with statistics.
    """

    key: ClassVar[str]
    statistic: ClassVar[str] = "mean square"
    decomposes: ClassVar[bool] = False
    divides_by_singular_value: ClassVar[bool] = False
    divides_by_matrix: ClassVar[bool] = False
    has_eps: ClassVar[bool] = True
    function: str | None = None

    def normalize(self, scheme: "Scheme", v: Array, eps: float) -> tuple[Array | None, Array]:
        """Compute the divisor, None if there is none or a matrix divides, and x̂ from v."""
        raise NotImplementedError

    def backpropagate(
        self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float
    ) -> tuple[Array, Array | None]:
        """Compute ∂l/∂v and ∂l/∂ε, None without ε, from g = ∂l/∂x̂ times the scale of the scheme."""
        raise NotImplementedError

    def differentiate_diagonally(self, scheme: "Scheme", result: NormalizationResult, kept: Array, eps: float) -> Array:
        """Compute ∂x̂_i/∂x_i without the scale of the scheme, from kept = ∂v_i/∂x_i."""
        raise NotImplementedError

    def check(self, scheme: "Scheme", shape: Shape, limit: int = MAX_WINDOW_ELEMENTS) -> None:
        """Raise InvalidInput if the fields of the scheme do not fit the shape or this kind."""
        for field in scheme.fields:
            field.check(shape, scheme.axes, limit)

    def simplify(self, summation: Field | None, suppression: Field | None) -> "Kind":
        """Return the simplest kind that computes the same with these canonical fields."""
        return self

    def count_matrices(self, scheme: "Scheme", shape: Shape) -> int:
        """Return the number of channel groups with a matrix of their own."""
        return 0

    def find_divisor_field(self, scheme: "Scheme") -> Field:
        """Return the field in whose boxes a row of the table of statistics has its variance."""
        return scheme.fields[-1]

    def explain_isolation(self) -> str | None:
        """Explain why no change is cancelled; None for a kind with statistics."""
        return None
