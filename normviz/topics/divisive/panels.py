"""The panels of the page "Contrast": a picture before and after, and one pixel's response to contrast."""

import numpy as np
import streamlit as st

from normviz.charts.palette import THEMES
from normviz.core.fields import Index
from normviz.core.registry import Scheme
from normviz.core.statistics import SaturationCurve, compute_saturation
from normviz.core.text import typeset
from normviz.describe import notation
from normviz.topics.divisive import state
from normviz.topics.divisive.contrast import apply_fading_light, compute_contrast_ratio
from normviz.topics.divisive.controls import draw_eps_slider
from normviz.ui.link import View
from normviz.ui.response_charts import show_response_chart
from normviz.web.components.picture import convert_to_pixels, show_picture_stages

GREY_LIMIT = 3.0
"""Greys go from x̂ = −3, black, to 3, white: numbers with mean 0 and mean square 1 rarely exceed it."""

CLEAR_RISE, BACK_SHARE = 1.1, 0.75
"""Least factor by which the dark half's contrast rises visibly, and its least share of the original's to be back."""

FAR_LARGER = 10.0
"""Least factor from the largest mean of v² nearby to an ε that is far larger: all divisors are then within 5%."""

FORMULA_IN_WORDS = (
    r"\small \begin{gathered} v = \text{pixel} - \text{mean nearby} \\[4pt] "
    r"\text{normalized} = \frac{v}{\sqrt{\varepsilon + \text{mean of } v^2 \text{ nearby}}} \end{gathered}"
)


def show_panels(view: View, theme: str) -> None:
    """Show the picture before and after normalization, then the response of one pixel and the formula."""
    scheme, even = state.build_windowed_scheme(view), state.get_evenly_lit_picture(view)
    x = apply_fading_light(even, view["light"])
    xhat = state.normalize_picture(x, scheme, view["eps"]).xhat
    centred, squares = state.measure_neighbourhood(x, scheme)
    focus = state.find_focus(view, centred)
    pixel = compute_saturation(x, scheme, focus)
    stages = {"original": even} | ({"darkened": x} if view["light"] < 1 else {}) | {"normalized": xhat}
    measured = [state.measure_neighbourhood(even, scheme)[0], centred, xhat][-len(stages) :]
    contrasts = [compute_contrast_ratio(values) for values in measured]
    st.markdown(_format_headline(view, contrasts, squares, bool(xhat.any())))
    _draw_stages(stages, contrasts, view, focus, THEMES[theme].element)
    st.container(key="contrast-notes").caption(
        "Contrast of a half: how far its pixels differ from the mean nearby (standard deviation).  \n"
        "Mid-grey in the normalized picture: 0. "
        + state.describe_picture_source(view)
        + ("" if np.isfinite(x).all() else "Purple: no finite number.")
    )
    left, right = st.columns([2, 3], gap="large")
    with left, st.container(gap=None):
        slider = st.container()
        st.container(key="contrast-means").caption(_compare_with_eps(squares))
    with right, st.container(key="contrast-formula"):
        st.latex(FORMULA_IN_WORDS)
        st.markdown(_describe_nearby_elements(view), text_alignment="center")
    show_pixel_response(pixel, scheme, focus, float(x[focus]), view["eps"], theme)
    with slider:  # last: the page follows what is dragged
        draw_eps_slider(view)


def _draw_stages(stages: dict[str, np.ndarray], contrasts: list[float], view: View, focus: Index, colour: str) -> None:
    """Draw the stages beside each other, each with its contrast, and around one pixel the pixels nearby."""
    shares = (f"{contrast:.0%}" if np.isfinite(contrast) else "–" for contrast in contrasts)
    notes = [f"contrast on the right: {share} of the left" for share in shares]
    reach = [view["radius"] if axis in view["over"] else 0 for axis in "HW"]
    named = ", ".join(f"{name} ({note})" for name, note in zip(stages, notes, strict=True))
    alt = (
        f"The picture at each stage: {named}. The chosen pixel is in row {focus[1]}, column {focus[2]}; arrow keys "
        "move it."
    )
    images = _convert_stages_to_pixels(stages, focus)
    show_picture_stages(images, notes, "contrast", alt, focus[1:3], reach, colour, state.store_picked_pixel)


def _convert_stages_to_pixels(stages: dict[str, np.ndarray], focus: Index) -> dict[str, np.ndarray]:
    """Return each stage of the picture as pixels: x on the scale of the original, x̂ from −3 to 3."""
    drawn = {name: _select_channels(values, focus) for name, values in stages.items()}
    scale = _find_finite_range(drawn["original"])
    return {
        name: convert_to_pixels(values, *((-GREY_LIMIT, GREY_LIMIT) if name == "normalized" else scale))
        for name, values in drawn.items()
    }


def _select_channels(values: np.ndarray, focus: Index) -> np.ndarray:
    """Return what to draw of a picture (1, H, W, C): all channels if there are three, else the focused one."""
    return values[0] if values.shape[3] == 3 else values[0, :, :, focus[3]]


