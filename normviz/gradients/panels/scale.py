"""BN(Wu) = BN((aW)u), and its gradients: what a scheme makes of weights that are multiplied by a."""

import numpy as np
import streamlit as st

from normviz.core.schemes import Scheme
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.gradients import scaling
from normviz.gradients.scaling import FACTORS, Gaps, Layer, gaps, layer, passed, turned
from normviz.gradients.state import eps_of, scheme_of, shape_of
from normviz.ui.components.plot import plot
from normviz.ui.figures import gap_panels
from normviz.ui.link import View
from normviz.ui.saving import save_table

ROUNDING = RELATIVE["float64"]

TITLES = ("x̂", "∂l/∂u", "a · ∂l/∂(aW)")
"""What is compared with that of W, in the order of `Gaps`."""

found_curves = st.cache_data(max_entries=64, show_spinner=False)(scaling.curves)


def scale(view: View, theme: str) -> None:
    """The gaps over a, those at the page's a, and what they are by."""
    scheme, eps, a = scheme_of(view), eps_of(view), view["a"]
    shape = shape_of(view)
    if scheme.on_activations is not None:
        scheme.check(shape)
    at = layer(shape, view["seed"])
    every_eps = list(dict.fromkeys((eps, 0.0)))
    found = found_curves(scheme, at, every_eps)
    names = [f"ε = {typeset(each)}" for each in every_eps]
    panels = {
        f"gap of {title}": {name: found[k, :, number] for k, name in enumerate(names)}
        for number, title in enumerate(TITLES)
    }
    now = gaps(scheme, at, a, eps)
    alt = f"How far aW is from W in {', '.join(TITLES)}, over a; at a = {typeset(a)}: " + ", ".join(
        measured(gap, 2, ROUNDING) for gap in now
    )
    plot(gap_panels(FACTORS.tolist(), panels, "a", a, theme), "scale", alt + ".", "22rem")
    st.markdown(_said(scheme, now, a, eps))
    _numbers(scheme, at, now, a, eps)
    save_table(
        lambda: (
            {"a": FACTORS.tolist()}
            | {f"{title}, {name}": values.tolist() for title, rows in panels.items() for name, values in rows.items()}
        ),
        f"{scheme.key}-scale",
    )


def _said(scheme: Scheme, now: Gaps, a: float, eps: float) -> str:
    """What to see, in a sentence or two."""
    gap = measured(max(now), 2, ROUNDING)
    if scheme.pointwise is not None and scheme.on_weights is None:
        alone = "Nothing is shared, so nothing takes a out"
        return f"**{alone}**: at a = {typeset(a)} the largest of the three gaps is {gap}."
    if scheme.suppression is None and scheme.on_weights is None:
        return f"**Nothing divides, so a comes through**: at a = {typeset(a)} the largest of the three gaps is {gap}."
    exact = "x̂ and ∂l/∂u do not notice a, and ∂l/∂(aW) is 1/a times ∂l/∂W: the larger the weights, the smaller a step"
    front = scheme.on_weights
    if not eps or (front is not None and front.eps is None):  # such weights have no ε, and take up all of a
        return f"**{exact}.** Measured at a = {typeset(a)}: the largest of the three gaps is {gap}."
    whose = "W" if scheme.acts_on == "weight" else "Wu"
    return (
        f"**At ε = 0 {exact}.** With ε = {typeset(eps)} it holds only nearly: multiplied by a = {typeset(a)}, "
        f"{whose} is as before with ε/a² = {typeset(eps / a**2, 3)}, and the largest of the three gaps is {gap}."
    )


def _numbers(scheme: Scheme, at: Layer, now: Gaps, a: float, eps: float) -> None:
    """The largest numbers with W and with aW, and the gaps."""
    one, other = passed(scheme, at, 1.0, eps), passed(scheme, at, a, eps)
    rows = {"x̂": (one.xhat, other.xhat), "∂l/∂u": (one.du, other.du), "∂l/∂W": (one.dw, other.dw)}
    largest = {name: (float(np.abs(w).max()), float(np.abs(aw).max())) for name, (w, aw) in rows.items()}
    least = ROUNDING * max(max(pair) for pair in largest.values())
    st.table(
        {
            "the largest of": list(rows),
            "with W": [measured(pair[0], 4, least) for pair in largest.values()],
            f"with aW, a = {typeset(a)}": [measured(pair[1], 4, least) for pair in largest.values()],
            "aW over W": [_ratio(before, after, least) for before, after in largest.values()],
            "gap": [
                f"{measured(gap, 2, ROUNDING)}{', of a times it' if name == '∂l/∂W' else ''}"
                for name, gap in zip(rows, now, strict=True)
            ],
        },
        border="horizontal",
    )
    st.markdown(
        f"1/a = {typeset(1 / a, 4)}. A negative factor turns the sign besides: x̂ of −aW differs from −x̂ of aW by "
        f"{measured(turned(scheme, at, a, eps), 2, ROUNDING)}. That is said of batch norm in "
        "[Ioffe & Szegedy 2015](https://arxiv.org/abs/1502.03167), section 3.3, of a > 0 and without ε."
    )


def _ratio(before: float, after: float, least: float) -> str:
    return typeset(after / before, 4) if before > least else "–"
