"""Pictures beside each other, of the same scene at several stages; pixels can be selected."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from normviz.charts.palette import NOT_FINITE_COLOUR
from normviz.web.components.component import create_component

MAX_STAGES = 3

_FIGURE = """<figure><div class="box"><canvas></canvas><i class="window"></i><i class="ring"></i></div>
<figcaption><span></span><b></b></figcaption></figure>"""

HTML = f"""
<div class="nv-picture">
  <div class="frame"><div class="view" role="img" tabindex="0">{_FIGURE * MAX_STAGES}</div></div>
  <div class="live" aria-live="polite"></div>
</div>
"""


def show_picture_stages(
    images: Mapping[str, np.ndarray], notes: Sequence[str], key: str, alt: str, focus: Sequence[int],
    reach: Sequence[int], colour: str, on_pick: Callable[[], Any],
) -> None:  # fmt: skip
    """Show pictures beside each other, with a ring around one pixel of the last but one, in an element `st-key-{key}`.

    Args:
        images: by name, up to `MAX_STAGES` results of `convert_to_pixels` of one size.
        notes: what stands below each name.
        key: of the element; its state in the session is `st.session_state[f"{key} picture"].focus`.
        alt: the pictures in a sentence.
        focus: row and column of the selected pixel.
        reach: rows and columns to each side of it, inside a rectangle.
        colour: of the ring and the rectangle.
        on_pick: called when another pixel is selected.
    """
    height, width = next(iter(images.values())).shape[:2]
    data = {
        "name": key,
        "alt": alt,
        "names": list(images),
        "notes": list(notes),
        "images": [image.reshape(-1) for image in images.values()],
        "shape": [height, width],
        "focus": list(focus),
        "reach": list(reach),
        "colour": colour,
    }
    show = create_component("picture", HTML, ("button", "saving"))
    with st.container(key=key):
        show(key=f"{key} picture", data=data, on_focus_change=on_pick)


def convert_to_pixels(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Convert numbers (height, width) or (height, width, 3) to 8-bit pixels: `low` becomes 0, `high` 255.

    Numbers outside are clipped. NaN and Inf have a colour of their own.
    """
    finite = np.isfinite(values)
    halves = np.where(finite, values, low) / 2 - low / 2  # the full difference of huge numbers would overflow
    with np.errstate(over="ignore"):
        scaled = halves / (high / 2 - low / 2 or np.finfo(float).tiny)
    drawn = np.rint(255 * np.clip(scaled, 0, 1)).astype(np.uint8)
    if finite.all():
        return drawn
    if drawn.ndim == 2:
        drawn, finite = np.repeat(drawn[..., None], 3, axis=2), finite[..., None]
    return np.where(
        finite.all(axis=2, keepdims=True), drawn, np.frombuffer(bytes.fromhex(NOT_FINITE_COLOUR[1:]), np.uint8)
    )
