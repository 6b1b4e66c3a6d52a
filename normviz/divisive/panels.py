"""What the divisive page shows: a picture's contrast given back, one pixel's response, and the limits."""

from functools import partial

import numpy as np
import streamlit as st

from normviz.core.fields import FULL, Index
from normviz.core.normalize import Normalized
from normviz.core.schemes import Scheme
from normviz.core.statistics import Saturation, saturation
from normviz.core.text import measured, typeset
from normviz.core.tolerances import RELATIVE
from normviz.data.samples import SAMPLES
from normviz.describe import notation
from normviz.describe.wording import shape_words
from normviz.divisive.contrast import contrast_ratio, in_fading_light
from normviz.divisive.controls import focus_controls
from normviz.divisive.state import (
    LIMIT_SCHEMES,
    LIMITS_SHAPE,
    RADII,
    even_picture,
    focus_of,
    limit_gaps,
    normalized,
    pick,
    scheme_of,
    whose,
    wide,
)
from normviz.ui.components.picture import picture, shades
from normviz.ui.components.plot import plot
from normviz.ui.figures import gap_panels
from normviz.ui.link import View
from normviz.ui.palette import THEMES
from normviz.ui.panels import response_chart

SPREAD = 3.0
"""x̂ from −3, black, to 3, white: of numbers with mean 0 and mean square 1 there are few beyond."""


def panels(view: View, theme: str) -> None:
    """The story from top to bottom."""
    scheme, even = scheme_of(view), even_picture(view)
    x = in_fading_light(even, view["light"])
    result = normalized(x, scheme, view["eps"])
    focus = focus_of(view, result.v)
    contrast(view, scheme, even, x, result, focus, theme)
    pixel(view, scheme, x, focus, theme)
    limits(view, theme)


def contrast(
    view: View, scheme: Scheme, even: np.ndarray, x: np.ndarray, result: Normalized, focus: Index, theme: str
) -> None:
    """The picture in its light and what is left, wiped between, and beside them what it is divided by."""
    st.markdown("## Where is the contrast when the light is bad?")
    ranges = {
        "x": _ends(_shown(even, focus)),
        "divisor": (0.0, _ends(_shown(_deviation(normalized(even, scheme, 0.0)), focus))[1]),
        "xhat": (-SPREAD, SPREAD),
    }
    drawn = {"x": x, "divisor": _deviation(result), "xhat": result.xhat}
    shown = {name: _shown(values, focus) for name, values in drawn.items()}
    images = {name: shades(values, *ranges[name]) for name, values in shown.items()}
    told = {name: "{} to {}".format(*(typeset(end, 3) for end in _ends(values))) for name, values in shown.items()}
    where, colour = f"a ring marks row {focus[1]}, column {focus[2]}; arrow keys move it", THEMES[theme].element
    left, right = st.columns([2, 1], gap="medium", vertical_alignment="bottom")
    with left:
        alt = f"The picture: left of a handle x, from {told['x']}, right of it x̂, from {told['xhat']}; {where}."
        wiped = {"before: x": images["x"], "after: x̂": images["xhat"]}
        picture(wiped, "contrast", alt, focus[1:3], colour, partial(pick, "contrast"))
    with right:
        st.markdown(r"What divides: $\sqrt{\varepsilon + E_B[v^2]}$")
        alt = f"What divides, as a picture, from {told['divisor']}; {where}."
        picture({"": images["divisor"]}, "divisor", alt, focus[1:3], colour, partial(pick, "divisor"))
    st.caption(whose(view) + _scale_words(ranges, bool(np.isfinite(x).all()), shown["x"].ndim == 3))
    st.markdown(_light_words(view, scheme, even, x, result))
    with st.container(horizontal=True, gap="medium"):
        for line in notation.formulas(scheme):
            if line.name not in ("output", "where"):
                st.latex(line.latex, width="content")


def _shown(values: np.ndarray, focus: Index) -> np.ndarray:
    """What is drawn of a picture (1, H, W, C): three channels as colours, else the one in focus."""
    return values[0] if values.shape[3] == 3 else values[0, :, :, focus[3]]


def _deviation(result: Normalized) -> np.ndarray:
    """What divides; divisive norm has it at every element."""
    assert result.deviation is not None
    return result.deviation


