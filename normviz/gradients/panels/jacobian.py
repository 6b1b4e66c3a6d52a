"""The Jacobian as a matrix, the two directions that it maps to nothing, and the gradient without its off-diagonal."""

import numpy as np
import streamlit as st

from normviz.core.backward import diagonal_only
from normviz.core.schemes import Scheme
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.describe.wording import axes_of, plural
from normviz.gradients import projections
from normviz.gradients.jacobian_figures import jacobian_map
from normviz.gradients.panels.formula import by_autograd, in_front
from normviz.gradients.projections import Blocks, Directions
from normviz.gradients.small import Small, small
from normviz.gradients.state import eps_of, scheme_of, shape_of
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table

ROUNDING = RELATIVE["float64"]

found_directions = st.cache_data(max_entries=64, show_spinner=False)(projections.directions)


def jacobian(view: View, theme: str) -> None:
    """Show the matrix with its facts, and below it the gradient by the diagonal alone."""
    scheme, eps, shape = scheme_of(view), eps_of(view), shape_of(view)
    scheme.check(shape)
    at = small(scheme, shape, view["seed"])
    found, laid = found_directions(at.x, scheme, eps), projections.blocks(scheme, shape)
    left, right = st.columns([1, 1], gap="large")
    with left:
        _matrix(scheme, found, laid, shape, theme)
    with right:
        _facts(scheme, at, found, eps)
        in_front(scheme)
    st.divider()
    _diagonal(scheme, at, eps, view["torch"])


def _matrix(scheme: Scheme, found: Directions, laid: Blocks, shape: tuple[int, ...], theme: str) -> None:
    names = [",".join(map(str, index)) for index in np.ndindex(*shape)]
    ordered = found.jacobian[np.ix_(laid.order, laid.order)]
    fields = len(laid.edges) - 1
    said = _structure(scheme, laid, fields)
    alt = f"The Jacobian of {plural(len(names), 'element')} as a heat map. {said.replace('**', '')}"
    plot(jacobian_map(ordered, [names[k] for k in laid.order], laid.edges, theme), "jacobian", alt, "min(26rem, 100vw)")
    st.markdown(said)
    order = laid.order.tolist()
    save_table(
        lambda: (
            {"d xhat / d x": [names[k] for k in order]}
            | {names[k]: ordered[:, column].tolist() for column, k in enumerate(order)}
        ),
        f"{scheme.key}-jacobian",
    )


def _structure(scheme: Scheme, laid: Blocks, fields: int) -> str:
    """What the picture shows, which follows from the fields."""
    if scheme.pointwise is not None:
        return "**Only the diagonal**: every x̂ depends on its own x alone."
    if not scheme.fields:
        return "**Only the diagonal**: x̂ = x."
    if scheme.spectral:
        return "**One block**: all weights share one largest singular value, so each weight affects all."
    if not laid.alone:
        return (
            "**Fields overlap, or differ between mean and divisor**: an element depends on all elements of its "
            "fields. Its gradient adds up all elements whose fields contain it."
        )
    sizes = np.diff(laid.edges)
    of = plural(int(sizes[0]), "element")
    if fields == 1:
        return f"**One block of {of}**: all elements share their statistics, so each affects all."
    return f"**Each of the {fields} blocks is a field of {of}**: elements of different fields do not affect each other."


