r"""The backward pass of a scheme in LaTeX, derived from its fields as its formula is.

With d = ∂L/∂x̂ and the transposed averages E_Aᵀ and E_Bᵀ,

    ∂L/∂v = d/σ - v E_Bᵀ[d v/σ³],   ∂L/∂x = ∂L/∂v - E_Aᵀ[∂L/∂v]      (σ with ε under its root)

An average over boxes that do not overlap is its own transpose, and σ is constant in a box: then ∂L/∂v is
(d - x̂ E_B[d x̂])/σ, and where A and B are one field, ∂L/∂x = (d - E[d] - x̂ E[d x̂])/σ. It is called d, not g, which
counts groups and is weight norm's gain.
"""

from collections.abc import Iterator

from normviz.core.fields import AXIS_NAMES
from normviz.core.registry import Scheme
from normviz.describe.averages import format_subscript
from normviz.describe.kinds import KIND_FORMULAS
from normviz.describe.notation import build_formula_symbols, build_formulas
from normviz.describe.symbols import Formula, FormulaSymbols, format_derivative, format_gain_symbol, format_sum


def build_backward_formulas(scheme: Scheme) -> list[Formula]:
    """Build the formulas of the backward pass of a scheme, from ∂L/∂y to ∂L/∂x and the parameters' gradients.

    The list has only the lines that the scheme needs. The lines of a weight scheme in front of it come last.
    """
    symbols, formulas = build_formula_symbols(scheme), KIND_FORMULAS[scheme.kind.key]
    gradient = formulas.incoming or f"d{symbols.element} = {_format_xhat_gradient(scheme, symbols)}"
    own = [Formula("incoming", gradient), *formulas.differentiate(scheme, symbols)]
    own += _build_parameter_formulas(scheme, symbols)
    own += formulas.differentiate_eps_or_alpha(scheme, symbols)
    where = [line for line in build_formulas(scheme) if line.name == "where"]
    where = [*formulas.define_backward_symbols(scheme), *where]
    weights = scheme.weight_part
    if weights is None or weights is scheme:
        return [*own, *where]
    front = build_backward_formulas(weights)
    return [*own, *where, *(Formula(f"weights: {name}", latex) for name, latex in front)]


def _build_parameter_formulas(scheme: Scheme, symbols: FormulaSymbols) -> Iterator[Formula]:
    """Yield the formulas of ∂L/∂γ and ∂L/∂β."""
    dy = format_derivative("y" + symbols.element)
    if scheme.gain is not None:
        gain = format_gain_symbol(scheme) + _format_axis_index(scheme.gain)
        base = symbols.hat if scheme.has_xhat else symbols.centred + symbols.element
        yield Formula("gain", rf"{format_derivative(gain)} = {format_sum(scheme, scheme.gain)}{dy}\,{base}")
    if scheme.bias is not None:
        bias = r"\beta" + _format_axis_index(scheme.bias)
        yield Formula("bias", f"{format_derivative(bias)} = {format_sum(scheme, scheme.bias)}{dy}")


def _format_xhat_gradient(scheme: Scheme, symbols: FormulaSymbols) -> str:
    """Format the gradient with respect to x̂, ∂L/∂x̂ = γ ∂L/∂y, or with respect to v if nothing divides."""
    if scheme.has_effect and scheme.gain is None and scheme.bias is None:
        return format_derivative(symbols.hat)
    gain = "" if scheme.gain is None else rf"{format_gain_symbol(scheme)}{_format_axis_index(scheme.gain)}\,"
    return gain + format_derivative("y" + symbols.element)


def _format_axis_index(axes: tuple[str, ...]) -> str:
    return format_subscript("".join(AXIS_NAMES[axis].letter for axis in axes))
