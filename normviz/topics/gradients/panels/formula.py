"""The panel "Formula": the backward pass of a scheme, and its numbers on a small tensor, computed in several ways."""

from collections.abc import Sequence

import numpy as np
import streamlit as st

from normviz.core.registry import Scheme
from normviz.core.text import format_number, join_words, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.describe import wording
from normviz.describe.backward import build_backward_formulas
from normviz.describe.kinds import KIND_FORMULAS
from normviz.describe.snippets import BACKWARD_FRAMEWORKS, format_backward_snippet
from normviz.describe.symbols import Formula
from normviz.topics.gradients import autograd
from normviz.topics.gradients.figures import draw_tensor_map
from normviz.topics.gradients.small import GradientComparison, SmallTensors, compare_gradients, make_small_tensors
from normviz.topics.gradients.state import get_page_eps, get_page_scheme, get_tensor_shape
from normviz.ui.link import View
from normviz.web.components.plot import show_figure
from normviz.web.plot_message import DrawnFigure

ROUNDING = RELATIVE_TOLERANCES["float64"]

GRADIENT_NAMES = {"dx": "∂L/∂x", "dgain": "∂L/∂γ", "dbias": "∂L/∂β", "deps": "∂L/∂ε"}

LINE_SYMBOLS = {"gain": "γ", "bias": "β", "smoothing": "ε"}
"""The symbol of each line that is a gradient of something other than x."""

WEIGHTS_PREFIX = "weights: "
"""Start of the names of lines about the weights before the layer."""

_ROWS = (("incoming",), ("mean", "along"), ("divided",), ("input",), ("gain", "bias", "smoothing"), ("inside",))
"""The lines that stand beside each other if there is room."""

cached_comparison = st.cache_data(max_entries=64, show_spinner=False)(compare_gradients)
cached_autograd = st.cache_data(max_entries=64, show_spinner="PyTorch computes the same …")(
    autograd.differentiate_by_autograd
)


def show_formula(view: View, theme: str) -> None:
    """Show formulas of the scheme's backward pass, gradients of a small tensor, and how other computations differ."""
    scheme, eps, shape = get_page_scheme(view), get_page_eps(view), get_tensor_shape(view)
    scheme.check(shape)
    at = make_small_tensors(scheme, shape, view["seed"])
    both = cached_comparison(scheme, at, eps)
    left, right = st.columns([5, 4], gap="large")
    with left:
        _show_formulas(scheme)
        show_weight_scheme_note(scheme)
    with right:
        _show_gradient_maps(scheme, at, both, eps, theme)
    _show_comparison(scheme, at, both, eps, view["torch"])
    with st.expander("As code"):
        for tab, framework in zip(st.tabs(BACKWARD_FRAMEWORKS), BACKWARD_FRAMEWORKS, strict=True):
            tab.code(format_backward_snippet(scheme, framework, shape, eps), "python")


def show_weight_scheme_note(scheme: Scheme) -> None:
    """Show a note for schemes that also normalize weights, which the page's small tensor does not show."""
    said = wording.explain_weight_scheme([scheme])
    if said:
        st.caption(f"{said} Table 1 trains a layer with weights.")


def _show_formulas(scheme: Scheme) -> None:
    """Show the scheme's backward formulas, first those on the way to ∂L/∂x, under a title."""
    lines = build_backward_formulas(scheme)
    there = {line.name for line in lines}
    symbols = (symbol for name, symbol in LINE_SYMBOLS.items() if name in there)
    found = join_words(["∂L/∂x", *symbols, *scheme.function_parameters], "and")
    st.markdown(
        f"**{wording.capitalize_first(wording.format_scheme_name(scheme))}, backwards**: from ∂L/∂y to {found}."
    )
    _show_formula_rows([line for line in lines if not line.name.startswith(WEIGHTS_PREFIX)])
    front = [
        line._replace(name=line.name.removeprefix(WEIGHTS_PREFIX))
        for line in lines
        if line.name.startswith(WEIGHTS_PREFIX)
    ]
    if front:
        st.markdown("And from the weights that the layer uses to those that are learned:")
        _show_formula_rows(front)
    where = [f"${line.latex}$" for line in lines if line.name.endswith("where")]
    if where:
        st.caption("where " + " · ".join(where))


def _show_formula_rows(lines: Sequence[Formula]) -> None:
    """Show formulas as LaTeX in rows, with related formulas in one row."""
    for row in arrange_formulas(lines):
        with st.container(horizontal=True, gap="medium", horizontal_alignment="center"):
            for line in row:
                st.latex(line.latex, width="content")


def arrange_formulas(lines: Sequence[Formula]) -> list[list[Formula]]:
    """Return the formulas in rows, with related formulas in one row."""
    return [[line for line in lines if line.name in names] for names in _ROWS]