def _ends(values: np.ndarray) -> tuple[float, float]:
    """The least and the largest finite number; 0 and 0 where there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _scale_words(ranges: dict[str, tuple[float, float]], finite: bool, coloured: bool) -> str:
    """From what number to what number each picture is drawn."""
    x, divisor, xhat = ("{} to {}".format(*(typeset(end, 3) for end in ends)) for ends in ranges.values())
    return (
        "Drag the handle from x to x̂; click a pixel, or move the ring with the arrow keys. "
        f"{'Each colour' if coloured else 'Black to white'}: x from {x}, as in even light; x̂ from {xhat}; what "
        f"divides from {divisor}, as in even light without ε. These scales stay while ε and the light change; what is "
        "beyond is drawn as their ends." + ("" if finite else " Purple: no finite number.")
    )


def _light_words(view: View, scheme: Scheme, even: np.ndarray, x: np.ndarray, result: Normalized) -> str:
    """How much contrast the dim half has before and after, and what ε has to do with it."""
    if not view["over"]:
        return (
            "**No axis has windows**, so every element is its own mean: v = x − x = 0, and x̂ = 0 all over. Nothing is "
            "left to divide. Switch on H or W at *Windows along*, and the neighbours come in again."
            if wide(view)
            else "The picture is one number, which is its own mean: v = 0, and x̂ = 0."
        )
    if not result.v.any():
        own = view["radius_a"] == "0" or (view["radius_a"] == "same" and not view["radius"])
        why = "Every element is its own mean here" if own else "All of a window is the same everywhere here"
        return f"{why}: v = 0, and nothing is left." + (" Take a radius $R_A$ from 1." if own else "")
    eps, dim = view["eps"], _deviation(result)[:, :, x.shape[2] // 2 :]
    ratios = [contrast_ratio(values) for values in (x, result.xhat, normalized(even, scheme, eps).xhat)]
    if not np.isfinite(ratios).all():
        return "The contrast of the right half over that of the left is no finite number here."
    columns = int(np.diff(scheme.fields[-1].bounds(x.shape)[2]).max())
    share = eps / float(np.median(dim)) ** 2 if eps else 0.0
    before, after, best = (typeset(ratio, 2) for ratio in ratios)
    return (
        f"The right half's standard deviation is **{before}** of the left half's in x and **{after}** in x̂; with even "
        f"light, x̂ has {best}. Contrast comes back where ε is a small share of $\\varepsilon + E_B[v^2]$, in that half "
        f"{share:.0%} (median), and where windows are narrow, here up to {columns} of {x.shape[2]} columns."
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
    if not np.isfinite([one.v, one.root]).all():
        return "In the ring, or near it, is no finite number: there is no curve."
    if not one.v:
        return "v = 0 in the ring: x̂ is 0 at every contrast."
    level = f"$v / \\sqrt{{E_B[v^2]}}$ = {typeset(one.v, 3)} / {typeset(one.root, 3)} = **{typeset(one.level, 3)}**"
    if not eps:
        return f"Without ε there is no linear part: at every contrast x̂ is saturated at {level}."
    return (
        f"The pixel in the ring, thick: far below the knee at $c = \\sqrt{{\\varepsilon / E_B[v^2]}}$ = "
        f"**{typeset(one.knee(eps), 3)}**, x̂ is proportional to c, with slope $v/\\sqrt{{\\varepsilon}}$ = "
        f"{typeset(one.slope(eps), 3)}; far beyond, it is saturated at {level}. The dotted line is the picture as it "
        "is, c = 1."
    )


def limits(view: View, theme: str) -> None:
    """Batch, layer, instance norm and layer norm over channels, and how near the windows come."""
    st.markdown("## What if the windows reach across everything?")
    found = limit_gaps(view["seed"], view["eps"])
    curves = {LIMIT_SCHEMES[key].label: row for key, row in found.items()}
    figure = gap_panels(
        list(RADII), {"max|x̂ − x̂ divisive| / max|x̂|": curves}, "R<sub>A</sub> = R<sub>B</sub>", None, theme, whole=True
    )
    reached = "; ".join(_reached(LIMIT_SCHEMES[key], gap) for key, gap in found.items())
    told = reached.replace("**", "")
    alt = f"Curves of the largest difference over the radius, 0 to {RADII[-1]}; rounding is reached so: {told}."
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
    before, there = typeset(gap[first - 1], 2), measured(gap[first], 2, RELATIVE["float64"])
    return f"**{scheme.label}** ({over}) at R = {first}, where the gap, {before} one radius before, is {there}"
