"""The tensor lab's controls. Every widget's key is that of a value in `lab.PARAMS`, which it shows and sets."""

from collections.abc import Sequence

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, AXIS, MAX_ELEMENTS, check_shape
from normviz.core.schemes import SCHEMES, Scheme
from normviz.data.samples import SAMPLES, read_upload, shrink_image
from normviz.describe.wording import shape_words
from normviz.lab.state import (
    COLOURS,
    EPS_STEPS,
    OWN_DATA,
    PRESETS,
    fit,
    group_options,
    grouped,
    has,
    lengths,
    shape_of,
)
from normviz.ui import custom
from normviz.ui.custom import MAX_RADIUS, SIZES
from normviz.ui.link import KEPT, View, value_slider

VIEW_NAMES = {"folded": "Folded", "unfolded": "Unfolded"}


def controls(view: View, scheme: Scheme) -> None:
    """Scheme, parameters, shape and data, in the sidebar."""
    with st.sidebar:
        st.pills(
            "Scheme", list(SCHEMES), key="scheme", **KEPT, required=True, format_func=lambda key: SCHEMES[key].label
        )
        _parameters(view, scheme)
        st.divider()
        shape_controls(view, scheme)
        st.divider()
        data_controls(view)


def picture_controls() -> None:
    """How the cube is drawn; above it."""
    with st.container(horizontal=True, vertical_alignment="bottom"):
        st.segmented_control("Colour by", list(COLOURS), key="colour", **KEPT, required=True, format_func=COLOURS.get)
        st.segmented_control("View", list(VIEW_NAMES), key="view", **KEPT, required=True, format_func=VIEW_NAMES.get)


def focus_controls(view: View, scheme: Scheme) -> None:
    """The locked element's indices, one number each."""
    shape = shape_of(view)
    for axis, (column, name) in enumerate(zip(st.columns(4), scheme.axes, strict=True)):
        key = f"focus {axis}"
        st.session_state[key] = view["focus"][axis]
        column.number_input(AXIS[name].letter, 0, shape[axis] - 1, key=key, on_change=_focus_from_numbers)


def focus_from_cube() -> None:
    """Take over the element that was locked in the cube."""
    st.session_state["focus"] = tuple(map(int, st.session_state["cube plot"]["focus"]))


def offer_fit(view: View, limit: int = MAX_ELEMENTS) -> None:
    """A button for the largest shape that fits, where this one does not."""
    fitting = fit(view, limit)
    if fitting.items() <= view.items():
        return
    st.button(f"Use {shape_words(fitting.values())}", on_click=lambda: st.session_state.update(fitting))


def _focus_from_numbers() -> None:
    st.session_state["focus"] = tuple(st.session_state[f"focus {axis}"] for axis in range(4))


def _parameters(view: View, scheme: Scheme) -> None:
    """Only those that the scheme has."""
    if scheme.key == "custom":
        custom.controls(view, lengths)
    if has(scheme, "groups"):
        cut = ", ".join(f"{axis} = {n}" for axis, n in grouped(view).items())
        st.selectbox(f"Groups G (divisors of {cut})", group_options(view), key="groups", **KEPT)
    if has(scheme, "radius"):
        window_controls(["H", "W", "C"])
    if has(scheme, "eps"):
        value_slider("eps", "ε (smoothing term)", EPS_STEPS, view["eps"], "{:.3g}".format)
    if has(scheme, "gain"):
        columns = st.columns(2)
        columns[0].number_input("γ (gain)", -10.0, 10.0, step=0.1, key="gain", **KEPT)
        if has(scheme, "bias"):
            columns[1].number_input("β (bias)", -10.0, 10.0, step=0.1, key="bias", **KEPT)


def window_controls(axes: Sequence[str], prefix: str = "") -> None:
    """The radii of a scheme with windows, and along which of these axes it has them; `prefix`: of the keys."""
    st.slider("Radius R_B of what divides", 0, MAX_RADIUS, key=f"{prefix}radius", **KEPT)
    radii = ["same", *map(str, range(MAX_RADIUS + 1))]
    st.selectbox("Radius R_A of what is averaged", radii, key=f"{prefix}radius_a", **KEPT)
    st.pills("Windows along", axes, selection_mode="multi", key=f"{prefix}over", **KEPT)


def shape_controls(view: View, scheme: Scheme) -> None:
    """The tensor's shape: presets, and a number for each axis."""
    shape = {size: view[size] for size in SIZES}
    st.session_state["preset"] = next(
        (name for name, preset in PRESETS.items() if shape.items() <= preset.items()), None
    )
    st.selectbox("Shape", list(PRESETS), key="preset", placeholder="of your own", on_change=_apply_preset)
    columns = st.columns(2)
    for number, (size, name) in enumerate(zip(SIZES, scheme.axes, strict=True)):
        label = f"{name} ({AXIS[name].many})"
        columns[number % 2].number_input(label, 1, MAX_ELEMENTS, key=size, **KEPT, disabled=view["data"] == OWN_DATA)


def _apply_preset() -> None:
    state = st.session_state
    if state["preset"] is None:
        return
    state.update(PRESETS[state["preset"]])
    weights = SCHEMES[state["scheme"]].acts_on == "weight"
    if (state["preset"] == "Conv weights") != weights:
        state["scheme"] = "batch" if weights else "weight"
    if state["data"] == OWN_DATA:
        state["data"] = "uneven"


def data_controls(view: View) -> None:
    """What is in the tensor: a sample and its seed, or one's own file."""
    names = {key: sample.name for key, sample in SAMPLES.items()} | {OWN_DATA: "Your own file"}
    st.selectbox("Data", list(names), key="data", **KEPT, format_func=names.get, on_change=_use_own_shape)
    if view["data"] == OWN_DATA:
        st.file_uploader(
            ".npy, .csv, .png or .jpg, up to 5 MB",
            ["npy", "csv", "png", "jpg", "jpeg"],
            key="upload",
            on_change=_take_upload,
        )
        if st.session_state.get("upload error"):
            st.error(st.session_state["upload error"])
        elif "own" not in st.session_state:
            st.info("Uneven noise is shown until a file is here.")
        else:
            st.caption(st.session_state["own name"])
    else:
        st.number_input("Seed", 0, 9999, key="seed", **KEPT)


def _take_upload() -> None:
    """Read the file into the session; what was there stays where the file is no good."""
    state, file = st.session_state, st.session_state["upload"]
    state["upload error"] = None
    if file is None:
        return
    try:
        x, name = read_upload(file.name, file.getvalue()), file.name
        if x.size > MAX_ELEMENTS and name.lower().endswith(("png", "jpg", "jpeg")):
            full, x = x.shape, shrink_image(x, MAX_ELEMENTS)
            name += f": {full[1]} × {full[2]} pixels averaged to {x.shape[1]} × {x.shape[2]}"
        check_shape(x.shape, AXES["activation"], MAX_ELEMENTS)
    except InvalidInput as error:
        state["upload error"] = str(error)
        return
    state["own"], state["own name"] = x, name
    if x.shape[0] == 1 and min(x.shape[1:3]) > 1:
        state["view"] = "unfolded"  # a picture, and seen as one
    _use_own_shape()


def _use_own_shape() -> None:
    state = st.session_state
    state["upload error"] = None  # of a file that is no longer there
    if state["data"] == OWN_DATA and "own" in state:
        state.update(zip(SIZES, map(int, state["own"].shape), strict=True))
