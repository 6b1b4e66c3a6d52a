"""The formulas of schemes and transformations in LaTeX.

Those of a scheme derive from its fields, of whose averages they are made.
"""

from collections.abc import Iterator, Sequence
from math import isinf, isnan
from typing import NamedTuple

from normviz.core.fields import AXES, AXIS_NAMES, FULL, OWN, Field
from normviz.core.registry import Scheme
from normviz.core.transformations import Transformation
from normviz.describe.averages import AverageFormula, build_averages, format_axis_size, format_subscript

TENSOR_SYMBOLS = {"weight": "w"}
"""The symbol of the normalized tensor by `Scheme.acts_on`; otherwise x."""

CHANGE_FORMULAS = {
    "weight-matrix-rescaling": r"W' = \delta W",
    "weight-matrix-recentering": r"w_i' = w_i + \tau \text{ for every unit } i",
    "weight-vector-rescaling": r"w_i' = \delta w_i \text{ for one unit } i",
    "dataset-rescaling": r"x' = \delta x",
    "dataset-recentering": r"x' = x + \tau \text{ for every example}",
    "case-rescaling": r"x_n' = \delta x_n \text{ for one example } n",
}
"""The change by the key of a transformation: `Transformation.plain` in LaTeX."""

WEIGHT_NORM_FORMULAS = {
    "weights": r"w = g\,\frac{v}{\lVert v\rVert}",
    "gradient of g": r"\nabla_g l = \nabla_w l\cdot\frac{v}{\lVert v\rVert}",
    "gradient of v": (
        r"\nabla_v l = \frac{g}{\lVert v\rVert}\left(\nabla_w l - \nabla_g l\,\frac{v}{\lVert v\rVert}\right)\perp v"
    ),
    "growth": r"\lVert v'\rVert^2 = \lVert v\rVert^2 + \eta^2\lVert\nabla_v l\rVert^2",
}
"""Weight norm, its gradients (Salimans & Kingma 2016, eq. 2 and 3), and how a step of learning rate η lengthens v."""


class Formula(NamedTuple):
    """One line: what it says in words (mean, centred, variance, mean square, normalized, output, …), and LaTeX."""

    name: str
    latex: str


class FormulaParts(NamedTuple):
    """The parts of a scheme's formulas, in LaTeX.

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


def build_formula_parts(scheme: Scheme) -> FormulaParts:
    """Return the parts of a scheme's formulas; `below` is empty if nothing divides."""
    eps = "" if scheme.eps is None else r"+\varepsilon"
    divides = scheme.suppression is not None and not scheme.spectral
    below = rf"\sqrt{{{_mean_square(scheme)}{eps}}}" if divides else r"\sigma_{\max}" if scheme.spectral else ""
    return FormulaParts(
        _symbol(scheme), _centred(scheme), _element(scheme), _hat(scheme), below, build_averages(scheme)
    )


def build_formulas(scheme: Scheme) -> list[Formula]:
    r"""Build the lines that define a scheme: mean, centred, variance or mean square, normalized, output, activation.

    The list has only the lines that the scheme needs, and the definitions for them last. The statistic of an element
    has its own index, as in \mu_{nc} = \frac{1}{HW}\sum_{h,w} x_{nhwc} for fields that are full over H and W. ε is left
    out if the scheme has none. The lines of the weight scheme in front of it come first.
    """
    return [*_weights_in_front(scheme), *_statistics(scheme), *_normalized(scheme), *_output(scheme), *_where(scheme)]


def build_main_formulas(scheme: Scheme) -> list[Formula]:
    """Build the lines of a scheme's statistics and x̂, after the lines of the weight scheme in front of it."""
    front = [line for line in _weights_in_front(scheme) if line.name != "weights: where"]
    shown = ("mean", "variance", "mean square", "largest singular value", "covariance", "normalized")
    own = [*_statistics(scheme), *_normalized(scheme)]
    return [*front, *(line for line in own if line.name in shown)]


def format_sum_change(change: Transformation, layer: str) -> str:
    """Format the effect of a transformation on the pre-activations, a' = s·a + t, with the indices of s and t."""
    axes = ("N", "C") if layer == "dense" else AXES["activation"]

    def indexed(symbol: str, along: Sequence[str]) -> str:
        letters = "".join(AXIS_NAMES[axis].letter for axis in axes if axis in along)
        return f"{symbol}_{{{letters}}}" if letters else symbol

    before, after = indexed("a", axes), indexed("a'", axes)
    if change.factor is None:
        return f"{after} = {before} + {indexed('t', change.shift[layer])}"
    return rf"{after} = {indexed('s', change.factor)}\, {before}"


