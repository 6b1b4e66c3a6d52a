"""The tensor of a page: its shape, its data, the focused element, and their values in the link."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import streamlit as st

from normviz.charts.colourings import COLOURING_NAMES, list_colourings
from normviz.core.fields import MAX_DRAWN_ELEMENTS, Shape, shrink_shape
from normviz.core.registry import SCHEMES
from normviz.core.settings import CustomValue, choice, integer, value
from normviz.data.files import PICTURE_SUFFIXES
from normviz.data.samples import SAMPLES
from normviz.describe.wording import name_axes
from normviz.ui.link import Param, View, create_params, make_choice_fitter, make_integer_fitter

SIZE_NAMES = ("n", "h", "w", "c")
"""Names of the axes' lengths, in links and in the session."""

VIEW_NAMES = {"folded": "One cube", "unfolded": "Several blocks"}
"""Names of the layouts; by default the scheme decides."""

OWN_DATA = "own"
"""Key of the data from the user's own file."""

_PICTURE = {"colour": "value", "view": "unfolded"}
DATA_NAMES = {key: sample.name for key, sample in SAMPLES.items()} | {OWN_DATA: "Your own file"}
"""Names of the data, by their key in a link."""

PRESETS: dict[str, View] = {
    "Conv feature maps": {"n": 4, "h": 4, "w": 4, "c": 6, "scheme": "batch"},
    "Transformer tokens (B, T, C)": {"n": 4, "h": 8, "w": 1, "c": 6, "scheme": "layer-channels"},
    "Dense layer (N, C)": {"n": 8, "h": 1, "w": 1, "c": 12, "scheme": "batch"},
    "One image": {"n": 1, "h": 8, "w": 8, "c": 3, "scheme": "instance", "data": "digits", **_PICTURE},
    "Photograph": {
        "n": 1, "h": 96, "w": 128, "c": 1, "scheme": "divisive", "radius": 4, "data": "photo", **_PICTURE,
        "focus": (0, 48, 64, 0),
    },
    "Conv weights": {"n": 3, "h": 3, "w": 4, "c": 8, "scheme": "weight"},
}  # fmt: skip
"""Values of the presets, by the names in a link; all other values return to their default."""


OFFERED_KEY = "offered"
"""Session key of the tensor that another page offers to the tensor lab."""


class OfferedTensor(NamedTuple):
    """A tensor (N, H, W, C) with its name, and the link with which the tensor lab takes it."""

    link: Mapping[str, str]
    x: np.ndarray
    name: str


def is_picture(view: View, shape: Shape) -> bool:
    """Return True if the page's tensor holds pictures: digits, photographs, or pictures of the user."""
    if min(shape[1:3]) == 1 or shape[3] not in (1, 3):
        return False
    own = view["data"] == OWN_DATA and str(st.session_state.get("own name", "")).lower()
    return view["data"] in ("digits", "photo") or any(f".{ending}" in own for ending in PICTURE_SUFFIXES if own)


def get_view_shape(view: View) -> Shape:
    """Return the shape (N, H, W, C) in the page's values."""
    return tuple(view[size] for size in SIZE_NAMES)


def get_view_lengths(view: View) -> dict[str, int]:
    """Return the length of every axis in the page's values, by name."""
    return {size: view[size] for size in SIZE_NAMES}


def fit_shape(view: View, limit: int = MAX_DRAWN_ELEMENTS) -> View:
    """Return the axis lengths, shrunk to at most `limit` elements; for the user's data, the lengths of the data."""
    own = st.session_state.get("own") if view["data"] == OWN_DATA else None
    if own is not None:
        return dict(zip(SIZE_NAMES, own.shape, strict=True))
    return dict(zip(SIZE_NAMES, shrink_shape(get_view_shape(view), limit), strict=True))


def offer_tensor(link: Mapping[str, str], x: np.ndarray, name: str) -> None:
    """Register a tensor (N, H, W, C) that becomes the user's data when this link opens the tensor lab."""
    st.session_state[OFFERED_KEY] = OfferedTensor(link, x, name)


def take_offered_tensor() -> None:
    """Make the tensor of `offer_tensor` the user's data if this page was opened by the link it was offered for."""
    state = st.session_state
    offered: OfferedTensor | None = state.pop(OFFERED_KEY, None)
    if offered is not None and offered.link.items() <= st.query_params.to_dict().items():
        state.update({"own": offered.x, "own name": offered.name, "own chosen": True, "upload error": None})
        state.pop("own file", None)


