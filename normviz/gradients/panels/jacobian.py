"""The Jacobian as a picture, the two directions that it maps to nothing, and what its diagonal alone misses."""

import numpy as np
import streamlit as st

from normviz.core.backward import diagonal_only
from normviz.core.schemes import Scheme
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.describe.wording import axes_of, plural
from normviz.gradients import projections
from normviz.gradients.jacobian_figures import error_curves, jacobian_map, projections_figure
from normviz.gradients.panels.formula import by_autograd, in_front
from normviz.gradients.projections import SIZES, Blocks, Directions
from normviz.gradients.small import Small, small
from normviz.gradients.state import eps_of, scheme_of, shape_of
from normviz.ui.components.plot import plot
from normviz.ui.link import View
from normviz.ui.saving import save_table

ROUNDING = RELATIVE["float64"]

found_directions = st.cache_data(max_entries=64, show_spinner=False)(projections.directions)
diagonal_errors = st.cache_data(max_entries=64, show_spinner="Gradients of layers of 3 to 256 units …")(
    projections.diagonal_errors
)


def jacobian(view: View, theme: str) -> None:
    """The matrix and its facts; the projections in space; the diagonal alone."""
    scheme, eps, shape = scheme_of(view), eps_of(view), shape_of(view)
    scheme.check(shape)
    at = small(scheme, shape, view["seed"])
    found, laid = found_directions(at.x, scheme, eps), projections.blocks(scheme, shape)
    left, right = st.columns([1, 1], gap="large")
    with left:
        _matrix(scheme, found, laid, shape, theme)
    with right:
        _facts(scheme, found, eps)
        in_front(scheme)
    st.divider()
    _in_space(scheme, eps, view["seed"], theme)
    st.divider()
    _diagonal(scheme, at, eps, view, theme)


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
        return "**Nothing but the diagonal**: every x̂ depends on its own x alone."
    if not scheme.fields:
        return "**Nothing but the diagonal**: every x̂ is its own x."
    if scheme.spectral:
        return "**One block**: the largest singular value is of all weights, so each acts on all."
    if not laid.alone:
        return (
            "**Fields overlap, or differ between mean and divisor**: an element is moved by all that are in its "
            "fields, and its gradient comes back from all whose fields it is in."
        )
    sizes = np.diff(laid.edges)
    of = plural(int(sizes[0]), "element")
    if fields == 1:
        return f"**One block, of {of}**: all are one field, and each acts on all."
    return f"**Each of the {fields} blocks is a field of {of}**: what shares no statistic does not act on each other."


def _facts(scheme: Scheme, found: Directions, eps: float) -> None:
    """What becomes of a shift and of a factor of all x."""
    scale = float(np.abs(found.jacobian).sum(axis=1).max()) or 1.0
    rows = float(np.abs(found.shift).max())
    factor, expected = (float(np.abs(each).max()) for each in (found.factor, found.expected))
    reach = ROUNDING * scale * max(1.0, float(np.abs(found.expected).max()), 10.0)
    x = "W" if scheme.acts_on == "weight" else "x"
    if scheme.summation is not None:
        centred = f"**Every row sums to 0**: a shift of all {x} changes nothing."
    else:
        centred = f"**Rows need not sum to 0**: nothing is centred, and a shift of all {x} comes through."
    if scheme.pointwise is not None:
        centred = f"**Rows need not sum to 0**: a shift of all {x} comes through, as far as they are not saturated."
        scaled = f"**J·{x} is each {x} times its own slope**: a factor comes through, as far as they are not saturated."
    elif scheme.suppression is None:
        scaled = f"**J·{x} is not 0**: nothing divides, and a factor of all {x} comes through."
    elif eps:
        left = "ε (Σ + εI)⁻¹ x̂" if scheme.whitens else "x̂ ε/(σ² + ε)"
        scaled = f"**J·{x} = {left}**: a factor of all {x} comes through as far as ε = {typeset(eps)} lets it."
    else:
        scaled = f"**J·{x} = 0**: without ε a factor of all {x} changes nothing."
    st.markdown(f"#### Two directions\n{centred}\n\n{scaled}")
    columns = {
        "": ["J·1: the sums of its rows", f"J·{x}", "the same as theory has it"],
        "largest number": [
            measured(rows, 3, reach),
            measured(factor, 3, reach),
            measured(expected, 3, reach),
        ],
    }
    st.table(columns, border="horizontal")
    gap = float(np.abs(found.factor - found.expected).max())
    st.markdown(
        f"Measured and theory differ by {measured(gap, 2, reach)}. ∂l/∂{x} is what comes in times this matrix: along a "
        f"direction that the matrix maps to 0, no gradient moves {x}."
    )


