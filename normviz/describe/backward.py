r"""The backward pass of a scheme in LaTeX, derived from its fields as its formula is.

With d = ∂l/∂x̂ and the transposed averages E_Aᵀ and E_Bᵀ,

    ∂l/∂v = d/σ - v E_Bᵀ[d v/σ³],   ∂l/∂x = ∂l/∂v - E_Aᵀ[∂l/∂v]      (σ with ε under its root)

An average over boxes that do not overlap is its own transpose, and σ is constant in a box: then ∂l/∂v is
(d - x̂ E_B[d x̂])/σ, and where A and B are one field, ∂l/∂x = (d - E[d] - x̂ E[d x̂])/σ. It is called d, not g, which
counts groups and is weight norm's gain.
"""

from collections.abc import Iterator

from normviz.core.fields import AXIS_NAMES
from normviz.core.registry import Scheme
from normviz.describe.averages import format_subscript
from normviz.describe.notation import (
    Formula,
    FormulaParts,
    build_formula_parts,
    build_formulas,
    format_argument_latex,
    format_gain_symbol,
)

SPECTRAL_FORMULAS = (
    Formula("incoming", r"d = \frac{\partial l}{\partial\hat W}"),
    Formula(
        "input",
        r"\frac{\partial l}{\partial W} = \frac{1}{\sigma_{\max}}\left(d-\langle d,\hat W\rangle\,a\,b^\top\right)",
    ),
    Formula("where", r"a,\ b\text{: the singular vectors of }W\text{ of }\sigma_{\max}"),
)
"""The backward pass of spectral norm, which has no fields (Miyato et al. 2018, eq. 12)."""


WHITENING_FORMULAS = (
    Formula("along", r"S = \frac{1}{2}\sum_{n,h,w}\left(v_{nhw}\,d_{nhw}^\top + d_{nhw}\,v_{nhw}^\top\right)"),
    Formula(
        "divided",
        r"\frac{\partial l}{\partial v_{nhw}} = R\,d_{nhw} + \frac{2}{NHW}\,"
        r"Q\left(K\circ Q^\top S\,Q\right)Q^\top\,v_{nhw}",
    ),
)
"""The backward pass of whitening, to the centred vectors of one group's channels (after Huang et al. 2018)."""

EIGENVECTOR_FORMULA = Formula(
    "where",
    r"R = (\Sigma+\varepsilon I)^{-1/2},\quad \Sigma = Q\,\mathrm{diag}(\lambda)\,Q^\top,\quad "
    r"K_{ij} = \frac{-1}{\sqrt{\lambda_i+\varepsilon}"
    r"\sqrt{\lambda_j+\varepsilon}\left(\sqrt{\lambda_i+\varepsilon}+\sqrt{\lambda_j+\varepsilon}\right)}",
)
"""The definitions for `WHITENING_FORMULAS`."""


def build_backward_formulas(scheme: Scheme) -> list[Formula]:
    """Build the lines of the backward pass: incoming, averages, divided, input; then gain, bias, smoothing and where.

    The list has only the lines that the scheme needs. The lines of a weight scheme in front of it come last.
    """
    own = [*_input(scheme, build_formula_parts(scheme)), *_parameters(scheme, build_formula_parts(scheme))]
    where = [line for line in build_formulas(scheme) if line.name == "where"]
    where = [EIGENVECTOR_FORMULA, *where] if scheme.whitens else where
    weights = scheme.on_weights
    if weights is None or weights is scheme:
        return [*own, *where]
    front = build_backward_formulas(weights)
    return [*own, *where, *(Formula(f"weights: {name}", latex) for name, latex in front)]


def _input(scheme: Scheme, formula_parts: FormulaParts) -> Iterator[Formula]:
    """Yield the lines from ∂l/∂y to ∂l/∂x."""
    d, dx = "d" + formula_parts.element, _by(formula_parts.tensor + formula_parts.element)
    if scheme.spectral:
        yield from SPECTRAL_FORMULAS
        return
    yield Formula("incoming", f"{d} = {_incoming(scheme, formula_parts)}")
    before = d
    if scheme.function is not None:
        yield Formula("input", rf"{dx} = {d}\,\alpha\,{_slope(scheme, formula_parts)}")
        return
    if scheme.whitens:
        yield from WHITENING_FORMULAS
        before = _by(formula_parts.centred + formula_parts.element)
    elif scheme.suppression is not None:
        yield from _averages(scheme, formula_parts)
        before = _divided(scheme, formula_parts)
        if scheme.summation is None or scheme.divides_by_variance:
            yield Formula("input", f"{dx} = {before}")
            return
        yield Formula("divided", f"{_by(formula_parts.centred + formula_parts.element)} = {before}")
        before = _by(formula_parts.centred + formula_parts.element)
    if scheme.summation is None:
        yield Formula("input", f"{dx} = {before}")
        return
    summed = formula_parts.averages["A"]
    summand = f"d{summed.summand}" if scheme.suppression is None else _by(formula_parts.centred + summed.summand)
    yield Formula("input", f"{dx} = {before} - {summed.format_transposed(summand)}")


def _averages(scheme: Scheme, formula_parts: FormulaParts) -> Iterator[Formula]:
    """Yield E[d x̂], and E[d] if A and B are one field; nothing for windows, whose σ stays under the sum."""
    square = formula_parts.averages["B"]
    if square.window_terms:
        return
    hat = formula_parts.hat.removesuffix(formula_parts.element) + square.summand
    over = square.sums if scheme.per_fan_in else square.prefix  # the fan-in in x̂ takes up that of the mean
    if scheme.divides_by_variance:
        yield Formula("mean", rf"\overline{{d}}{square.index} = {square.prefix}d{square.summand}")
    yield Formula("along", rf"{_along_hat(scheme, formula_parts)} = {over}d{square.summand}\,{hat}")


