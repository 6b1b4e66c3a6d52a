"""Results of the public functions: named arrays with a short text."""

from typing import NamedTuple

from normviz.core.arrays import Array, get_type_name
from normviz.core.kinds.base import NormalizationResult
from normviz.core.layouts import ArrayLayout
from normviz.core.scheme import Scheme
from normviz.library.notebook import format_result_html, format_scheme_latex


class Normalization(NormalizationResult):
    """The arrays that a normalization computes, in the layout of the normalized array.

    Attributes:
        mean: E_A[x], one number per summation field; None without centring. Averaged axes have length 1.
        v: x - mean.
        deviation: sqrt(ε + E_B[v²]), one number per suppression field; None if nothing divides.
        xhat: x̂ = v / deviation.
        y: γ x̂ + β.
        scheme: the scheme; None where a transformation of JAX or torch has rebuilt the result.
        layout: the layout of the array; None for (N, H, W, C), too.
        eps: the ε that was used.
    """

    scheme: Scheme | None = None
    layout: ArrayLayout | None = None
    eps: float | None = None

    def __repr__(self) -> str:
        name = "" if self.scheme is None else self.scheme.name.capitalize() + ": "
        parts = [f"{part} {_format_shape(array)}" for part, array in self._asdict().items() if array is not None]
        return f"<{name}{', '.join(parts)}, {get_type_name(self.y.dtype)}>"

    def _repr_html_(self) -> str:
        return format_result_html(self._asdict(), self.scheme)

    def _repr_latex_(self) -> str | None:
        return None if self.scheme is None else format_scheme_latex(self.scheme)


class Statistics(NamedTuple):
    """The statistics of an array, one number per set of elements that share it; averaged axes have length 1.

    Attributes:
        mean: E_A[x], or the mean of the elements that share a divisor where nothing is centred.
        variance: the variance of the elements that share a divisor.
        rms: their root mean square.
        divisor: sqrt(ε + E_B[v²]), what v is divided by; None if nothing or a matrix divides.
    """

    mean: Array
    variance: Array
    rms: Array
    divisor: Array | None

    def __repr__(self) -> str:
        parts = [f"{part} {_format_shape(array)}" for part, array in self._asdict().items() if array is not None]
        return f"<Statistics: {', '.join(parts)}>"

    def _repr_html_(self) -> str:
        return format_result_html(self._asdict())


def _format_shape(array: Array) -> str:
    return "(" + ", ".join(map(str, array.shape)) + ")"