def _find_finite_range(values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest finite value; (0, 0) if there is none."""
    finite = values[np.isfinite(values)]
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)


def _format_pixel_formula(pixel: SaturationCurve, x: float, eps: float) -> str:
    """Return the formula of v and x̂ with the numbers of a pixel of value x; "" if one is not finite or is 0/0."""
    v, square = pixel.v, pixel.root**2
    if not np.isfinite([x, v, square]).all() or not eps + square:
        return ""
    mean, after = x - v, v / (eps + square) ** 0.5
    return (
        f"v = {typeset(x, 2)} − {typeset(mean, 2)} = {typeset(v, 2)}.  \n"
        f"Normalized: {typeset(v, 2)}/√({typeset(eps)} + {typeset(square, 2)}) = **{typeset(after, 2)}**. "
        f"−{GREY_LIMIT:g} is drawn black, {GREY_LIMIT:g} white."
    )


def _describe_nearby_elements(view: View) -> str:
    """Describe which elements "nearby" means in the formula; "" for a picture of one element."""
    if not state.list_wide_axes(view):
        return ""
    has_own_mean = view["radius_a"] not in ("same", str(view["radius"]))
    mean = f", for the mean up to {view['radius_a']}" if has_own_mean else ""
    is_square = set(view["over"]) == {"H", "W"}
    axes = " (the square)" if is_square else f", along {', '.join(view['over']) or 'no axis'}"
    return f"**Nearby**: up to {view['radius']} pixels to each side{axes}{mean}."


def _compare_with_eps(squares: np.ndarray) -> str:
    """Describe the median mean of v² nearby in each half of its values, (1, H, W, C); "" without two halves."""
    middle = squares.shape[2] // 2
    if not middle or not np.isfinite(squares).all():
        return ""
    left, right = (typeset(float(np.median(half)), 2) for half in (squares[:, :, :middle], squares[:, :, middle:]))
    return f"Mean of v² nearby: about {left} in the left half, {right} in the right."


def _format_headline(view: View, contrasts: list[float], squares: np.ndarray, has_values: bool) -> str:
    """Return the headline on the contrasts of the stages; `squares`: the mean of v² nearby before normalization."""
    if not view["over"]:
        return (
            "**No axis has windows**, so every element is its own mean: v = x − x = 0, and x̂ = 0 all over. Nothing is "
            "left to divide. Switch on H or W at *Windows along*, and the neighbours come in again."
            if state.list_wide_axes(view)
            else "The picture is one number, which is its own mean: v = 0, and x̂ = 0."
        )
    if not has_values:
        own = view["radius_a"] == "0" or (view["radius_a"] == "same" and not view["radius"])
        why = "Every element is its own mean here" if own else "All of a window is the same everywhere here"
        return f"{why}: v = 0, and nothing is left." + (" Take a radius from 1." if own else "")
    if not np.isfinite(contrasts).all():
        return "The contrast is no finite number here."
    before, after = (f"{contrast:.0%}" for contrast in contrasts[-2:])
    eps = typeset(view["eps"])
    if view["eps"] >= FAR_LARGER * squares.max():
        divisor = typeset(view["eps"] ** 0.5, 2)
        return f"### ε = {eps} far exceeds the mean of v² nearby: every v is divided by about {divisor}."
    if view["light"] == 1:
        return f"### In even light no half is dark: contrast {before}, normalized {after}."
    if contrasts[2] >= max(CLEAR_RISE * contrasts[1], BACK_SHARE * contrasts[0]):
        return "### Normalization brings back the contrast of the right half."
    if contrasts[2] < contrasts[0] and view["eps"] > np.median(squares[:, :, squares.shape[2] // 2 :]):
        return f"### The right half fades: ε = {eps} exceeds the mean of v² there."
    return f"### The contrast of the right half is {before}, after normalization {after}."


def show_pixel_response(
    pixel: SaturationCurve, scheme: Scheme, focus: Index, before: float, eps: float, theme: str
) -> None:
    """Show one element, how it responds to the contrast, and the formula with all indices; `before`: its x."""
    st.markdown("## How does one pixel respond to contrast?")
    st.markdown(
        f"**Row {focus[1]}, column {focus[2]}**; a click on the picture chooses another pixel.  \n"
        f"{_format_pixel_formula(pixel, before, eps)}  \nThe curve: all pixels are multiplied by c."
    )
    show_response_chart(pixel, eps, theme)
    st.markdown(_describe_response(pixel, eps))
    with st.container(horizontal=True, gap="medium"):
        for line in notation.build_formulas(scheme):
            if line.name not in ("output", "where"):
                st.latex(line.latex, width="content")


def _describe_response(curve: SaturationCurve, eps: float) -> str:
    if not np.isfinite([curve.v, curve.root]).all():
        return "The pixel, or one near it, is no finite number: there is no curve."
    if not curve.v:
        return "v = 0 at this pixel: x̂ is 0 for every c."
    level = (
        f"$v / \\sqrt{{E_B[v^2]}}$ = {typeset(curve.v, 3)} / {typeset(curve.root, 3)} = **{typeset(curve.level, 3)}**"
    )
    if not eps:
        return f"Without ε there is no linear part: for every c, x̂ is saturated at {level}."
    return (
        f"The thick curve is this pixel: far below the knee at $c = \\sqrt{{\\varepsilon / E_B[v^2]}}$ = "
        f"**{typeset(curve.compute_knee(eps), 3)}**, x̂ is proportional to c, with slope $v/\\sqrt{{\\varepsilon}}$ = "
        f"{typeset(curve.compute_slope(eps), 3)}; far beyond, it is saturated at {level}. The dotted line is the "
        "picture as it is, c = 1."
    )
