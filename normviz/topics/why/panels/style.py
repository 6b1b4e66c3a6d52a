"""The panel "Style": a photograph without its own channel statistics, and with another's."""

import streamlit as st

from normviz.charts.common_charts import draw_pictures
from normviz.core.registry import SCHEMES
from normviz.core.text import format_number, typeset
from normviz.core.tolerances import RELATIVE_TOLERANCES
from normviz.topics.why import state
from normviz.topics.why.style import PHOTOS, RestyledPhoto, compute_channel_moments
from normviz.ui.link import View
from normviz.web.components.picture import convert_to_pixels
from normviz.web.components.plot import show_figure

GREY_LIMIT = 2.5
"""Greys go from x̂ = −`GREY_LIMIT`, black, to `GREY_LIMIT`, white."""

ADAIN = state.ADAIN


def show(view: View, theme: str) -> None:
    """Show a photograph, the style photograph, and the first one normalized and with the style's statistics."""
    kernel = view["kernel"] if view["space"] == "features" else 0
    found = state.get_restyled_photo(view["content"], view["contrast"], kernel, view["eps"], view["seed"])
    names = [PHOTOS[view["content"]], next(name for key, name in PHOTOS.items() if key != view["content"])]
    st.markdown(f"### {_write_headline(names, kernel, view['contrast'])}")
    shown = {
        "content": (f"{names[0]}: x", found.content, 0.0, 1.0),
        "style": (f"{names[1]}: its μ and σ", found.style, 0.0, 1.0),
        "normalized": ("Instance norm: x̂", found.xhat, -GREY_LIMIT, GREY_LIMIT),
        "restyled": (f"{names[0]} with the μ and σ of the other", found.y, 0.0, 1.0),
    }
    for row in (("content", "style"), ("normalized", "restyled")):
        for column, key in zip(st.columns(2), row, strict=True):
            title, image, low, high = shown[key]
            with column:
                means, deviations = (", ".join(typeset(v, 2) for v in each) for each in compute_channel_moments(image))
                alt = f"{title}, as a picture. Red, green, blue: means {means}, standard deviations {deviations}."
                figure = draw_pictures({title: convert_to_pixels(image, low, high)}, [(low, high)], theme)
                show_figure(figure, key, alt, "min(20rem, 75vw)")
    st.latex(r"y = \sigma_\text{style}\, \frac{x - \mu}{\sqrt{\sigma^2 + \varepsilon}} + \mu_\text{style}")
    if view["contrast"]:
        st.markdown(_describe_moments(found, kernel))
    st.markdown(_describe_contrast(found, view["contrast"], view["eps"]))
    st.markdown(_describe_limits(found, kernel))
    clipped = float(((found.y < 0) | (found.y > 1)).mean())
    beyond = f", in the last picture {clipped:.1%} of all numbers" if clipped else ""
    instance = SCHEMES["instance"].reference
    st.caption(
        f"x̂ is drawn from {typeset(-GREY_LIMIT)} to {typeset(GREY_LIMIT)}; what is beyond an end is drawn as that "
        f"end{beyond}. [{instance.text}]({instance.url}) has neither γ nor β; with those of another picture it becomes "
        f"adaptive instance norm ([{ADAIN.text}]({ADAIN.url}), eq. 8), there on the features of a trained network."
    )


def _write_headline(names: list[str], kernel: int, contrast: float) -> str:
    """Describe the last picture: what comes from the photograph, and what from the style photograph."""
    if not contrast:
        return "Without contrast nothing is left: x̂ = 0."
    return f"The {names[0].lower()} takes on the {names[1].lower()}’s {'patterns' if kernel else 'colours'}."


def _describe_moments(photo: RestyledPhoto, kernel: int) -> str:
    """Describe how closely the last picture has the statistics of the style photograph."""
    gap = format_number(photo.gap, 2, 1e3 * RELATIVE_TOLERANCES["float64"])
    channels = f"each of {photo.channels} random features of {kernel} × {kernel} pixels" if kernel else "each colour"
    return (
        f"In the last picture {channels} has the mean and, up to ε, the standard deviation of the style photograph "
        f"(largest difference {gap} of the largest)."
    )


def _describe_contrast(photo: RestyledPhoto, contrast: float, eps: float) -> str:
    """Describe whether x̂ depends on the contrast."""
    if not contrast:
        return "**Instance norm takes the contrast**, but has nothing to work on where there is none."
    gap = format_number(photo.contrast_gap, 2, 1e3 * RELATIVE_TOLERANCES["float64"])
    return (
        f"**Instance norm takes the contrast**: at contrast × {typeset(contrast)} and ε = {typeset(eps)}, x̂ is at most "
        f"{gap} from that of full contrast. The smaller ε is beside σ², the nearer."
    )


def _describe_limits(photo: RestyledPhoto, kernel: int) -> str:
    """Describe what random features can show, and what they cannot."""
    gap = format_number(photo.seen_gap, 2, 1e3 * RELATIVE_TOLERANCES["float64"])
    if not kernel:
        return (
            "**On pixels the style is colour and contrast.** Style transfer proper works on features: choose *Random "
            "features*."
        )
    return (
        f"**These features are not trained**: all {kernel} × {kernel} patches in a random orthogonal basis, turned "
        "back into a picture by the mean over the patches that hold a pixel (the pseudo-inverse). The picture's own "
        f"features are then off by up to {gap} of the style's largest σ"
        + (": overlapping patches cannot all have what they were given." if kernel > 1 else ".")
    )