def _show_gradient_maps(
    scheme: Scheme, tensors: SmallTensors, comparison: GradientComparison, eps: float, theme: str
) -> None:
    """Show ∂L/∂x̂ and ∂L/∂x as heat maps, and sums of the gradient that normalization sets to 0."""
    for key in ("incoming", "outgoing"):
        drawn = draw_gradient_map(comparison, key, theme)
        show_figure(drawn.figure, key, drawn.alt, drawn.height)
    st.markdown(describe_gradient_invariances(scheme, eps))
    st.table(tabulate_sums(tensors, comparison), border="horizontal")


def draw_gradient_map(comparison: GradientComparison, key: str, theme: str) -> DrawnFigure:
    """Return a heat map of ∂L/∂x̂ for the key "incoming", or of ∂L/∂x for "outgoing"."""
    title, values, zero = {
        "incoming": ("d comes in", comparison.formula.dxhat, 0.0),
        "outgoing": ("∂L/∂x goes out", comparison.formula.dx, ROUNDING * comparison.frozen),
    }[key]
    largest = format_number(np.abs(values).max(), zero_threshold=zero)
    alt = f"{title}: a heat map of {wording.format_shape(values.shape)} numbers, the largest {largest}."
    return DrawnFigure(draw_tensor_map(values, title, theme, zero), alt, "11.5rem")


def tabulate_sums(tensors: SmallTensors, comparison: GradientComparison) -> dict[str, list[str]]:
    """Return the columns of a table, by name, with the sums of ∂L/∂x̂ and ∂L/∂x, and of their products with x."""
    d, dx = comparison.formula.dxhat, comparison.formula.dx
    rows: dict[str, list[str]] = {"": [], "d": [], "∂L/∂x": []}
    for name, factor in (("sum", np.ones(tensors.x.shape)), ("sum of x times it", tensors.x)):
        least = ROUNDING * comparison.frozen * float(np.abs(factor).sum())
        rows[""].append(name)
        rows["d"].append(format_number((factor * d).sum(), 4, ROUNDING * float(np.abs(factor * d).sum())))
        rows["∂L/∂x"].append(format_number((factor * dx).sum(), 4, least))
    return rows


def describe_gradient_invariances(scheme: Scheme, eps: float) -> str:
    """Return a sentence in bold on the sums of ∂L/∂x, or ∂L/∂W, that the scheme's invariances set to 0."""
    letter = {"activation": "x", "weight": "W"}[scheme.tensor]
    shift = f"a shift of all {letter} changes nothing, so ∂L/∂{letter} sums to 0"
    factor = f"a factor of all {letter} changes nothing, so {letter} · ∂L/∂{letter} sums to 0"
    if eps:
        product = f"{letter} · ∂L/∂{letter}"
        factor = f"a factor of all {letter} acts only through ε = {typeset(eps)}, so {product} shrinks with ε"
    parts = [*([shift] if scheme.summation is not None else []), *([factor] if scheme.suppression is not None else [])]
    said = "; ".join(parts) or KIND_FORMULAS[scheme.kind.key].kept
    return f"**{wording.capitalize_first(said)}.**"


def _show_comparison(
    scheme: Scheme, tensors: SmallTensors, comparison: GradientComparison, eps: float, has_autograd: bool
) -> None:
    """Show by gradient its largest value, and how far central differences and, if wanted, autograd are from it."""
    exact = comparison.formula
    others = {"central differences": comparison.differences}
    if has_autograd:
        others["autograd (PyTorch)"] = cached_autograd(scheme, tensors, eps)
    rows = [name for name in GRADIENT_NAMES if name in comparison.differences and _is_learned(scheme, name)]
    columns = {"": [GRADIENT_NAMES[name].replace("γ", scheme.gain_symbol) for name in rows]}
    columns["numbers"] = [f"{np.size(getattr(exact, name))}" for name in rows]
    columns["the largest, by the formula"] = [_format_largest(exact, name, comparison) for name in rows]
    for other, found in others.items():
        columns[f"difference from {other}"] = [
            _format_difference(getattr(exact, name), found.get(name), comparison, name) for name in rows
        ]
    st.table(columns, border="horizontal")
    held = KIND_FORMULAS[scheme.kind.key].constant
    st.caption(
        f"Differences of ∂L/∂x: the largest, relative to the largest ∂L/∂x that there would be if {held}; of the "
        "others, relative to the largest number. Central differences have an error of their own, of a step that is "
        f"finite and of rounding{'; ∂L/∂ε takes them to one side, since ε may be 0' if 'deps' in rows else ''}."
    )


def _is_learned(scheme: Scheme, name: str) -> bool:
    return {"dgain": scheme.gain, "dbias": scheme.bias}.get(name, ()) is not None


def _format_largest(exact: object, name: str, comparison: GradientComparison) -> str:
    value = np.abs(getattr(exact, name)).max()
    return format_number(value, 4, ROUNDING * comparison.frozen if name == "dx" else 0.0)


def _format_difference(exact: np.ndarray, other: np.ndarray | None, comparison: GradientComparison, name: str) -> str:
    if other is None:
        return "–"
    scale = comparison.frozen if name == "dx" else float(np.abs(exact).max()) or 1.0
    gap = float(np.abs(exact - other).max()) / scale
    return format_number(gap, 2)