def has_own_tensor(view: View) -> bool:
    """Return True if the page shows the user's own file, which is loaded."""
    return view["data"] == OWN_DATA and st.session_state.get("own") is not None


def make_tensor(view: View) -> np.ndarray:
    """Return the tensor (N, H, W, C) that the page's values describe; uneven noise until the user's file is loaded."""
    if has_own_tensor(view):
        return st.session_state["own"]
    key = "uneven" if view["data"] == OWN_DATA else view["data"]
    return make_cached_sample(key, get_view_shape(view), view["seed"])


@st.cache_data(max_entries=64, show_spinner=False)
def make_cached_sample(key: str, shape: Shape, seed: int) -> np.ndarray:
    """Return the sample `key` of this shape and seed, cached for all sessions."""
    return SAMPLES[key].make(shape, seed)


def fit_index(value: Any, shape: Shape) -> tuple[int, ...]:
    """Return the valid element index nearest to four numbers or their text; missing numbers are 0."""
    given = value.split(",") if isinstance(value, str) else list(value)
    given = (given + [0] * 4)[:4]
    return tuple(make_integer_fitter(0, n - 1)(k, {}) for k, n in zip(given, shape, strict=True))


def format_index(index: Sequence[int]) -> str:
    """Format an element index as text for a link."""
    return ",".join(map(str, index))


def format_length_label(size: str, view: View) -> str:
    """Format the label of an axis' length: "N batch", "H height"."""
    scheme = SCHEMES[view.get("scheme", "none")]
    number = SIZE_NAMES.index(size)
    return f"{scheme.axes[number]} {name_axes(scheme.axes, get_view_shape(view))[number].length}"


def explain_missing_data(view: View) -> str:
    """Return a note that the user's data are missing, since a link cannot contain them; "" if present."""
    if view["data"] != OWN_DATA or not {"own", "own chosen"}.isdisjoint(st.session_state):
        return ""
    return (
        "Data: this link is to a file of somebody's own, which no link holds. Uneven noise is shown until it is loaded "
        "here, under Data."
    )


def store_chosen_element(key: str) -> None:
    """Make the element chosen, whose index the component with this session key has sent."""
    st.session_state["focus"] = tuple(map(int, st.session_state[key]["focus"][:4]))


def _fit_view(value: Any, view: View) -> str:
    try:
        return value and make_choice_fitter(list(VIEW_NAMES))(value, view)
    except ValueError:  # something was asked for
        return next(iter(VIEW_NAMES))


def declare_colour(has_affine: Callable[[View], bool]) -> Param:
    """Return the `Param` of what colours the cells; `has_affine(view)`: True if the scheme has γ or β."""

    def nearest(value: Any, view: View) -> str:
        found = make_choice_fitter(list(COLOURING_NAMES))(value, view)
        return found if found in list_colourings(has_affine(view)) else "normalized"

    return Param("colour", CustomValue("field", nearest, label="Colour by", shown=COLOURING_NAMES.__getitem__))


@dataclass(frozen=True)
class TensorValues:
    """Page values of the tensor, shared by all pages through links and the session."""

    n: int = integer(4, 1, MAX_DRAWN_ELEMENTS, label=partial(format_length_label, "n"))
    h: int = integer(4, 1, MAX_DRAWN_ELEMENTS, label=partial(format_length_label, "h"))
    w: int = integer(4, 1, MAX_DRAWN_ELEMENTS, label=partial(format_length_label, "w"))
    c: int = integer(6, 1, MAX_DRAWN_ELEMENTS, label=partial(format_length_label, "c"))
    data: str = choice("uneven", DATA_NAMES, missing=explain_missing_data)
    seed: int = integer(0, 0, 9999)
    view: str = value("", _fit_view, shown=lambda view: VIEW_NAMES.get(view, "the one that suits"))
    focus: tuple[int, ...] = value(
        (0, 0, 0, 0), lambda index, view: fit_index(index, get_view_shape(view)), format_index,
        label="Locked element", why=lambda given, view: f"is not within {' × '.join(map(str, get_view_shape(view)))}",
    )  # fmt: skip


PARAMS = create_params(TensorValues)
