"""Symbols that the formulas of schemes are made of, in LaTeX."""

from typing import NamedTuple

from normviz.core.fields import AXIS_NAMES
from normviz.core.registry import Scheme
from normviz.describe.averages import AverageFormula, build_averages, format_axis_size, format_subscript


class Formula(NamedTuple):
    """Formula of a derivation: its name (mean, centred, variance, normalized, output, …) and its LaTeX."""

    name: str
    latex: str


class FormulaSymbols(NamedTuple):
    """LaTeX of symbols and subscripts from which a scheme's formulas are built.

    Attributes:
        tensor: the letter of the tensor that is normalized; centred: the letter of the dividend.
        element: the index of an element, as a subscript.
        hat: the normalized element; below: the root that divides it.
        averages: the averages over the fields A and B, if the scheme has them.
    """

    tensor: str
    centred: str
    element: str
    hat: str
    below: str
    averages: dict[str, AverageFormula]


def format_argument_latex(scheme: Scheme, x: str, alpha: str = r"\alpha", shift: str = "s") -> str:
    """Format αx + s of a pointwise scheme, in LaTeX."""
    return f"{alpha} {x}" + ("" if scheme.shift is None else f" + {shift}")


def format_function_latex(scheme: Scheme, x: str) -> str:
    """Format f(αx + s) of a pointwise scheme, in LaTeX."""
    return rf"\operatorname{{{scheme.kind.function}}}({format_argument_latex(scheme, x)})"


def format_gain_symbol(scheme: Scheme) -> str:
    """Return the LaTeX of the gain, γ unless the paper of the scheme has another letter."""
    return {"γ": r"\gamma"}.get(scheme.gain_symbol, scheme.gain_symbol)


def format_dividend(scheme: Scheme) -> str:
    """Return the LaTeX letter of the dividend of x̂: v, or the tensor's own letter if no mean is subtracted."""
    return scheme.symbol if scheme.summation is None else "v"


def format_xhat(scheme: Scheme) -> str:
    """Return the LaTeX of the normalized element x̂ with its subscript."""
    return rf"\hat{{{scheme.symbol}}}{format_element_subscript(scheme)}"


def format_element_subscript(scheme: Scheme) -> str:
    """Return the LaTeX subscript of an element, such as nhwc."""
    return format_subscript("".join(AXIS_NAMES[axis].letter for axis in scheme.axes))


def format_neighbour_subscript(scheme: Scheme) -> str:
    """Return the LaTeX subscript of an element of another channel, j, at the same position."""
    return format_subscript("".join(AXIS_NAMES[axis].letter for axis in scheme.axes[:-1]) + "j")


def format_mean_subtraction(scheme: Scheme) -> str:
    """Return the LaTeX of x − μ for one element."""
    return rf"{scheme.symbol}{format_element_subscript(scheme)}-\mu{build_averages(scheme)['A'].statistic_index}"


def format_mean_square(scheme: Scheme) -> str:
    """Return the LaTeX of the mean square: σ² of a centred tensor, otherwise a bar over the square."""
    symbol = rf"\overline{{{scheme.symbol}^2}}" if scheme.summation is None else r"\sigma^2"
    return symbol + build_averages(scheme)["B"].statistic_index


def format_fan_in(scheme: Scheme) -> str:
    """Return the LaTeX of the fan-in, the number of incoming weights of a unit."""
    return "".join(map(format_axis_size, scheme.axes[:-1]))


def format_derivative(variable: str) -> str:
    """Return the LaTeX of ∂L/∂z for a variable z."""
    return rf"\frac{{\partial L}}{{\partial {variable}}}"


def format_sum(scheme: Scheme, kept: tuple[str, ...]) -> str:
    """Return the LaTeX of the sum over all axes except the kept ones."""
    letters = [AXIS_NAMES[axis].letter for axis in scheme.axes if axis not in kept]
    return rf"\sum_{{{','.join(letters)}}} " if letters else ""
