"""The functions of schemes without statistics: x̂ = f(αx + s), each element by itself.

A new function is a row of `POINTWISE_FUNCTIONS` and a scheme that names it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import pi
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from array_api_compat import array_namespace

from normviz.core.arrays import Array
from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_WINDOW_ELEMENTS, Shape
from normviz.core.kinds.base import Kind, NormalizationResult

if TYPE_CHECKING:
    from normviz.core.scheme import Scheme


class PointwiseFunction(NamedTuple):
    """Function f that increases from −1 to 1 with f(0) = 0, and its slope, each as a callable and as code.

    Attributes:
        value: f(u).
        slope: f'(u), to the digits of its type also where f(u) is ±1.
        slope_latex: f'(u) in formulas, with {u} for u.
        numpy, torch, keras: f(u) in code, with {u} for u; numpy_slope: f'(u).
        imports: what NumPy's needs beside NumPy, a line of code.
    """

    value: Callable[[Array], Array]
    slope: Callable[[Array], Array]
    slope_latex: str
    numpy: str
    numpy_slope: str
    torch: str
    keras: str
    imports: str = ""


def _compute_tanh_slope(u: Array) -> Array:
    inverse = 1 / array_namespace(u).cosh(u)
    return inverse * inverse


MEET, END, TERMS = 2.0, 6.0, 40
"""|u| at which the two expansions of erf meet, |u| from which it is 1 in float64, and how many terms each takes."""


def _compute_erf(u: Array) -> Array:
    """Compute the error function, exact to four roundings: the array API has none; torch's own is used for tensors.

    2/√π u e^(−u²) (1 + 2u²/3 (1 + 2u²/5 (…))) near 0, 1 − e^(−u²) / (√π u (1 + 1/(2u² (1 + 2/(2u² (…)))))) elsewhere.
    Source: Abramowitz & Stegun 1964, 7.1.6 and 7.1.14.
    """
    if hasattr(u, "erf"):
        return u.erf()
    xp = array_namespace(u)
    near, far = xp.clip(xp.abs(u), 0.0, MEET), xp.clip(xp.abs(u), MEET, END)
    series, fraction = xp.ones_like(near), xp.ones_like(far)
    for n in range(TERMS, 0, -1):
        series = 1 + series * (2 * near * near / (2 * n + 1))
        fraction = 1 + n / (2 * far * far * fraction)
    below = (2 / pi**0.5) * near * xp.exp(-near * near) * series
    above = 1 - xp.exp(-far * far) / (pi**0.5 * far * fraction)
    return xp.sign(u) * xp.where(xp.abs(u) < MEET, below, above)


POINTWISE_FUNCTIONS: dict[str, PointwiseFunction] = {
    "tanh": PointwiseFunction(
        value=lambda u: array_namespace(u).tanh(u),
        slope=_compute_tanh_slope,
        slope_latex=r"\frac{{1}}{{\cosh^2({u})}}",
        numpy="np.tanh({u})",
        numpy_slope="1 / np.cosh({u}) ** 2",
        torch="torch.tanh({u})",
        keras="ops.tanh({u})",
    ),
    "erf": PointwiseFunction(
        value=_compute_erf,
        slope=lambda u: (2 / pi**0.5) * array_namespace(u).exp(-u * u),
        slope_latex=r"\frac{{2}}{{\sqrt{{\pi}}}}\,e^{{-({u})^2}}",
        numpy="np.vectorize(erf)({u})",
        numpy_slope="2 / np.sqrt(np.pi) * np.exp(-(({u}) ** 2))",
        torch="torch.erf({u})",
        keras="ops.erf({u})",
        imports="from math import erf",
    ),
}
"""The functions by `Kind.function`."""


@dataclass(frozen=True)
class PointwiseKind(Kind):
    """A function of every element by itself: x̂ = f(αx + s)."""

    key: ClassVar[str] = "pointwise"
    has_eps: ClassVar[bool] = False
    usual_max: ClassVar[float | None] = 1.0

    def normalize(self, scheme: "Scheme", v: Array, eps: float) -> tuple[Array | None, Array]:
        return None, POINTWISE_FUNCTIONS[str(self.function)].value(scheme.compute_argument(v))

    def backpropagate(
        self, scheme: "Scheme", result: NormalizationResult, g: Array, eps: float
    ) -> tuple[Array, Array | None]:
        return g * self._compute_slope(scheme, result.v), None

    def compute_diagonal(self, scheme: "Scheme", result: NormalizationResult, kept: Array, eps: float) -> Array:
        return self._compute_slope(scheme, result.v)

    def compute_steepest_slope(self, scheme: "Scheme", result: NormalizationResult, eps: float) -> Array:
        return array_namespace(result.v).full((1,) * 4, scheme.alpha)

    def check(self, scheme: "Scheme", shape: Shape, max_elements: int = MAX_WINDOW_ELEMENTS) -> None:
        if scheme.fields:
            raise InvalidInput(f"{scheme.name} is element by element; it has no fields.")

    def explain_missing_invariance(self) -> str | None:
        return f"nothing is shared: each element passes through {self.function} by itself"

    def _compute_slope(self, scheme: "Scheme", x: Array) -> Array:
        """Compute ∂x̂/∂x = α f'(αx + s), element by element."""
        return scheme.alpha * POINTWISE_FUNCTIONS[str(self.function)].slope(scheme.compute_argument(x))
