"""The state of the page "Contrast": the values in its link, its picture, and its scheme."""

from collections.abc import Callable
from typing import Any

import numpy as np
import streamlit as st

from normviz.core.fields import AXES, Index, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, Scheme
from normviz.core.settings import Choice, CustomValue, Real, replace_default
from normviz.data.samples import SAMPLES
from normviz.ui import scheme, tensor
from normviz.ui.link import View, create_params, make_integer_fitter
from normviz.ui.tensor import OWN_DATA, has_own_tensor, make_cached_sample, make_tensor

PAGE = "divisive"
PREFIX = PAGE + " "

SHAPES: dict[str, Shape] = {"photo": (1, 96, 128, 1), "digits": (1, 8, 8, 1), "features": (1, 8, 8, 6)}
"""The pictures: a kind of data and its shape."""

PICTURE_NAMES = {key: SAMPLES[key].name for key in SHAPES} | {OWN_DATA: "Your own file"}
"""The name of each picture, and of the user's own."""

FALLBACK_PICTURE = "photo"
"""The picture that is shown until the user's own file is there."""

NO_WINDOWS = "none"
"""Value in a link for no windows."""

LIGHT_STOPS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Light at the right edge; 1 is even light."""

FOCUS_AXES = {"row": "H", "column": "W", "channel": "C"}
"""The indices of the chosen element, and their axes."""

EPS_STEPS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0)
"""Stops of ε, among them the squared contrast of pictures with values from 0 to 1."""

EDGE_SHARE = 4
"""One over the share of a picture's height and width that counts as near an edge, where the square would be cut."""

DARK_START = 5
"""Eighths of a picture's width at the left without its first chosen element, so that its square is in the dark half."""

SCHEME = SCHEMES["divisive"]


def get_picture_shape(view: View) -> Shape:
    """Return the shape (1, H, W, C) of the picture."""
    if view["data"] != OWN_DATA:
        return SHAPES[view["data"]]
    own = st.session_state.get("own")
    return SHAPES[FALLBACK_PICTURE] if own is None else (1, *own.shape[1:])


def list_eps_values(view: View) -> list[float]:
    """List the values on the slider of ε, from the smallest, including the current one, which may come from a link."""
    return sorted({*EPS_STEPS, view["eps"]})


def list_wide_axes(view: View) -> list[str]:
    """List the axes of the picture with several indices, along which windows are possible."""
    return [axis for axis, n in zip(AXES["activation"], get_picture_shape(view), strict=True) if n > 1]


def _fit_window_axes(value: Any, view: View) -> list[str]:
    """Return the valid axes with windows: the given ones, none for an explicit empty list, by default H and W."""
    axes = list_wide_axes(view)
    if value in ([], NO_WINDOWS):
        return []
    return [axis for axis in axes if axis in value] or [axis for axis in axes if axis in "HW"] or axes


def _make_index_fitter(axis: str) -> Callable[[Any, View], int | None]:
    """Return a function (value, view) that returns the nearest valid index along an axis, or None for no value."""

    def nearest(value: Any, view: View) -> int | None:
        if value in (None, ""):
            return None
        return make_integer_fitter(0, get_picture_shape(view)[AXES["activation"].index(axis)] - 1)(value, view)

    return nearest


_SHARED = {param.name: param.declared for param in (*tensor.PARAMS, *scheme.PARAMS)}

VALUES = {
    "data": Choice(FALLBACK_PICTURE, PICTURE_NAMES),
    "seed": _SHARED["seed"],
    "radius": replace_default(_SHARED["radius"], 16),
    "radius_a": _SHARED["radius_a"],
    "over": CustomValue(["H", "W"], _fit_window_axes, lambda over: "".join(over) or NO_WINDOWS, label="Windows along"),
    "eps": _SHARED["eps"],
    "light": Real(0.03, LIGHT_STOPS[0], 1.0, label="Light at the right edge"),
    **{name: CustomValue(None, _make_index_fitter(axis)) for name, axis in FOCUS_AXES.items()},
}

PARAMS = create_params(VALUES, PREFIX)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value applies to the picture; links and controls omit irrelevant values."""
    return name != "channel" or get_picture_shape(view)[3] > 1


def build_windowed_scheme(view: View) -> Scheme:
    """Return the scheme of divisive norm with the radius and window axes of the view."""
    return scheme.apply_radii(SCHEME, view)


def find_focus(view: View, v: np.ndarray) -> Index:
    """Return the index of the chosen element, by default of the largest `v` right of the middle and off the edges."""
    given = (0, *(view[name] for name in FOCUS_AXES))
    edges = (0, v.shape[1] // EDGE_SHARE, v.shape[2] // EDGE_SHARE, 0)
    firsts = (*edges[:2], DARK_START * v.shape[2] // 8, 0)
    starts = [first if i is None else i for i, first in zip(given, firsts, strict=True)]
    stops = [n - edge if i is None else i + 1 for i, edge, n in zip(given, edges, v.shape, strict=True)]
    part = v[tuple(map(slice, starts, stops))]
    found = np.unravel_index(np.argmax(np.where(np.isfinite(part), part, -np.inf)), part.shape)
    return tuple(int(start + f) for start, f in zip(starts, found, strict=True))


def store_picked_pixel() -> None:
    """Store the pixel that was picked on the picture as the chosen element."""
    row, column = st.session_state["contrast picture"]["focus"]
    st.session_state.update({PREFIX + "row": row, PREFIX + "column": column})


def get_evenly_lit_picture(view: View) -> np.ndarray:
    """Return the picture (1, H, W, C) in even light."""
    if has_own_tensor(view):
        return make_tensor(view)[:1]
    key = view["data"] if view["data"] in SHAPES else FALLBACK_PICTURE
    return make_cached_sample(key, SHAPES[key], view["seed"])


def describe_picture_source(view: View) -> str:
    """Describe why another picture is shown than the chosen one; empty if it is the chosen one."""
    if view["data"] != OWN_DATA:
        return ""
    own = st.session_state.get("own")
    if own is None:
        return "**Your own file is not here**: this is a photograph until you choose one at *Data*. "
    return f"This is the first of the {len(own)} examples in your file. " if len(own) > 1 else ""


@st.cache_data(max_entries=32, show_spinner=False)
def normalize_picture(x: np.ndarray, scheme: Scheme, eps: float) -> NormalizationResult:
    """Normalize a picture (1, H, W, C) with the scheme."""
    return normalize(x, scheme, eps)


@st.cache_data(max_entries=32, show_spinner=False)
def measure_neighbourhood(x: np.ndarray, scheme: Scheme) -> tuple[np.ndarray, np.ndarray]:
    """Return v = x − mean nearby of a picture (1, H, W, C), and the mean of v² nearby."""
    result = normalize(x, scheme, 0.0)
    assert result.deviation is not None
    return result.v, result.deviation**2
