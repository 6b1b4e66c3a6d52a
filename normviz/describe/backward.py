r"""The backward pass of a scheme in LaTeX, derived from its fields as its formula is.

With d = ∂l/∂x̂ and the transposed averages E_Aᵀ and E_Bᵀ,

    ∂l/∂v = d/σ - v E_Bᵀ[d v/σ³],   ∂l/∂x = ∂l/∂v - E_Aᵀ[∂l/∂v]      (σ with ε under its root)

An average over boxes that do not overlap is its own transpose, and σ is constant in a box: then ∂l/∂v is
(d - x̂ E_B[d x̂])/σ, and where A and B are one field, ∂l/∂x = (d - E[d] - x̂ E[d x̂])/σ. It is called d, not g, which
counts groups and is weight norm's gain.
"""

from collections.abc import Iterator

from normviz.core.fields import AXIS
from normviz.core.registry import Scheme
from normviz.describe.averages import subscript
from normviz.describe.notation import Formula, Parts, formulas, gain_letter, inside, parts

SPECTRAL = (
    Formula("incoming", r"d = \frac{\partial l}{\partial\hat W}"),
    Formula(
        "input",
        r"\frac{\partial l}{\partial W} = \frac{1}{\sigma_{\max}}\left(d-\langle d,\hat W\rangle\,a\,b^\top\right)",
    ),
    Formula("where", r"a,\ b\text{: the singular vectors of }W\text{ of }\sigma_{\max}"),
)
"""That of spectral norm, which has no fields (Miyato et al. 2018, eq. 12)."""


WHITENED = (
    Formula("along", r"S = \frac{1}{2}\sum_{n,h,w}\left(v_{nhw}\,d_{nhw}^\top + d_{nhw}\,v_{nhw}^\top\right)"),
    Formula(
        "divided",
        r"\frac{\partial l}{\partial v_{nhw}} = R\,d_{nhw} + \frac{2}{NHW}\,"
        r"Q\left(K\circ Q^\top S\,Q\right)Q^\top\,v_{nhw}",
    ),
)
"""That of whitening up to the centred vectors of one group's channels (after Huang et al. 2018)."""

EIGENVECTORS = Formula(
    "where",
    r"R = (\Sigma+\varepsilon I)^{-1/2},\quad \Sigma = Q\,\mathrm{diag}(\lambda)\,Q^\top,\quad "
    r"K_{ij} = \frac{-1}{\sqrt{\lambda_i+\varepsilon}"
    r"\sqrt{\lambda_j+\varepsilon}\left(\sqrt{\lambda_i+\varepsilon}+\sqrt{\lambda_j+\varepsilon}\right)}",
)
"""What it takes."""


def backward_formulas(scheme: Scheme) -> list[Formula]:
    r"""The lines of the backward pass: incoming, averages, divided, input; then gain, bias, smoothing and where.

    Only those that the scheme has. A scheme with weights normalized in front of it ends with the lines of these.
    """
    own = [*_input(scheme, parts(scheme)), *_parameters(scheme, parts(scheme))]
    where = [line for line in formulas(scheme) if line.name == "where"]
    where = [EIGENVECTORS, *where] if scheme.whitens else where
    weights = scheme.on_weights
    if weights is None or weights is scheme:
        return [*own, *where]
    front = backward_formulas(weights)
    return [*own, *where, *(Formula(f"weights: {name}", latex) for name, latex in front)]


def _input(scheme: Scheme, of: Parts) -> Iterator[Formula]:
    """From ∂l/∂y to ∂l/∂x."""
    d, dx = "d" + of.element, _by(of.tensor + of.element)
    if scheme.spectral:
        yield from SPECTRAL
        return
    yield Formula("incoming", f"{d} = {_incoming(scheme, of)}")
    before = d
    if scheme.function is not None:
        yield Formula("input", rf"{dx} = {d}\,\alpha\,{_slope(scheme, of)}")
        return
    if scheme.whitens:
        yield from WHITENED
        before = _by(of.centred + of.element)
    elif scheme.suppression is not None:
        yield from _averages(scheme, of)
        before = _divided(scheme, of)
        if scheme.summation is None or scheme.divides_by_variance:
            yield Formula("input", f"{dx} = {before}")
            return
        yield Formula("divided", f"{_by(of.centred + of.element)} = {before}")
        before = _by(of.centred + of.element)
    if scheme.summation is None:
        yield Formula("input", f"{dx} = {before}")
        return
    summed = of.averages["A"]
    summand = f"d{summed.summand}" if scheme.suppression is None else _by(of.centred + summed.summand)
    yield Formula("input", f"{dx} = {before} - {summed.given_back(summand)}")


def _averages(scheme: Scheme, of: Parts) -> Iterator[Formula]:
    """E[d x̂], and E[d] where A and B are one field; of windows nothing, whose σ stays under the sum."""
    square = of.averages["B"]
    if square.moving:
        return
    hat = of.hat.removesuffix(of.element) + square.summand
    over = square.sums if scheme.per_fan_in else square.over  # the fan-in in x̂ takes up that of the mean
    if scheme.divides_by_variance:
        yield Formula("mean", rf"\overline{{d}}{square.index} = {square.over}d{square.summand}")
    yield Formula("along", rf"{_along_hat(scheme, of)} = {over}d{square.summand}\,{hat}")