def _divided(scheme: Scheme, formula_parts: FormulaParts) -> str:
    """Format ∂l/∂v; if A and B are one field, the mean is subtracted as well, and the result is ∂l/∂x."""
    square, d = formula_parts.averages["B"], "d" + formula_parts.element
    if square.window_terms:
        cube = _cube(formula_parts, square.index, square.neighbour_index)
        back = square.format_transposed(
            rf"\frac{{d{square.summand}\,{formula_parts.centred}{square.summand}}}{{{cube}}}"
        )
        return rf"\frac{{{d}}}{{{formula_parts.below}}} - {formula_parts.centred}{formula_parts.element}\,{back}"
    mean = rf" - \overline{{d}}{square.index}" if scheme.divides_by_variance else ""
    return (
        rf"\frac{{1}}{{{_below(scheme, formula_parts)}}}\left({d}{mean} - "
        rf"{formula_parts.hat}\,{_along_hat(scheme, formula_parts)}\right)"
    )


def _along_hat(scheme: Scheme, formula_parts: FormulaParts) -> str:
    """Format the symbol of E[d x̂], a sum if x̂ has the fan-in."""
    both = rf"d\hat{{{formula_parts.tensor}}}"
    return (rf"\langle {both}\rangle" if scheme.per_fan_in else rf"\overline{{{both}}}") + formula_parts.averages[
        "B"
    ].index


def _parameters(scheme: Scheme, formula_parts: FormulaParts) -> Iterator[Formula]:
    """Yield ∂l/∂γ, ∂l/∂β and ∂l/∂ε, and for a pointwise scheme ∂l/∂α and ∂l/∂s."""
    dy = _by("y" + formula_parts.element)
    if scheme.gain is not None:
        gain = format_gain_symbol(scheme) + _along(scheme.gain)
        base = formula_parts.hat if scheme.has_xhat else formula_parts.centred + formula_parts.element
        yield Formula("gain", rf"{_by(gain)} = {_sum(scheme, scheme.gain)}{dy}\,{base}")
    if scheme.bias is not None:
        bias = r"\beta" + _along(scheme.bias)
        yield Formula("bias", f"{_by(bias)} = {_sum(scheme, scheme.bias)}{dy}")
    if scheme.function is not None:
        alpha = r"\alpha"
        moved = rf"{_sum(scheme, ())}d{formula_parts.element}\,{_slope(scheme, formula_parts)}"
        yield Formula("inside", rf"{_by(alpha)} = {moved}\,{formula_parts.tensor}{formula_parts.element}")
        if scheme.shift is not None:
            yield Formula("inside", f"{_by('s')} = {moved}")
    if scheme.suppression is not None and scheme.eps is not None and not scheme.spectral:
        if scheme.whitens:
            total = r"\sum_{n,h,w} d_{nhw}^\top\,(\Sigma+\varepsilon I)^{-3/2}\,v_{nhw}"
            yield Formula("smoothing", rf"\frac{{\partial l}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")
            return
        cube = _cube(formula_parts, "", "")
        element, centred = formula_parts.element, formula_parts.centred
        total = rf"{_sum(scheme, ())}\frac{{d{element}\,{centred}{element}}}{{{cube}}}"
        yield Formula("smoothing", rf"\frac{{\partial l}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")


def _incoming(scheme: Scheme, formula_parts: FormulaParts) -> str:
    """Format ∂l/∂x̂, or ∂l/∂v if nothing divides: ∂l/∂y times the gain."""
    if scheme.acts and scheme.gain is None and scheme.bias is None:
        return _by(formula_parts.hat)
    gain = "" if scheme.gain is None else rf"{format_gain_symbol(scheme)}{_along(scheme.gain)}\,"
    return gain + _by("y" + formula_parts.element)


def _slope(scheme: Scheme, formula_parts: FormulaParts) -> str:
    """Format f'(αx + s) of a pointwise scheme."""
    assert scheme.function is not None
    return scheme.function.slope_latex.format(
        u=format_argument_latex(scheme, formula_parts.tensor + formula_parts.element)
    )


def _below(scheme: Scheme, formula_parts: FormulaParts) -> str:
    """Format the divisor, with the square root of the fan-in if x̂ has that."""
    if not scheme.per_fan_in:
        return formula_parts.below
    sizes = "".join(term.size for term in formula_parts.averages["B"].terms if term.size)
    return rf"\sqrt{{{sizes}}}\,{formula_parts.below}"


def _cube(formula_parts: FormulaParts, index: str, neighbour: str) -> str:
    """Format (σ² + ε)^{3/2}, under the index of a neighbour."""
    inside = formula_parts.below.removeprefix(r"\sqrt{").removesuffix("}")
    if index:
        inside = inside.replace(index, neighbour, 1)
    return rf"({inside})^{{3/2}}"


def _by(variable: str) -> str:
    return rf"\frac{{\partial l}}{{\partial {variable}}}"


def _along(axes: tuple[str, ...]) -> str:
    return format_subscript("".join(AXIS_NAMES[axis].letter for axis in axes))


def _sum(scheme: Scheme, kept: tuple[str, ...]) -> str:
    """Format the sum over all axes except the kept ones."""
    letters = [AXIS_NAMES[axis].letter for axis in scheme.axes if axis not in kept]
    return rf"\sum_{{{','.join(letters)}}} " if letters else ""
