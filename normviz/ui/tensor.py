"""The tensor that pages show: its shape, its data, the element that is looked at, and what a link holds of them."""

from typing import Any

import numpy as np
import streamlit as st

from normviz.core.fields import MAX_ELEMENTS, Shape, largest_fit
from normviz.data.samples import SAMPLES
from normviz.ui.link import Param, View, choice, whole

SIZES = ("n", "h", "w", "c")
"""The lengths of the axes, in links and in the session."""

COLOURS = {"field": "Field", "statistic": "Statistic", "value": "Value x", "normalized": "Result x̂"}
"""What a cell's colour stands for."""

OWN_DATA = "own"
"""The kind of data that is one's own file."""

PRESETS: dict[str, View] = {
    "Conv feature maps": {"n": 4, "h": 4, "w": 4, "c": 6},
    "Transformer tokens (B, T, C)": {"n": 4, "h": 8, "w": 1, "c": 6},
    "Dense layer (N, C)": {"n": 8, "h": 1, "w": 1, "c": 12},
    "One image": {"n": 1, "h": 8, "w": 8, "c": 3, "view": "unfolded", "data": "digits"},
    "Photograph": {"n": 1, "h": 96, "w": 128, "c": 1, "view": "unfolded", "data": "photo"},
    "Conv weights": {"n": 3, "h": 3, "w": 4, "c": 8},
}


def shape_of(view: View) -> Shape:
    """The shape that is asked for."""
    return tuple(view[size] for size in SIZES)


def lengths(view: View) -> dict[str, int]:
    """The length of every axis."""
    return {size: view[size] for size in SIZES}


def fit(view: View, limit: int = MAX_ELEMENTS) -> View:
    """The shape, made to fit into what is drawn; that of one's own data where they are there."""
    own = st.session_state.get("own") if view["data"] == OWN_DATA else None
    if own is not None:
        return dict(zip(SIZES, own.shape, strict=True))
    return dict(zip(SIZES, largest_fit(shape_of(view), limit), strict=True))


def tensor(view: View) -> np.ndarray:
    """The tensor that is asked for; uneven noise until one's own is there."""
    if view["data"] != OWN_DATA:
        return _sample(view["data"], shape_of(view), view["seed"])
    own = st.session_state.get("own")
    return _sample("uneven", shape_of(view), view["seed"]) if own is None else own


@st.cache_data(max_entries=64, show_spinner=False)
def _sample(key: str, shape: Shape, seed: int) -> np.ndarray:
    return SAMPLES[key].make(shape, seed)


def _focus(value: Any, view: View) -> tuple[int, ...]:
    given = value.split(",") if isinstance(value, str) else list(value)
    given = (given + [0] * 4)[:4]
    return tuple(whole(0, n - 1)(v, view) for v, n in zip(given, shape_of(view), strict=True))


PARAMS = (
    *(Param(size, n, whole(1, MAX_ELEMENTS)) for size, n in PRESETS["Conv feature maps"].items()),
    Param("data", "uneven", choice([*SAMPLES, OWN_DATA])),
    Param("seed", 0, whole(0, 9999)),
    Param("colour", "field", choice(list(COLOURS))),
    Param("focus", (0, 0, 0, 0), _focus, lambda focus: ",".join(map(str, focus))),
)
"""The values of the tensor, in links and in the session; they follow the user from page to page."""