def format_latex_number(value: float, digits: int = 4) -> str:
    r"""Return a number in LaTeX, to some digits: 0.3142, -2, 1.5\cdot10^{-7}, 10^{-5}, \infty, \text{NaN}."""
    if isnan(value):
        return r"\text{NaN}"
    if isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    mantissa, _, exponent = f"{value + 0.0:.{digits}g}".partition("e")  # + 0.0 makes -0 plain 0
    if not exponent:
        return mantissa
    power = f"10^{{{int(exponent)}}}"
    return {"1": power, "-1": f"-{power}"}.get(mantissa, rf"{mantissa}\cdot{power}")


def _statistics(scheme: Scheme) -> Iterator[Formula]:
    """Yield the mean, the centred element, and the divisor."""
    x, index = _symbol(scheme), _element(scheme)
    averages = build_averages(scheme)
    if "A" in averages:
        mean = averages["A"]
        yield Formula("mean", rf"\mu{mean.index} = {mean.prefix}{x}{mean.summand}")
        yield Formula("centred", rf"v{index} = {_difference(scheme)}")
    if scheme.spectral:
        yield Formula("largest singular value", r"\sigma_{\max}(W) = \max_{\lVert a\rVert=1}\lVert Wa\rVert")
    elif scheme.whitens:
        together = averages["B"].terms[-1].sum.removeprefix(r"\sum_{c").removesuffix("}")
        within = rf",\quad c,j{together}" if together else ""
        yield Formula("covariance", rf"\Sigma_{{cj}} = {averages['A'].prefix}v{index} v{_beside(scheme)}{within}")
    elif "B" in averages:
        square = averages["B"]
        summand = f"({_difference(scheme)})" if scheme.divides_by_variance else f"{_centred(scheme)}{square.summand}"
        name = "variance" if scheme.divides_by_variance else "mean square"
        yield Formula(name, f"{_mean_square(scheme)} = {square.prefix}{summand}^2")


def _normalized(scheme: Scheme) -> Iterator[Formula]:
    if scheme.pointwise is not None:
        yield Formula(
            "normalized", f"{_hat(scheme)} = {format_function_latex(scheme, _symbol(scheme) + _element(scheme))}"
        )
        return
    if scheme.suppression is None:
        return
    if scheme.spectral:
        yield Formula("normalized", r"\hat{W} = \frac{W}{\sigma_{\max}(W)}")
        return
    if scheme.whitens:
        over = build_averages(scheme)["B"].terms[-1].sum.replace("{c", "{j") or r"\sum_j"
        root = r"\big[(\Sigma+\varepsilon I)^{-1/2}\big]_{cj}"
        yield Formula("normalized", rf"{_hat(scheme)} = {over} {root}\, v{_beside(scheme)}")
        return
    numerator = _difference(scheme) if scheme.divides_by_variance else _centred(scheme) + _element(scheme)
    eps = "" if scheme.eps is None else r"+\varepsilon"
    scale = rf"\frac{{1}}{{\sqrt{{{_fan_in(scheme)}}}}}" if scheme.per_fan_in else ""
    quotient = rf"\frac{{{numerator}}}{{\sqrt{{{_mean_square(scheme)}{eps}}}}}"
    yield Formula("normalized", f"{_hat(scheme)} = {scale}{quotient}")


def format_argument_latex(scheme: Scheme, x: str, alpha: str = r"\alpha", shift: str = "s") -> str:
    """Format αx + s of a pointwise scheme, in LaTeX."""
    return f"{alpha} {x}" + ("" if scheme.shift is None else f" + {shift}")


def format_function_latex(scheme: Scheme, x: str) -> str:
    """Format f(αx + s) of a pointwise scheme, in LaTeX."""
    return rf"\operatorname{{{scheme.pointwise}}}({format_argument_latex(scheme, x)})"


def format_gain_symbol(scheme: Scheme) -> str:
    """Return the symbol of the gain, in LaTeX."""
    return {"γ": r"\gamma"}.get(scheme.gain_symbol, scheme.gain_symbol)


