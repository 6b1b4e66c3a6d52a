"""Controls of the tensor on any page: shape, data, own file, and the windows of a scheme."""

from collections.abc import Callable, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
from normviz.core.registry import Scheme
from normviz.data.files import PICTURE_SUFFIXES, convert_to_tensor, is_likely_channels_first, name_array_axes, read_file
from normviz.describe import wording
from normviz.describe.markdown import escape_markdown
from normviz.describe.wording import format_shape
from normviz.ui import custom
from normviz.ui.custom import MAX_RADIUS
from normviz.ui.frame import show_error
from normviz.ui.link import Param, View, clean_values, draw_value_slider
from normviz.ui.locks import is_locked, make_widget_arguments, set_widget_value
from normviz.ui.scheme import ALPHA_LABEL, ALPHA_STEPS, EPS_STEPS, find_grouped_axes, list_group_counts
from normviz.ui.tensor import DATA_NAMES, OWN_DATA, PRESETS, SIZE_NAMES, fit_shape, format_length_label


def draw_shape_controls(view: View, scheme: Scheme, params: Sequence[Param]) -> None:
    """Draw the controls of the tensor's shape: presets, and a number for each axis."""
    shape = {size: view[size] for size in SIZE_NAMES}
    set_widget_value("preset", next((name for name, each in PRESETS.items() if shape.items() <= each.items()), None))
    st.selectbox(
        "Shape", list(PRESETS), key="preset", placeholder="Your own", disabled=is_locked("n"), on_change=_apply_preset,
        args=(params,),
    )  # fmt: skip
    fixed = view["data"] == OWN_DATA and "own" in st.session_state
    with st.container(key="axis-lengths"):
        for size in SIZE_NAMES:
            label = format_length_label(size, shape | {"scheme": scheme.key})
            st.number_input(label, 1, MAX_DRAWN_ELEMENTS, **make_widget_arguments(size, fixed))
    st.caption(f"{format_shape(tuple(shape.values()))} = {wording.pluralize(prod(shape.values()), 'element')}")


def _apply_preset(params: Sequence[Param]) -> None:
    """Set the values of the chosen preset and reset all others, except the rules of the custom scheme."""
    if st.session_state["preset"] is None:
        return
    view, _ = clean_values(params, PRESETS[st.session_state["preset"]])
    st.session_state.update({p.key: view[p.name] for p in params if p.key not in custom.CUSTOM_KEYS})


def draw_data_controls(view: View, has_seed: bool = True) -> None:
    """Draw the choice of data, and the seed or the user's own file."""
    st.selectbox(
        "Data",
        list(DATA_NAMES),
        **make_widget_arguments("data"),
        format_func=DATA_NAMES.__getitem__,
        on_change=_use_own_shape,
    )
    if view["data"] == OWN_DATA:
        draw_file_upload("Uneven noise is")
    elif has_seed:
        draw_seed_control()


def draw_seed_control() -> None:
    """Draw the control of a sample's seed."""
    st.number_input("Seed", 0, 9999, **make_widget_arguments("seed"))


def draw_eps_control(view: View, prefix: str = "") -> None:
    """Draw the slider of ε; `prefix` starts its key in the session."""
    draw_value_slider(prefix + "eps", "ε (smoothing term)", EPS_STEPS, view["eps"])


def draw_file_upload(placeholder: str) -> None:
    """Draw the upload of the user's own file and its name; until then, a note "`placeholder` shown"."""
    state = st.session_state
    st.file_uploader(
        ".npy, .csv, .png or .jpg, up to 5 MB",
        ["npy", "csv", "png", "jpg", "jpeg"],
        key="upload",
        on_change=_take_upload,
    )
    there = "own" in state
    if state.get("upload error"):
        show_error(f"{state['upload error']} {state['own name'] + ' is still' if there else placeholder} shown.")
    elif not there:
        st.info(f"{placeholder} shown until a file is here.")
    held: UploadedTensor | None = state.get("own file")
    if there and (held is None or held.array.ndim < 3 or held.picture):
        st.caption(escape_markdown(describe_file(held) if held else state["own name"]))
    elif held is not None:
        st.toggle(
            "Channels first, as PyTorch has them",
            **make_widget_arguments("own first"),
            on_change=_convert_upload_layout,
        )
        st.caption(escape_markdown(describe_file(held)))


