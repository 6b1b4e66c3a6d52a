"""What the divisive page shows: a picture's contrast given back, one pixel's response, and the limits."""

import numpy as np
import streamlit as st

from normviz.core.fields import FULL, Index
from normviz.core.normalize import Normalized
from normviz.core.schemes import Scheme
from normviz.core.statistics import Saturation, saturation
from normviz.core.tolerances import RELATIVE
from normviz.data.samples import SAMPLES
from normviz.describe import notation
from normviz.describe.wording import gap_text, shape_words, signed
from normviz.divisive.contrast import contrast_ratio
from normviz.divisive.controls import focus_controls
from normviz.divisive.state import (
    LIMIT_SCHEMES,
    LIMITS_SHAPE,
    RADII,
    focus_of,
    limit_gaps,
    normalized,
    scheme_of,
)
from normviz.ui.components.plot import plot
from normviz.ui.figures import gap_panels, pictures
from normviz.ui.link import View
from normviz.ui.panels import response_chart

HEIGHT = "clamp(16rem, 25vw - 4.6rem, 30rem)"
"""Of a picture in one of three columns beside the sidebar; on a narrow screen these come one below the other."""


def panels(view: View, theme: str) -> None:
    """The story from top to bottom."""
    scheme = scheme_of(view)
    x, result = normalized(view["data"], view["seed"], view["light"], scheme, view["eps"])
    focus = focus_of(view, result.v)
    contrast(view, scheme, x, result, focus, theme)
    pixel(view, scheme, x, focus, theme)
    limits(view, theme)


def contrast(view: View, scheme: Scheme, x: np.ndarray, result: Normalized, focus: Index, theme: str) -> None:
    """The picture in its light, what it is divided by, and what is left."""
    st.markdown("## Where is the contrast when the light is bad?")
    channel = focus[3]
    images = {
        "before": ("before: x", x),
        "divisor": ("what divides: √(ε + E_B[v²])", result.deviation),
        "after": ("after: x̂", result.xhat),
    }
    for column, (key, (title, values)) in zip(st.columns(3), images.items(), strict=True):
        with column:
            alt = f"{title}, as a grey picture, from {values.min():.3g} to {values.max():.3g}; a ring marks the pixel."
            plot(pictures({title: values[0, :, :, channel]}, theme, (focus[1], focus[2])), key, alt, HEIGHT)
    st.markdown(_light_words(view, scheme, x, result))
    with st.container(horizontal=True, gap="medium"):
        for line in notation.formulas(scheme):
            if line.name not in ("output", "where"):
                st.latex(line.latex, width="content")


def _light_words(view: View, scheme: Scheme, x: np.ndarray, result: Normalized) -> str:
    """How much contrast the dim half has before and after, and what ε has to do with it."""
    if result.deviation is None or not result.v.any():
        return "Every element is its own mean here: v = 0, and nothing is left. Take a radius R_A from 1."
    eps = view["eps"]
    _, even = normalized(view["data"], view["seed"], 1.0, scheme, eps)
    dim = result.deviation[:, :, x.shape[2] // 2 :]
    columns = int(np.diff(scheme.fields[-1].bounds(x.shape)[2]).max())
    share = eps / float(np.median(dim)) ** 2 if eps else 0.0
    before, after, best = (f"{contrast_ratio(values):.2g}" for values in (x, result.xhat, even.xhat))
    return (
        f"The right half's standard deviation is **{before}** of the left half's in x and **{after}** in x̂; with even "
        f"light, x̂ has {best}. Contrast comes back where ε is a small share of ε + E_B[v²], in that half {share:.0%} "
        f"(median), and where windows are narrow, up to {columns} of {x.shape[2]} columns. Each picture is drawn from "
        "its own least number, black, to its largest, white."
    )


def pixel(view: View, scheme: Scheme, x: np.ndarray, focus: Index, theme: str) -> None:
    """One element's response to contrast."""
    st.markdown("## From linear to saturated: one pixel as the contrast grows")
    focus_controls(view, focus)
    one = saturation(x, scheme, focus)
    response_chart(one, view["eps"], theme)
    st.markdown(_response_words(one, view["eps"]))


def _response_words(one: Saturation, eps: float) -> str:
    """Slope, knee and level of the curve."""
    if not one.v:
        return "v = 0 in the ring: x̂ is 0 at every contrast."
    level = f"v / √E_B[v²] = {signed(one.v, 3)} / {one.root:.3g} = **{signed(one.level, 3)}**"
    if not eps:
        return f"Without ε there is no linear part: at every contrast x̂ is saturated at {level}."
    return (
        f"The pixel in the ring, thick: far below the knee at c = √(ε / E_B[v²]) = **{one.knee(eps):.3g}**, x̂ grows in "
        f"proportion to c, with slope v/√ε = {signed(one.slope(eps), 3)}; far beyond, it is saturated at {level}. The "
        "dotted line is the picture as it is, c = 1."
    )


def limits(view: View, theme: str) -> None:
    """Batch, layer, instance norm and layer norm over channels, and how near the windows come."""
    st.markdown("## What if the windows reach across everything?")
    found = limit_gaps(view["seed"], view["eps"])
    curves = {LIMIT_SCHEMES[key].label: row for key, row in found.items()}
    figure = gap_panels(list(RADII), {"max|x̂ − x̂ divisive| / max|x̂|": curves}, "R_A = R_B", None, theme, whole=True)
    reached = "; ".join(_reached(LIMIT_SCHEMES[key], gap) for key, gap in found.items())
    alt = f"Curves of the largest difference over the radius, 0 to {RADII[-1]}; rounding is reached so: {reached}."
    plot(figure, "limits", alt, "26rem")
    st.markdown(
        f"Measured on {SAMPLES['features'].name.lower()}, (N, H, W, C) = {shape_words(LIMITS_SHAPE)}, with windows "
        f"along the axes that another norm averages over. Divisive norm becomes {reached}. That is R = n − 1, n the "
        "longest of these axes: from there on a window holds the whole axis, around every element."
    )


def _reached(scheme: Scheme, gap: np.ndarray) -> str:
    """The first radius at which a gap is rounding, as measured, and the one before."""
    over = ", ".join(axis for axis, rule in zip(scheme.axes, scheme.fields[-1].rules, strict=True) if rule == FULL)
    first = int(np.argmax(gap <= RELATIVE["float64"]))
    return (
        f"**{scheme.label}** ({over}) at R = {first}, where the gap falls from {gap_text(gap[first - 1])} to "
        f"{gap_text(gap[first])}"
    )