def _divided(scheme: Scheme, of: Parts) -> str:
    """∂l/∂v; where A and B are one field, the mean is taken out as well, and it is ∂l/∂x."""
    square, d = of.averages["B"], "d" + of.element
    if square.moving:
        cube = _cube(of, square.index, square.neighbour)
        back = square.given_back(rf"\frac{{d{square.summand}\,{of.centred}{square.summand}}}{{{cube}}}")
        return rf"\frac{{{d}}}{{{of.below}}} - {of.centred}{of.element}\,{back}"
    mean = rf" - \overline{{d}}{square.index}" if scheme.divides_by_variance else ""
    return rf"\frac{{1}}{{{_below(scheme, of)}}}\left({d}{mean} - {of.hat}\,{_along_hat(scheme, of)}\right)"


def _along_hat(scheme: Scheme, of: Parts) -> str:
    """What E[d x̂] is called; a sum where x̂ has the fan-in."""
    both = rf"d\hat{{{of.tensor}}}"
    return (rf"\langle {both}\rangle" if scheme.per_fan_in else rf"\overline{{{both}}}") + of.averages["B"].index


def _parameters(scheme: Scheme, of: Parts) -> Iterator[Formula]:
    """∂l/∂γ, ∂l/∂β and ∂l/∂ε; of a pointwise scheme ∂l/∂α and ∂l/∂s."""
    dy = _by("y" + of.element)
    if scheme.gain is not None:
        gain = gain_letter(scheme) + _along(scheme.gain)
        base = of.hat if scheme.has_xhat else of.centred + of.element
        yield Formula("gain", rf"{_by(gain)} = {_sum(scheme, scheme.gain)}{dy}\,{base}")
    if scheme.bias is not None:
        bias = r"\beta" + _along(scheme.bias)
        yield Formula("bias", f"{_by(bias)} = {_sum(scheme, scheme.bias)}{dy}")
    if scheme.function is not None:
        alpha = r"\alpha"
        moved = rf"{_sum(scheme, ())}d{of.element}\,{_slope(scheme, of)}"
        yield Formula("inside", rf"{_by(alpha)} = {moved}\,{of.tensor}{of.element}")
        if scheme.shift is not None:
            yield Formula("inside", f"{_by('s')} = {moved}")
    if scheme.suppression is not None and scheme.eps is not None and not scheme.spectral:
        if scheme.whitens:
            total = r"\sum_{n,h,w} d_{nhw}^\top\,(\Sigma+\varepsilon I)^{-3/2}\,v_{nhw}"
            yield Formula("smoothing", rf"\frac{{\partial l}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")
            return
        cube = _cube(of, "", "")
        total = rf"{_sum(scheme, ())}\frac{{d{of.element}\,{of.centred}{of.element}}}{{{cube}}}"
        yield Formula("smoothing", rf"\frac{{\partial l}}{{\partial\varepsilon}} = -\frac{{1}}{{2}}{total}")


def _incoming(scheme: Scheme, of: Parts) -> str:
    """∂l/∂x̂, or ∂l/∂v where nothing divides: what comes from y, times the gain."""
    if scheme.acts and scheme.gain is None and scheme.bias is None:
        return _by(of.hat)
    gain = "" if scheme.gain is None else rf"{gain_letter(scheme)}{_along(scheme.gain)}\,"
    return gain + _by("y" + of.element)


def _slope(scheme: Scheme, of: Parts) -> str:
    """f'(αx + s) of a pointwise scheme."""
    assert scheme.function is not None
    return scheme.function.slope_latex.format(u=inside(scheme, of.tensor + of.element))


def _below(scheme: Scheme, of: Parts) -> str:
    """What divides, with the square root of the fan-in where x̂ has that."""
    if not scheme.per_fan_in:
        return of.below
    return rf"\sqrt{{{''.join(size for size in (term.size for term in of.averages['B'].terms) if size)}}}\,{of.below}"


def _cube(of: Parts, index: str, neighbour: str) -> str:
    """(σ² + ε)^{3/2}, under the index of a neighbour."""
    inside = of.below.removeprefix(r"\sqrt{").removesuffix("}")
    if index:
        inside = inside.replace(index, neighbour, 1)
    return rf"({inside})^{{3/2}}"


def _by(variable: str) -> str:
    return rf"\frac{{\partial l}}{{\partial {variable}}}"


def _along(axes: tuple[str, ...]) -> str:
    return subscript("".join(AXIS[axis].letter for axis in axes))


def _sum(scheme: Scheme, kept: tuple[str, ...]) -> str:
    """The sum over all axes but those that are kept."""
    letters = [AXIS[axis].letter for axis in scheme.axes if axis not in kept]
    return rf"\sum_{{{','.join(letters)}}} " if letters else ""
