"""The panels of the page "Contrast": a picture before and after, and one pixel's response to contrast."""

import numpy as np
import streamlit as st

from normviz.charts.common_charts import encode_data_url
from normviz.charts.palette import THEMES
from normviz.core.fields import Index
from normviz.core.kinds.base import NormalizationResult
from normviz.core.registry import Scheme
from normviz.core.statistics import SaturationCurve, compute_saturation
from normviz.core.text import typeset
from normviz.describe import notation
from normviz.topics.divisive.contrast import apply_fading_light, compute_contrast_ratio
from normviz.topics.divisive.controls import draw_eps_slider, draw_neighbourhood_slider
from normviz.topics.divisive.state import (
    build_windowed_scheme,
    describe_picture_source,
    find_focus,
    get_evenly_lit_picture,
    list_wide_axes,
    lock_picked_pixel,
    normalize_picture,
)
from normviz.ui.link import View
from normviz.ui.response_charts import show_response_chart
from normviz.web.components.picture import convert_to_pixels, show_picture_wipe

GREY_LIMIT = 3.0
"""Greys go from x̂ = −3, black, to 3, white: numbers with mean 0 and mean square 1 rarely exceed it."""

FORMULA_IN_WORDS = (
    r"\small \begin{gathered} v = \text{pixel} - \text{mean nearby} \\[4pt] "
    r"\text{normalized} = \frac{v}{\sqrt{\varepsilon + \text{mean of } v^2 \text{ nearby}}} \end{gathered}"
)
"""The formula in words."""


def show_panels(view: View, theme: str) -> None:
    """Show the picture before and after normalization, then the response of one pixel and the formula."""
    scheme, even = build_windowed_scheme(view), get_evenly_lit_picture(view)
    x = apply_fading_light(even, view["light"])
    result = normalize_picture(x, scheme, view["eps"])
    focus = find_focus(view, result.v)
    pixel = compute_saturation(x, scheme, focus)
    st.markdown(_write_headline(view, x, result))
    left, right = st.columns([3, 2], gap="medium")
    with left:
        _draw_picture(even, x, result, focus, "darkened" if view["light"] < 1 else "original", theme)
        st.caption(describe_picture_source(view) + _write_caption(bool(np.isfinite(x).all())))
    with right:
        _draw_stages(even, x, focus)
        st.latex(FORMULA_IN_WORDS)
        slider = st.container()
        draw_neighbourhood_slider(view)
        st.markdown(_describe_nearby(view))
    show_pixel_response(pixel, scheme, float(x[focus]), view["eps"], theme)
    with slider:  # last: the page follows what is dragged
        draw_eps_slider(view)


def _draw_stages(even: np.ndarray, x: np.ndarray, focus: Index) -> None:
    """Draw small pictures of what comes before the normalization: the picture in even light, and x if it is darker."""
    stages = {"original": even} | ({} if x is even or np.array_equal(x, even) else {"darkened": x})
    ends = _find_range(_select_channels(even, focus))
    figures = (
        f'<figure><img alt="" src="{encode_data_url(convert_to_pixels(_select_channels(each, focus), *ends), "png")}">'
        f"<figcaption>{name}</figcaption></figure>"
        for name, each in stages.items()
    )
    st.html(f'<div class="nv-darkened">{"".join(figures)}</div>')


def _draw_picture(
    even: np.ndarray, x: np.ndarray, result: NormalizationResult, focus: Index, name: str, theme: str
) -> None:
    """Draw the picture x, called `name`, and x̂, with a handle that slides between them."""
    drawn = (_select_channels(x, focus), _select_channels(result.xhat, focus))
    ranges = (_find_range(_select_channels(even, focus)), (-GREY_LIMIT, GREY_LIMIT))
    images = {
        label: convert_to_pixels(values, *ends)
        for label, values, ends in zip((name, "normalized"), drawn, ranges, strict=True)
    }
    before, after = ("{} to {}".format(*(typeset(end, 3) for end in _find_range(values))) for values in drawn)
    alt = (
        f"The picture: left of a handle x, from {before}, right of it x̂, from {after}; a ring marks "
        f"row {focus[1]}, column {focus[2]}; arrow keys move it."
    )
    show_picture_wipe(images, "contrast", alt, focus[1:3], THEMES[theme].element, lock_picked_pixel)


def _select_channels(values: np.ndarray, focus: Index) -> np.ndarray:
    """Return the drawn part of a picture (1, H, W, C): three channels as colours, else the chosen channel."""
    return values[0] if values.shape[3] == 3 else values[0, :, :, focus[3]]