def _in_space(scheme: Scheme, eps: float, seed: int, theme: str) -> None:
    """A field of three elements: the gradient loses two directions of three."""
    if scheme.pointwise is not None:
        st.markdown("#### In space\n**No direction is taken out of d**: each element's is multiplied by its own slope.")
        return
    centres, divides = scheme.summation is not None, scheme.suppression is not None
    one = projections.three(scheme, eps, seed)
    mean, along, left = (f"{share:.0%}" for share in one.shares())
    taken = [*([f"its mean {mean}"] if centres else []), *([f"its part along x̂ {along}"] if divides else [])]
    picture, words = st.columns([3, 2], gap="large")
    if taken:
        are = "are" if len(taken) > 1 else "is"
        said = f"**Of the squared length of d, {' and '.join(taken)} {are} taken; {left} are left.**"
    else:
        said = "**Nothing is taken out of d.**"
    alt = f"Vectors of three numbers: d, what each projection takes away, and what is left. {said.replace('**', '')}"
    with picture:
        plot(projections_figure(one, centres, divides, theme), "projections", alt, "27rem")
    with words:
        st.markdown(f"#### The same in space: a field of three elements\n{said}")
        if centres and divides:
            but = ", but for what ε lets through along x̂" if eps else ""
            st.markdown(f"With three elements and two directions gone, all gradients lie on one line{but}.")
        columns = {"": ["x", "x̂", "d = ∂l/∂x̂", "σ ∂l/∂x"]}
        for k in range(3):
            columns[f"element {k}"] = [measured(each[k], 3, ROUNDING) for each in (one.x, one.xhat, one.d, one.left)]
        st.table(columns, border="horizontal")


def _diagonal(scheme: Scheme, at: Small, eps: float, view: View, theme: str) -> None:
    """What is printed as the gradient, beside the gradient; and the error over the size of the field."""
    errors = diagonal_errors(eps, view["seed"])
    st.markdown("#### The diagonal alone is not the gradient")
    left, right = st.columns([1, 1], gap="large")
    alt = "Relative error of the diagonal alone over H: " + "; ".join(
        f"{name}, from {values[0]:.0%} at H = {SIZES[0]} to {values[-1]:.1%} at {SIZES[-1]}"
        for name, values in errors.items()
    )
    with left:
        plot(error_curves(SIZES, errors, theme), "errors", alt + ".", "22rem")
        first, second = errors.values()
        st.markdown(
            f"**In a layer of {SIZES[0]} units the diagonal alone is wrong by {first[0]:.0%} of the gradient, in one "
            f"of {SIZES[-1]} by {first[-1]:.1%}**; and by {second[-1]:.0%} where all ∂l/∂y have a part in common. "
            "Every term that is missing is about 1/H of it, but there are H − 1 of them."
        )
    with right:
        st.markdown(
            "Notes on layer norm print the first as ∂l/∂aᵢ. It holds the way of aᵢ through its own h alone; through μ "
            "and σ it moves all units of its field, and the gradient is the sum over them:"
        )
        st.latex(
            r"\frac{\partial l}{\partial h_i}\frac{\partial h_i}{\partial a_i} \qquad\text{instead of}\qquad "
            r"\frac{\partial l}{\partial a_i} = \sum_j \frac{\partial l}{\partial h_j}\frac{\partial h_j}{\partial a_i}"
        )
        _numbers(scheme, at, eps, view["torch"])


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
        st.markdown(f"On this tensor, {scheme.name}: wrong by **{np.linalg.norm(alone - full) / whole:.1%}**.")
    else:
        st.markdown("On this tensor nothing is left of the gradient, so whatever the diagonal gives is wrong.")