def draw_fit_button(view: View, limit: int = MAX_DRAWN_ELEMENTS) -> None:
    """Draw a button that shrinks the shape to at most `limit` elements, if it has more."""
    fitting = fit_shape(view, limit)
    if fitting.items() <= view.items():
        return
    st.button(f"Use {format_shape(list(fitting.values()))}", on_click=lambda: st.session_state.update(fitting))


RADIUS_LABEL = "Neighbourhood that divides: radius $R_B$"


def draw_main_parameters(
    view: View, is_relevant: Callable[[str], bool], prefix: str = "", radius_label: str = RADIUS_LABEL
) -> None:
    """Draw the controls of groups G, radius R and α, if they are relevant; `prefix` starts their keys."""
    if is_relevant("groups"):
        cut = ", ".join(f"{axis} = {n}" for axis, n in find_grouped_axes(view).items())
        label = f"Groups G (divisors of {cut})"
        st.selectbox(label, list_group_counts(view), **make_widget_arguments(prefix + "groups"))
    if is_relevant("radius"):
        draw_radius_control(prefix, radius_label)
    if is_relevant("alpha"):
        draw_value_slider(prefix + "alpha", ALPHA_LABEL, ALPHA_STEPS, view["alpha"])


def draw_radius_control(prefix: str, label: str) -> None:
    """Draw the control of the radius of the divisor's windows."""
    st.slider(label, 0, MAX_RADIUS, **make_widget_arguments(f"{prefix}radius"))


def draw_mean_window_controls(axes: Sequence[str], prefix: str = "") -> None:
    """Draw the controls of the windows: the radius of the mean's, and the `axes` along which they run."""
    radii = ["same", *map(str, range(MAX_RADIUS + 1))]
    st.selectbox("Neighbourhood of the mean: radius $R_A$", radii, **make_widget_arguments(f"{prefix}radius_a"))
    st.pills("Windows along", axes, selection_mode="multi", **make_widget_arguments(f"{prefix}over"))


class UploadedTensor(NamedTuple):
    """File of the user: its name, its array as read, True if it is a picture, and notes on how it was read."""

    name: str
    array: np.ndarray
    picture: bool
    told: tuple[str, ...]


def describe_file(file: UploadedTensor) -> str:
    """Describe a file's content and reading: "a.npy: 8 × 3 × 32 × 32, read as (N, C, H, W), guessed from its shape"."""
    if file.picture or file.array.ndim < 3:
        return ": ".join(filter(None, [file.name, "; ".join(file.told)]))
    first, shape = st.session_state["own first"], file.array.shape
    guessed = ", guessed from its shape" if first == is_likely_channels_first(shape) else ""
    return f"{file.name}: {format_shape(shape)}, read as ({', '.join(name_array_axes(shape, first))}){guessed}."


def _take_upload() -> None:
    """Read the uploaded file into the session; keep the previous one if it is invalid."""
    state, file = st.session_state, st.session_state["upload"]
    state["upload error"] = None
    if file is None:
        return
    try:
        found = read_file(file.name, file.getvalue(), MAX_DRAWN_ELEMENTS)
        check_shape(convert_to_tensor(found.array, file.name).shape, AXES["activation"], MAX_DRAWN_ELEMENTS)
    except InvalidInput as error:
        state["upload error"] = str(error)
        return
    picture = file.name.lower().endswith(PICTURE_SUFFIXES)
    state["own file"], state["own name"] = UploadedTensor(file.name, found.array, picture, found.told), file.name
    state["own first"] = not picture and is_likely_channels_first(found.array.shape)
    _convert_upload_layout()
    if state.get("data") == OWN_DATA and state["own"].shape[0] == 1 and min(state["own"].shape[1:3]) > 1:
        state["view"] = "unfolded"  # a picture, and seen as one


def _convert_upload_layout() -> None:
    """Convert the user's array to (N, H, W, C), with the axes that the switch says."""
    held: UploadedTensor = st.session_state["own file"]
    st.session_state["own"] = convert_to_tensor(held.array, held.name, st.session_state["own first"])
    _use_own_shape()


def _use_own_shape() -> None:
    state = st.session_state
    state["upload error"] = None  # of a file that is no longer there
    state["own chosen"] = True
    if state.get("data") == OWN_DATA and "own" in state:  # a page of another topic may have none of the tensor's values
        state.update(zip(SIZE_NAMES, map(int, state["own"].shape), strict=True))
