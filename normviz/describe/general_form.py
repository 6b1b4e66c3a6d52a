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
    FormulaSymbols,
    format_derivative,
    format_dividend,
    format_element_subscript,
    format_fan_in,
    format_mean_square,
    format_mean_subtraction,
    format_sum,
    format_xhat,
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

    def define_divisor(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formulas that define the divisor, such as the variance σ²."""
        if scheme.suppression is None:
            return
        square = build_averages(scheme)["B"]
        if scheme.divides_by_variance:
            name, summand = "variance", f"({format_mean_subtraction(scheme)})"
        else:
            name, summand = "mean square", f"{format_dividend(scheme)}{square.summand_index}"
        yield Formula(name, f"{format_mean_square(scheme)} = {square.prefix}{summand}^2")

    def define_xhat(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formula that defines x̂."""
        if scheme.suppression is None:
            return
        numerator = (
            format_mean_subtraction(scheme)
            if scheme.divides_by_variance
            else format_dividend(scheme) + format_element_subscript(scheme)
        )
        scale = rf"\frac{{1}}{{\sqrt{{{format_fan_in(scheme)}}}}}" if scheme.per_fan_in else ""
        yield Formula(
            "normalized", rf"{format_xhat(scheme)} = {scale}\frac{{{numerator}}}{{{self.format_divisor(scheme)}}}"
        )

    def define_terms(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formulas that define lengths and matrices used in the other formulas."""
        if scheme.per_fan_in and scheme.eps is None and scheme.suppression == Field((FULL, FULL, FULL, OWN)):
            square, v = build_averages(scheme)["B"], format_dividend(scheme)
            length = rf"\lVert {v}{square.statistic_index}\rVert"
            quotient = rf"{format_xhat(scheme)} = \frac{{{v}{format_element_subscript(scheme)}}}{{{length}}}"
            yield Formula("where", rf"{quotient},\quad {length}^2 = {square.sum_signs}{v}{square.summand_index}^2")

    def differentiate(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        """Yield the formulas of the backward pass from d = ∂L/∂x̂ to ∂L/∂x."""
        dx = format_derivative(symbols.tensor + symbols.element)
        if scheme.suppression is None:
            yield self._differentiate_mean(scheme, symbols, f"d{symbols.element}", "d")
            return
        yield from _build_averages(scheme, symbols)
        divided = _format_dividend_gradient(scheme, symbols)
        if scheme.summation is None or scheme.divides_by_variance:
            yield Formula("input", f"{dx} = {divided}")
            return
        dv = format_derivative(symbols.centred + symbols.element)
        yield Formula("divided", f"{dv} = {divided}")
        yield self._differentiate_mean(scheme, symbols, dv, None)

    def _differentiate_mean(self, scheme: Scheme, symbols: FormulaSymbols, dv: str, letter: str | None) -> Formula:
        """Format ∂L/∂x as `dv`, the LaTeX of ∂L/∂v, minus its mean; in the sum ∂L/∂v is written `letter`, if given."""
        dx = format_derivative(symbols.tensor + symbols.element)
        if scheme.summation is None:
            return Formula("input", f"{dx} = {dv}")
        mean = symbols.averages["A"]
        summand = f"{letter}{mean.summand_index}" if letter else format_derivative(symbols.centred + mean.summand_index)
        return Formula("input", f"{dx} = {dv} - {mean.format_transposed(summand)}")

    def differentiate_eps_or_alpha(self, scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
        """Yield the formula of ∂L/∂ε, or those of ∂L/∂α and ∂L/∂s of a pointwise scheme."""
        if scheme.suppression is not None and scheme.eps is not None:
            cube = _format_cubed_deviation(symbols)
            product = rf"d{symbols.element}\,{symbols.centred}{symbols.element}"
            total = rf"{format_sum(scheme, ())}\frac{{{product}}}{{{cube}}}"
            yield Formula("smoothing", rf"\frac{{\partial L}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")

    def define_backward_symbols(self, scheme: Scheme) -> Iterator[Formula]:
        """Yield the formulas of symbols that only the backward pass has, such as an inverse; here none."""
        return iter(())

    def format_squared_divisor(self, scheme: Scheme) -> str:
        """Format the squared divisor without ε, in LaTeX."""
        return r"\sigma^2" if scheme.summation is not None else rf"\overline{{{scheme.symbol}^2}}"

    def format_live_divisor(self, scheme: Scheme) -> tuple[str, ...]:
        """Format the squared divisor with a placeholder for its number, once for each form (ROOT, PLAIN, LIMIT)."""
        eps = "" if scheme.eps is None else r" + \varepsilon"
        square = self.format_squared_divisor(scheme)
        root, plain = rf"{square} = \num{{divides}}", rf"\sqrt{{{square}{eps}}} = \num{{divides}}"
        return root, plain, root

    def format_live_xhat(self, scheme: Scheme, shape: Shape, dividend: str, placeholder: str) -> tuple[str, ...]:
        """Format x̂ with placeholders, once for each form (ROOT, PLAIN, LIMIT).

        `dividend`, `placeholder`: the LaTeX of the dividend, and the placeholder of its number.
        """
        eps = "" if scheme.eps is None else r" + \varepsilon"
        given = "" if scheme.eps is None else r" + \num{eps}"
        square, number = rf"\part{{divides}}{{{self.format_squared_divisor(scheme)}}}", r"\part{divides}{\num{divides}}"
        letters, root = rf"\sqrt{{{square}{eps}}}", rf"\sqrt{{{number}{given}}}"
        scale = rf"\frac{{1}}{{\sqrt{{{prod(shape[:-1])}}}}} \cdot " if scheme.per_fan_in else ""
        return self._format_live_fraction(scheme, scale, dividend, placeholder, letters, root)

    def _format_live_fraction(
        self, scheme: Scheme, scale: str, dividend: str, placeholder: str, letters: str, root: str
    ) -> tuple[str, ...]:
        number = r"\part{divides}{\num{divides}}"
        start = rf"\hat{{{scheme.symbol}}} = {scale}\frac{{{dividend}}}{{{letters}}} = {scale}"
        forms = {ROOT: (root, "="), PLAIN: (number, "="), LIMIT: (root, r"\to")}
        return tuple(
            rf"{start}\frac{{\num{{{placeholder}}}}}{{{below}}} {sign} \num{{xhat}}" for below, sign in forms.values()
        )

    def find_live_numbers(self, scheme: Scheme, result: NormalizationResult, eps: float) -> dict[str, Numbers]:
        """Map each placeholder in the formula of x̂, such as "divides", to its numbers; {} without a divisor."""
        if result.deviation is None:
            return {}
        below, form = find_squares_under_root(result.deviation, eps, scheme.kind.has_eps)
        return {"divides": (below, below.shape), "form": (form, below.shape)}

    def describe_guarantee(self, scheme: Scheme, result: NormalizationResult) -> str | None:
        """Describe the property that this kind gives x̂; "" if x̂ of `result` lacks it; None for a kind without one."""
        return None

    def describe_computation(self, axes: Sequence[str], matrices: int) -> str | None:
        """Describe what PyTorch code computes over these axes, with this number of covariance matrices, or None.

        None for the general form, whose averages in the code say it.
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
def find_squares_under_root(deviation: np.ndarray, eps: float, has_eps: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean squares beside ε under the root, and the form (ROOT, PLAIN or LIMIT) to write each in.

    The deviation stands for its square if that leaves the range of a float, or if the formula has no ε.
    """
    square = deviation * deviation
    extreme = (deviation != 0) & np.isfinite(deviation) & ~((square > 1e-300) & (square < inf))
    variance = square - eps
    # What is left below this is the rounding of the deviation, in float32 at least.
    variance = np.where(variance < 2**-22 * square, 0.0, variance)
    form = np.where(deviation == 0, LIMIT, np.where(extreme, PLAIN, ROOT)).astype(np.uint8)
    return np.where(extreme | (not has_eps), deviation, variance), form


def _build_averages(scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
    """Yield the formulas of the means of d x̂ and d = ∂L/∂x̂ in ∂L/∂x; none for windows."""
    square = symbols.averages["B"]
    if square.window_terms:
        return
    hat = symbols.hat.removesuffix(symbols.element) + square.summand_index
    over = square.sum_signs if scheme.per_fan_in else square.prefix  # the fan-in in x̂ takes up that of the mean
    if scheme.divides_by_variance:
        yield Formula("mean", rf"\overline{{d}}{square.statistic_index} = {square.prefix}d{square.summand_index}")
    yield Formula("along", rf"{_format_xhat_gradient_average(scheme, symbols)} = {over}d{square.summand_index}\,{hat}")


def _format_dividend_gradient(scheme: Scheme, symbols: FormulaSymbols) -> str:
    """Format ∂L/∂v, or ∂L/∂x if mean and divisor average over the same elements."""
    square, d = symbols.averages["B"], "d" + symbols.element
    if square.window_terms:
        cube = _format_cubed_deviation(symbols, square.statistic_index, square.summed_statistic_index)
        at = square.summand_index
        back = square.format_transposed(rf"\frac{{d{at}\,{symbols.centred}{at}}}{{{cube}}}")
        return rf"\frac{{{d}}}{{{symbols.below}}} - {symbols.centred}{symbols.element}\,{back}"
    mean = rf" - \overline{{d}}{square.statistic_index}" if scheme.divides_by_variance else ""
    return (
        rf"\frac{{1}}{{{_format_divisor(scheme, symbols)}}}\left({d}{mean} - "
        rf"{symbols.hat}\,{_format_xhat_gradient_average(scheme, symbols)}\right)"
    )


def _format_xhat_gradient_average(scheme: Scheme, symbols: FormulaSymbols) -> str:
    """Format the symbol of the mean of d x̂, with d = ∂L/∂x̂, or of its sum if x̂ is divided by √fan-in, too."""
    both = rf"d\hat{{{symbols.tensor}}}"
    letters = rf"\langle {both}\rangle" if scheme.per_fan_in else rf"\overline{{{both}}}"
    return letters + symbols.averages["B"].statistic_index


def _format_divisor(scheme: Scheme, symbols: FormulaSymbols) -> str:
    """Format the divisor, times √fan-in for a scheme that is `per_fan_in`."""
    if not scheme.per_fan_in:
        return symbols.below
    sizes = "".join(term.size for term in symbols.averages["B"].terms if term.size)
    return rf"\sqrt{{{sizes}}}\,{symbols.below}"


def _format_cubed_deviation(symbols: FormulaSymbols, index: str = "", new_index: str = "") -> str:
    """Format (σ² + ε)^{3/2}; if an `index` is given, the subscript `new_index` replaces it."""
    inside = symbols.below.removeprefix(r"\sqrt{").removesuffix("}")
    if index:
        inside = inside.replace(index, new_index, 1)
    return rf"({inside})^{{3/2}}"
