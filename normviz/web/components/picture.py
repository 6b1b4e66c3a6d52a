"""Two pictures on each other, pixel by pixel, with a handle that wipes between them; a pixel can be picked."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import streamlit as st

from normviz.charts.palette import NOT_FINITE_COLOUR
from normviz.web.components.component import create_component

HTML = """
<div class="nv-picture">
  <div class="frame">
    <div class="view" role="img" tabindex="0"><canvas></canvas><canvas></canvas></div>
    <i class="ring"></i><i class="line"></i>
    <div class="grip" role="slider" tabindex="0" aria-valuemin="0" aria-valuemax="100" aria-label="Wipe">
      <span></span><span></span>
    </div>
  </div>
  <div class="half" aria-hidden="true"></div>
  <div class="live" aria-live="polite"></div>
</div>
"""


def show_picture_wipe(
    images: Mapping[str, np.ndarray], key: str, alt: str, right_label: str, focus: Sequence[int], colour: str,
    on_pick: Callable[[], Any],
) -> None:  # fmt: skip
    """Show two pictures that are wiped between, in an element of the class `st-key-{key}`.

    Args:
        images: by the name on the handle, two results of `shades` of one size; the first is left of the handle.
        key: of the element, and of its state in the session: `st.session_state[f"{key} picture"].focus`.
        alt: the picture in a sentence.
        half: name of the right half, below it.
        focus: row and column of the pixel with a ring around it, in this colour.
        on_pick: called when a click, a tap or the arrow keys pick another pixel.
    """
    height, width = next(iter(images.values())).shape[:2]
    data = {
        "name": key,
        "alt": alt,
        "half": right_label,
        "names": list(images),
        "images": [image.reshape(-1) for image in images.values()],
        "shape": [height, width],
        "focus": list(focus),
        "colour": colour,
    }
    show = create_component("picture", HTML, ("saving",))
    with st.container(key=key):
        show(key=f"{key} picture", data=data, on_focus_change=on_pick)


def convert_to_pixels(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """Numbers (height, width) as grey, or (height, width, 3) as red, green and blue, of 8 bits: `low` is 0, `high` 255.

    What is beyond is drawn as the end, and what is no finite number in a colour of its own.
    """
    finite = np.isfinite(values)
    halves = np.where(finite, values, low) / 2 - low / 2  # of numbers near the largest there are, the whole is infinite
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
