"""The formulas and words of the general form, and their interface for every kind of scheme."""

from collections.abc import Iterator, Sequence
from math import inf, prod
from typing import ClassVar

import numpy as np

from normviz.core.fields import FULL, OWN, Field, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import ignore_float_warnings
from normviz.core.registry import Scheme
from normviz.core.text import typeset
from normviz.describe.averages import build_averages
from normviz.describe.symbols import (
    Formula,
    FormulaParts,
    format_centred,
    format_derivative,
    format_difference,
    format_element_subscript,
    format_fan_in,
    format_hat,
    format_mean_square,
    format_sum,
)

ROOT, PLAIN, LIMIT = range(3)
"""The forms of the divisor: sqrt(σ² + ε); plain, if its square is out of a float's range; and with an arrow, if 0/0 is
replaced by its limit for ε towards 0."""

Numbers = tuple[np.ndarray, Shape]
"""One number per statistic, and the shape of these statistics."""


class KindFormulas:
    """LaTeX of a kind of scheme; this class has the general form, its subclasses the other kinds.

    Attributes:
        incoming: the definition of d = ∂L/∂x̂; None for the usual one.
        symbol: the divisor in texts; None for a root mean square.
        joined: the elements of the statistic in texts; None for those of its field.
        note: what the scheme removes beside mean and size; empty for nothing.
        constant: what a gradient with constant statistics leaves out, as in "if … were constants".
        jacobian: the structure of the Jacobian as Markdown; None if it follows from the fields.
        kept: what a gradient keeps, in a scheme that takes out neither mean nor size.
        square, response: the statistic beside ε, and what it divides, in the caption of a response to contrast.
    """

    incoming: ClassVar[str | None] = None
    symbol: ClassVar[str | None] = None
    joined: ClassVar[str | None] = None
    note: ClassVar[str] = ""
    constant: ClassVar[str] = "μ and σ were constants"
    jacobian: ClassVar[str | None] = None
    kept: ClassVar[str] = "nothing is taken out, since nothing is normalized"
    square: ClassVar[str] = "E_B[v²]"
    response: ClassVar[str] = "x̂"

    def format_divisor(self, scheme: Scheme) -> str:
        """Format the divisor of x̂ in LaTeX; empty if nothing divides."""
        eps = "" if scheme.eps is None else r"+\varepsilon"
        return "" if scheme.suppression is None else rf"\sqrt{{{format_mean_square(scheme)}{eps}}}"

    def define_statistic(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formulas that define the divisor, such as the variance σ²."""
        if scheme.suppression is None:
            return
        square = build_averages(scheme)["B"]
        summand = (
            f"({format_difference(scheme)})"
            if scheme.divides_by_variance
            else f"{format_centred(scheme)}{square.summand}"
        )
        name = "variance" if scheme.divides_by_variance else "mean square"
        yield Formula(name, f"{format_mean_square(scheme)} = {square.prefix}{summand}^2")

    def define_normalized(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formula that defines x̂."""
        if scheme.suppression is None:
            return
        numerator = (
            format_difference(scheme)
            if scheme.divides_by_variance
            else format_centred(scheme) + format_element_subscript(scheme)
        )
        scale = rf"\frac{{1}}{{\sqrt{{{format_fan_in(scheme)}}}}}" if scheme.per_fan_in else ""
        yield Formula(
            "normalized", rf"{format_hat(scheme)} = {scale}\frac{{{numerator}}}{{{self.format_divisor(scheme)}}}"
        )

    def define_terms(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formulas that define lengths and matrices used in the other formulas."""
        if scheme.per_fan_in and scheme.eps is None and scheme.suppression == Field((FULL, FULL, FULL, OWN)):
            square, v = build_averages(scheme)["B"], format_centred(scheme)
            length = rf"\lVert {v}{square.index}\rVert"
            quotient = rf"{format_hat(scheme)} = \frac{{{v}{format_element_subscript(scheme)}}}{{{length}}}"
            yield Formula("where", rf"{quotient},\quad {length}^2 = {square.sums}{v}{square.summand}^2")

    def differentiate(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        """Yield the formulas of the backward pass from d = ∂L/∂x̂ to ∂L/∂x."""
        dx = format_derivative(parts.tensor + parts.element)
        if scheme.suppression is None:
            yield self._differentiate_mean(scheme, parts, f"d{parts.element}", "d")
            return
        yield from _build_averages(scheme, parts)
        divided = _format_dividend_gradient(scheme, parts)
        if scheme.summation is None or scheme.divides_by_variance:
            yield Formula("input", f"{dx} = {divided}")
            return
        dv = format_derivative(parts.centred + parts.element)
        yield Formula("divided", f"{dv} = {divided}")
        yield self._differentiate_mean(scheme, parts, dv, None)

    def _differentiate_mean(self, scheme: Scheme, parts: FormulaParts, before: str, letter: str | None) -> Formula:
        """Format ∂L/∂x from ∂L/∂v: `before` minus its mean, in whose sum ∂L/∂v has the symbol `letter`, if given."""
        dx = format_derivative(parts.tensor + parts.element)
        if scheme.summation is None:
            return Formula("input", f"{dx} = {before}")
        mean = parts.averages["A"]
        summand = f"{letter}{mean.summand}" if letter else format_derivative(parts.centred + mean.summand)
        return Formula("input", f"{dx} = {before} - {mean.format_transposed(summand)}")

    def differentiate_inside(self, scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
        """Yield the formula of the derivative with respect to ε, or to α and s of a pointwise scheme."""
        if scheme.suppression is not None and scheme.eps is not None:
            cube = _format_cubed_deviation(parts, "", "")
            total = rf"{format_sum(scheme, ())}\frac{{d{parts.element}\,{parts.centred}{parts.element}}}{{{cube}}}"
            yield Formula("smoothing", rf"\frac{{\partial L}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")

    def define_inverse(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formulas that define symbols of the backward pass alone, such as an inverse; here none."""
        return iter(())

    def format_square(self, scheme: Scheme) -> str:
        """Format the squared divisor without ε, in LaTeX."""
        return r"\sigma^2" if scheme.summation is not None else rf"\overline{{{scheme.symbol}^2}}"

    def fill_statistic(self, scheme: Scheme) -> tuple[str, ...]:
        """Format the squared divisor with a placeholder for its number, once for each way of writing it."""
        eps = "" if scheme.eps is None else r" + \varepsilon"
        square = self.format_square(scheme)
        root, plain = rf"{square} = \num{{divides}}", rf"\sqrt{{{square}{eps}}} = \num{{divides}}"
        return root, plain, root

    def fill_normalized(self, scheme: Scheme, shape: Shape, symbol: str, base: str) -> tuple[str, ...]:
        """Format x̂ with placeholders for numbers, once for each form; `symbol` and `base` name the dividend."""
        eps = "" if scheme.eps is None else r" + \varepsilon"
        given = "" if scheme.eps is None else r" + \num{eps}"
        square, number = rf"\part{{divides}}{{{self.format_square(scheme)}}}", r"\part{divides}{\num{divides}}"
        letters, root = rf"\sqrt{{{square}{eps}}}", rf"\sqrt{{{number}{given}}}"
        scale = rf"\frac{{1}}{{\sqrt{{{prod(shape[:-1])}}}}} \cdot " if scheme.per_fan_in else ""
        return self._fill_fraction(scheme, scale, symbol, base, letters, root)

    def _fill_fraction(
        self, scheme: Scheme, scale: str, symbol: str, base: str, letters: str, root: str
    ) -> tuple[str, ...]:
        number = r"\part{divides}{\num{divides}}"
        start = rf"\hat{{{scheme.symbol}}} = {scale}\frac{{{symbol}}}{{{letters}}} = {scale}"
        forms = {ROOT: (root, "="), PLAIN: (number, "="), LIMIT: (root, r"\to")}
        return tuple(
            rf"{start}\frac{{\num{{{base}}}}}{{{below}}} {sign} \num{{xhat}}" for below, sign in forms.values()
        )

    def compute_numbers(self, scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, Numbers]:
        """Map the divisor's placeholders to (numbers, their shape); {} if nothing divides."""
        if result.deviation is None:
            return {}
        below, form = find_squares_under_root(result.deviation, eps, not scheme.kind.has_eps)
        return {"divides": (below, below.shape), "form": (form, below.shape)}

    def describe_guarantee(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        """Describe the property that this kind gives x̂: None if it gives none, "" if x̂ of this result lacks it."""
        return None

    def describe_computation(self, axes: Sequence[str], matrices: int) -> str | None:
        """Describe in words what the PyTorch code computes; None if the averages in the code say it.

        Args:
            axes: of the tensor in torch.
            matrices: the number of channel groups with a matrix of their own.
        """
        return None

    def format_function(self, scheme: Scheme) -> str:
        """Format the function of every element, "tanh(0.5 x)"; empty for a kind without one."""
        return ""

    def describe_element(self, scheme: Scheme) -> str:
        """Describe what a scheme without statistics does to an element, as a predicate: "stays as it is"."""
        function = self.format_function(scheme)
        return f"passes through {function} by itself" if function else "stays as it is"

    def describe_step(self, scheme: Scheme, shape: Shape, eps: float, dividend: str, divisor: str) -> str:
        """Describe the step from v to x̂ in a sentence; `dividend` and `divisor` are written as text."""
        below = f"({divisor} · √fan-in)" if scheme.per_fan_in else divisor
        above = f"({dividend})" if " " in dividend else dividend
        given = f", with ε = {typeset(eps)}" if scheme.eps is not None else ""
        return f"Divide every element: {scheme.symbol}̂ = {above} / {below}{given}."


@ignore_float_warnings
def find_squares_under_root(deviation: np.ndarray, eps: float, plain: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean squares beside ε under the root, and the form (ROOT, PLAIN or LIMIT) to write each in.

    The deviation itself stands for its square if that leaves the range of a float, or if it is `plain`.
    """
    square = deviation * deviation
    extreme = (deviation != 0) & np.isfinite(deviation) & ~((square > 1e-300) & (square < inf))
    variance = square - eps
    # What is left below this is the rounding of the deviation, in float32 at least.
    variance = np.where(variance < 2**-22 * square, 0.0, variance)
    form = np.where(deviation == 0, LIMIT, np.where(extreme, PLAIN, ROOT)).astype(np.uint8)
    return np.where(extreme | plain, deviation, variance), form


def _build_averages(scheme: Scheme, parts: FormulaParts) -> Iterator[Formula]:
    """Yield the formulas of E[d x̂], and of E[d] if mean and divisor average alike; none for windows."""
    square = parts.averages["B"]
    if square.window_terms:
        return
    hat = parts.hat.removesuffix(parts.element) + square.summand
    over = square.sums if scheme.per_fan_in else square.prefix  # the fan-in in x̂ takes up that of the mean
    if scheme.divides_by_variance:
        yield Formula("mean", rf"\overline{{d}}{square.index} = {square.prefix}d{square.summand}")
    yield Formula("along", rf"{_format_xhat_gradient_average(scheme, parts)} = {over}d{square.summand}\,{hat}")


def _format_dividend_gradient(scheme: Scheme, parts: FormulaParts) -> str:
    """Format ∂L/∂v, or ∂L/∂x if mean and divisor average over the same elements."""
    square, d = parts.averages["B"], "d" + parts.element
    if square.window_terms:
        cube = _format_cubed_deviation(parts, square.index, square.summed_statistic_subscript)
        back = square.format_transposed(rf"\frac{{d{square.summand}\,{parts.centred}{square.summand}}}{{{cube}}}")
        return rf"\frac{{{d}}}{{{parts.below}}} - {parts.centred}{parts.element}\,{back}"
    mean = rf" - \overline{{d}}{square.index}" if scheme.divides_by_variance else ""
    return (
        rf"\frac{{1}}{{{_format_divisor(scheme, parts)}}}\left({d}{mean} - "
        rf"{parts.hat}\,{_format_xhat_gradient_average(scheme, parts)}\right)"
    )


def _format_xhat_gradient_average(scheme: Scheme, parts: FormulaParts) -> str:
    """Format the symbol of the mean of d x̂, or of its sum if the scheme is `per_fan_in`."""
    both = rf"d\hat{{{parts.tensor}}}"
    return (rf"\langle {both}\rangle" if scheme.per_fan_in else rf"\overline{{{both}}}") + parts.averages["B"].index


def _format_divisor(scheme: Scheme, parts: FormulaParts) -> str:
    """Format the divisor, times the square root of the fan-in for a scheme that is `per_fan_in`."""
    if not scheme.per_fan_in:
        return parts.below
    sizes = "".join(term.size for term in parts.averages["B"].terms if term.size)
    return rf"\sqrt{{{sizes}}}\,{parts.below}"


def _format_cubed_deviation(parts: FormulaParts, index: str, neighbour: str) -> str:
    """Format (σ² + ε)^{3/2} with its subscript, or with that of a neighbour."""
    inside = parts.below.removeprefix(r"\sqrt{").removesuffix("}")
    if index:
        inside = inside.replace(index, neighbour, 1)
    return rf"({inside})^{{3/2}}"
