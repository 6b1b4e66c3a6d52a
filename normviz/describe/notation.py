"""The formulas of schemes and transformations in LaTeX.

Those of a scheme derive from its fields, of whose averages they are made.
"""

from collections.abc import Iterator, Sequence
from math import isinf, isnan

from normviz.core.fields import AXES, AXIS_NAMES
from normviz.core.registry import Scheme
from normviz.core.transformations import Transformation
from normviz.describe.averages import build_averages, format_subscript
from normviz.describe.kinds import KIND_FORMULAS
from normviz.describe.symbols import (
    Formula,
    FormulaSymbols,
    format_dividend,
    format_element_subscript,
    format_gain_symbol,
    format_mean_subtraction,
    format_xhat,
)

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
    "gradient of g": r"\nabla_g L = \nabla_w L\cdot\frac{v}{\lVert v\rVert}",
    "gradient of v": (
        r"\nabla_v L = \frac{g}{\lVert v\rVert}\left(\nabla_w L - \nabla_g L\,\frac{v}{\lVert v\rVert}\right)\perp v"
    ),
    "growth": r"\lVert v'\rVert^2 = \lVert v\rVert^2 + \eta^2\lVert\nabla_v L\rVert^2",
}
"""Weight norm, its gradients (Salimans & Kingma 2016, eq. 2 and 3), and how a step of learning rate η lengthens v."""


def build_formula_symbols(scheme: Scheme) -> FormulaSymbols:
    """Build the LaTeX parts of a scheme's formulas; `below`, the divisor, is empty if nothing divides."""
    centred, element, hat = format_dividend(scheme), format_element_subscript(scheme), format_xhat(scheme)
    below = KIND_FORMULAS[scheme.kind.key].format_divisor(scheme)
    return FormulaSymbols(scheme.symbol, centred, element, hat, below, build_averages(scheme))


def build_formulas(scheme: Scheme) -> list[Formula]:
    r"""Build the formulas that define a scheme: mean, centred, variance or mean square, normalized, output, activation.

    The list has only the lines that the scheme needs, and the definitions for them last. The statistic of an element
    has its own index, as in \mu_{nc} = \frac{1}{HW}\sum_{h,w} x_{nhwc} for fields that are full over H and W. ε is left
    out if the scheme has none. The lines of the weight scheme in front of it come first.
    """
    return [
        *_build_weight_formulas(scheme),
        *_define_statistics(scheme),
        *KIND_FORMULAS[scheme.kind.key].define_xhat(scheme),
        *_define_output(scheme),
        *_define_remaining_symbols(scheme),
    ]


def build_main_formulas(scheme: Scheme) -> list[Formula]:
    """List the formulas of a scheme's weight scheme, if any, then those of its mean, divisor and x̂."""
    front = [line for line in _build_weight_formulas(scheme) if line.name != "weights: where"]
    shown = ("mean", "variance", "mean square", "largest singular value", "covariance", "normalized")
    own = [*_define_statistics(scheme), *KIND_FORMULAS[scheme.kind.key].define_xhat(scheme)]
    return [*front, *(line for line in own if line.name in shown)]


def format_preactivation_change(change: Transformation, layer: str) -> str:
    """Format the effect of a change of weights or data on pre-activations: "a' = s·a" or "a' = a + t", with indices."""
    axes = ("N", "C") if layer == "dense" else AXES["activation"]

    def indexed(symbol: str, along: Sequence[str]) -> str:
        letters = "".join(AXIS_NAMES[axis].letter for axis in axes if axis in along)
        return f"{symbol}_{{{letters}}}" if letters else symbol

    before, after = indexed("a", axes), indexed("a'", axes)
    if change.factor is None:
        return f"{after} = {before} + {indexed('t', change.shift[layer])}"
    return rf"{after} = {indexed('s', change.factor)}\, {before}"


def format_latex_number(value: float) -> str:
    r"""Format a number in LaTeX with four digits: 0.3142, -2, 1.5\cdot10^{-7}, 10^{-5}, \infty, \text{NaN}."""
    if isnan(value):
        return r"\text{NaN}"
    if isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    mantissa, _, exponent = f"{value + 0.0:.4g}".partition("e")  # + 0.0 makes -0 plain 0
    if not exponent:
        return mantissa
    power = f"10^{{{int(exponent)}}}"
    return {"1": power, "-1": f"-{power}"}.get(mantissa, rf"{mantissa}\cdot{power}")


def _define_statistics(scheme: Scheme) -> Iterator[Formula]:
    """Yield the formulas of the mean, the centred element and the divisor."""
    x, index = scheme.symbol, format_element_subscript(scheme)
    averages = build_averages(scheme)
    if "A" in averages:
        mean = averages["A"]
        yield Formula("mean", rf"\mu{mean.statistic_index} = {mean.prefix}{x}{mean.summand_index}")
        yield Formula("centred", rf"v{index} = {format_mean_subtraction(scheme)}")
    yield from KIND_FORMULAS[scheme.kind.key].define_divisor(scheme)


def _define_output(scheme: Scheme) -> Iterator[Formula]:
    """Yield the formula of y = γ x̂ + β if there are learned parameters, and of max(y, τ) if there is a threshold."""
    if scheme.has_effect and scheme.gain is None and scheme.bias is None:
        return
    base = format_xhat(scheme) if scheme.has_xhat else format_dividend(scheme) + format_element_subscript(scheme)
    gain, bias = (
        None if axes is None else symbol + format_subscript("".join(AXIS_NAMES[axis].letter for axis in axes))
        for symbol, axes in ((format_gain_symbol(scheme), scheme.gain), (r"\beta", scheme.bias))
    )
    product = base if gain is None else f"{gain} {base}"
    yield Formula("output", f"y{format_element_subscript(scheme)} = {product}{'' if bias is None else f' + {bias}'}")
    if scheme.threshold is not None:
        threshold = r"\tau" + format_subscript("".join(AXIS_NAMES[axis].letter for axis in scheme.threshold))
        yield Formula(
            "activation",
            rf"z{format_element_subscript(scheme)} = \max(y{format_element_subscript(scheme)}, {threshold})",
        )


def _define_remaining_symbols(scheme: Scheme) -> Iterator[Formula]:
    """Yield the formulas that define symbols in the other formulas: group sizes, windows, lengths and matrices."""
    averages = build_averages(scheme)
    explained = [term.where for average in averages.values() for term in average.terms if term.where]
    yield from (Formula("where", text) for text in dict.fromkeys(explained))
    yield from KIND_FORMULAS[scheme.kind.key].define_terms(scheme)


def _build_weight_formulas(scheme: Scheme) -> Iterator[Formula]:
    weight = scheme.weight_part
    if weight is None or weight is scheme:
        return
    yield from (Formula(f"weights: {name}", latex) for name, latex in build_formulas(weight))
    used = rf"y{format_element_subscript(weight)}" if weight.gain or weight.bias else format_xhat(weight)
    yield Formula(
        "where",
        rf"{scheme.symbol}{format_element_subscript(scheme)} \text{{ is the layer's sum with the weights }} {used}",
    )