def _output(scheme: Scheme) -> Iterator[Formula]:
    """Yield y = γ x̂ + β with the parameters that the scheme learns, nothing if it learns none; then max(y, τ)."""
    if scheme.acts and scheme.gain is None and scheme.bias is None:
        return
    base = _hat(scheme) if scheme.has_xhat else _centred(scheme) + _element(scheme)
    gain, bias = (
        None if axes is None else symbol + format_subscript("".join(AXIS_NAMES[axis].letter for axis in axes))
        for symbol, axes in ((format_gain_symbol(scheme), scheme.gain), (r"\beta", scheme.bias))
    )
    product = base if gain is None else f"{gain} {base}"
    yield Formula("output", f"y{_element(scheme)} = {product}{'' if bias is None else f' + {bias}'}")
    if scheme.threshold is not None:
        threshold = r"\tau" + format_subscript("".join(AXIS_NAMES[axis].letter for axis in scheme.threshold))
        yield Formula("activation", rf"z{_element(scheme)} = \max(y{_element(scheme)}, {threshold})")


def _where(scheme: Scheme) -> Iterator[Formula]:
    """Yield the definitions of the groups, windows, lengths and matrices in the other lines."""
    averages = build_averages(scheme)
    explained = [term.where for average in averages.values() for term in average.terms if term.where]
    yield from (Formula("where", text) for text in dict.fromkeys(explained))
    if scheme.spectral:
        letters, out = _element(scheme), scheme.axes[-1]
        row = "".join(AXIS_NAMES[axis].letter for axis in scheme.axes[:-1])
        matrix = rf"W\in\mathbb{{R}}^{{{_fan_in(scheme)}\times {format_axis_size(out)}}}"
        yield Formula("where", rf"{matrix},\quad W_{{({row}){AXIS_NAMES[out].letter}}} = {_symbol(scheme)}{letters}")
    elif scheme.per_fan_in and scheme.eps is None and scheme.suppression == Field((FULL, FULL, FULL, OWN)):
        square, v = averages["B"], _centred(scheme)
        length = rf"\lVert {v}{square.index}\rVert"
        quotient = rf"{_hat(scheme)} = \frac{{{v}{_element(scheme)}}}{{{length}}}"
        yield Formula("where", rf"{quotient},\quad {length}^2 = {square.sums}{v}{square.summand}^2")


def _weights_in_front(scheme: Scheme) -> Iterator[Formula]:
    weight = scheme.on_weights
    if weight is None or weight is scheme:
        return
    yield from (Formula(f"weights: {name}", latex) for name, latex in build_formulas(weight))
    used = rf"y{_element(weight)}" if weight.gain or weight.bias else _hat(weight)
    yield Formula(
        "where", rf"{_symbol(scheme)}{_element(scheme)} \text{{ is the layer's sum with the weights }} {used}"
    )


def _symbol(scheme: Scheme) -> str:
    return TENSOR_SYMBOLS.get(scheme.acts_on, "x")


def _centred(scheme: Scheme) -> str:
    """Return the symbol of the dividend: v, or the tensor's symbol if nothing is centred."""
    return _symbol(scheme) if scheme.summation is None else "v"


def _hat(scheme: Scheme) -> str:
    return rf"\hat{{{_symbol(scheme)}}}{_element(scheme)}"


def _element(scheme: Scheme) -> str:
    return format_subscript("".join(AXIS_NAMES[axis].letter for axis in scheme.axes))


def _beside(scheme: Scheme) -> str:
    """Return the index of another channel j at the same position."""
    return format_subscript("".join(AXIS_NAMES[axis].letter for axis in scheme.axes[:-1]) + "j")


def _difference(scheme: Scheme) -> str:
    return rf"{_symbol(scheme)}{_element(scheme)}-\mu{build_averages(scheme)['A'].index}"


def _mean_square(scheme: Scheme) -> str:
    """Format the mean square: σ² of a centred tensor, otherwise a bar over the square."""
    symbol = rf"\overline{{{_symbol(scheme)}^2}}" if scheme.summation is None else r"\sigma^2"
    return symbol + build_averages(scheme)["B"].index


def _fan_in(scheme: Scheme) -> str:
    return "".join(map(format_axis_size, scheme.axes[:-1]))