def _facts(scheme: Scheme, at: Small, found: Directions, eps: float) -> None:
    """Show what the matrix does to a shift and to a factor of all x."""
    # A pair of elements that is centred and divided is only a sign: its Jacobian is nothing but rounding.
    scale = max(float(np.abs(found.jacobian).sum(axis=1).max()), 1.0 / float(np.abs(at.x).max()))
    rows = float(np.abs(found.shift).max())
    factor, expected = (float(np.abs(each).max()) for each in (found.factor, found.expected))
    reach = ROUNDING * scale * max(1.0, float(np.abs(found.expected).max()), 10.0)
    x = "W" if scheme.acts_on == "weight" else "x"
    if scheme.summation is not None:
        centred = f"**Every row sums to 0**: a shift of all {x} does not change x̂."
    else:
        centred = f"**Rows need not sum to 0**: no mean is subtracted, so a shift of all {x} changes x̂."
    if scheme.pointwise is not None:
        centred = f"**Rows need not sum to 0**: a shift of all {x} changes x̂, except where x̂ is saturated."
        scaled = f"**J·{x} is each {x} times its own slope**: a factor changes x̂, except where x̂ is saturated."
    elif scheme.suppression is None:
        scaled = f"**J·{x} is not 0**: nothing is divided, so a factor of all {x} changes x̂."
    elif eps:
        left = "ε (Σ + εI)⁻¹ x̂" if scheme.whitens else "x̂ ε/(σ² + ε)"
        scaled = f"**J·{x} = {left}**: a factor of all {x} changes x̂ only through ε = {typeset(eps)}."
    else:
        scaled = f"**J·{x} = 0**: without ε, a factor of all {x} does not change x̂."
    st.markdown(f"#### Two directions\n{centred}\n\n{scaled}")
    columns = {
        "": ["J·1, the row sums", f"J·{x}", f"J·{x} in theory"],
        "largest number": [
            measured(rows, 3, reach),
            measured(factor, 3, reach),
            measured(expected, 3, reach),
        ],
    }
    st.table(columns, border="horizontal")
    gap = float(np.abs(found.factor - found.expected).max())
    st.markdown(
        f"Measurement and theory differ by {measured(gap, 2, reach)}. The gradient ∂l/∂{x} is ∂l/∂x̂ times this matrix. "
        f"It has no component along a direction that the matrix maps to 0."
    )


def _diagonal(scheme: Scheme, at: Small, eps: float, torch: bool) -> None:
    """Show the gradient beside the product with the diagonal alone, which is a common mistake."""
    st.markdown("#### The diagonal alone is not the gradient")
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.markdown(
            "Through a shared mean or variance, xᵢ changes every element of its field. Its gradient is a sum over a "
            "whole column of the matrix. A common mistake keeps only the element on the diagonal:"
        )
        st.latex(
            r"\frac{\partial l}{\partial \hat x_i}\frac{\partial \hat x_i}{\partial x_i} \qquad\text{instead of}\qquad "
            r"\frac{\partial l}{\partial x_i} = \sum_j \frac{\partial l}{\partial \hat x_j}"
            r"\frac{\partial \hat x_j}{\partial x_i}"
        )
    with right:
        _numbers(scheme, at, eps, torch)


def _numbers(scheme: Scheme, at: Small, eps: float, torch: bool) -> None:
    """Diagonal, full and, where it is asked for, autograd's, of the page's tensor."""
    few = min(5, at.x.size)
    d = at.dy * at.gain
    full = (d.ravel() @ found_directions(at.x, scheme, eps).jacobian).ravel()
    alone = diagonal_only(at.x, d, scheme, eps).ravel()
    least = ROUNDING * max(float(np.abs(alone).max()), 1e-300)
    columns = {
        f"{', '.join(axis.letter for axis in axes_of(scheme.axes, at.x.shape))}": [
            ", ".join(map(str, index)) for index in list(np.ndindex(*at.x.shape))[:few]
        ],
        "diagonal alone": [measured(value, 3, least) for value in alone[:few]],
        "∂l/∂x": [measured(value, 3, least) for value in full[:few]],
    }
    if torch:
        columns["autograd"] = [measured(value, 3, least) for value in by_autograd(scheme, at, eps)["dx"].ravel()[:few]]
    st.table(columns, border="horizontal")
    whole = float(np.linalg.norm(full))
    if whole > least * at.x.size:
        gap = np.linalg.norm(alone - full) / whole
        st.markdown(f"On this tensor, the diagonal alone misses the gradient of {scheme.name} by **{gap:.1%}**.")
    else:
        st.markdown("On this tensor the gradient is 0.")