def _find_range(values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest finite number; 0 and 0 if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _write_caption(finite: bool) -> str:
    """Return the units of the headline and of the grey values."""
    words = (
        "Contrast: the standard deviation of the right half’s pixels, as a share of the left half’s. The pixel in the "
        "ring is computed below. A click moves the ring."
    )
    return words if finite else f"{words} Purple: no finite number."


def _compute_pixel(pixel: SaturationCurve, before: float, eps: float) -> str:
    """Return the formula with the numbers of a pixel; nothing if a number is not finite or all are 0 nearby."""
    v, square = pixel.v, pixel.root**2
    if not np.isfinite([before, v, square]).all() or not eps + square:
        return ""
    mean, after = before - v, v / (eps + square) ** 0.5
    return (
        f"**In the ring**: v = {typeset(before, 2)} − {typeset(mean, 2)} = {typeset(v, 2)}.  \n"
        f"Normalized: {typeset(v, 2)}/√({typeset(eps)} + {typeset(square, 2)}) = **{typeset(after, 2)}**. "
        f"−{GREY_LIMIT:g} is drawn black, {GREY_LIMIT:g} white."
    )


def _describe_nearby(view: View) -> str:
    """Describe which elements count as "nearby" in the formula; "" if the radius says it."""
    own = view["radius_a"] not in ("same", str(view["radius"]))
    mean = f" ($R_A$ = {view['radius_a']} for the mean)" if own else ""
    axes = "" if set(view["over"]) == {"H", "W"} else f", along {', '.join(view['over']) or 'no axis'}"
    return f"**Nearby**: up to {view['radius']} pixels to each side{mean}{axes}." if mean or axes else ""


def _write_headline(view: View, x: np.ndarray, result: NormalizationResult) -> str:
    """Return the headline: the contrast of the right half over that of the left, before and after normalization."""
    if not view["over"]:
        return (
            "**No axis has windows**, so every element is its own mean: v = x − x = 0, and x̂ = 0 all over. Nothing is "
            "left to divide. Switch on H or W at *Windows along*, and the neighbours come in again."
            if list_wide_axes(view)
            else "The picture is one number, which is its own mean: v = 0, and x̂ = 0."
        )
    if not result.v.any():
        own = view["radius_a"] == "0" or (view["radius_a"] == "same" and not view["radius"])
        why = "Every element is its own mean here" if own else "All of a window is the same everywhere here"
        return f"{why}: v = 0, and nothing is left." + (" Take a radius from 1." if own else "")
    before, after = (compute_contrast_ratio(values) for values in (x, result.xhat))
    if not np.isfinite([before, after]).all():
        return "The contrast of the right half over that of the left is no finite number here."
    return f"### The right half has {before:.0%} of the left half’s contrast; normalized, it has {after:.0%}."


def show_pixel_response(pixel: SaturationCurve, scheme: Scheme, before: float, eps: float, theme: str) -> None:
    """Show one element, how it responds to the contrast, and the formula with all indices; `before`: its x."""
    st.markdown("## How does the pixel in the ring respond to contrast?")
    st.markdown(f"{_compute_pixel(pixel, before, eps)}  \nThe curve: all pixels are multiplied by c.")
    show_response_chart(pixel, eps, theme)
    st.markdown(_describe_response(pixel, eps))
    with st.container(horizontal=True, gap="medium"):
        for line in notation.build_formulas(scheme):
            if line.name not in ("output", "where"):
                st.latex(line.latex, width="content")


def _describe_response(curve: SaturationCurve, eps: float) -> str:
    """Describe the slope, the knee and the level of a response curve."""
    if not np.isfinite([curve.v, curve.root]).all():
        return "In the ring, or near it, is no finite number: there is no curve."
    if not curve.v:
        return "v = 0 in the ring: x̂ is 0 for every c."
    level = (
        f"$v / \\sqrt{{E_B[v^2]}}$ = {typeset(curve.v, 3)} / {typeset(curve.root, 3)} = **{typeset(curve.level, 3)}**"
    )
    if not eps:
        return f"Without ε there is no linear part: for every c, x̂ is saturated at {level}."
    return (
        f"The pixel in the ring, thick: far below the knee at $c = \\sqrt{{\\varepsilon / E_B[v^2]}}$ = "
        f"**{typeset(curve.compute_knee(eps), 3)}**, x̂ is proportional to c, with slope $v/\\sqrt{{\\varepsilon}}$ = "
        f"{typeset(curve.compute_slope(eps), 3)}; far beyond, it is saturated at {level}. The dotted line is the "
        "picture as it is, c = 1."
    )
