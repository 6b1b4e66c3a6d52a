"""Controls of the tensor, on any page: its shape, its data, one's own file, and the windows of a scheme over it."""

from collections.abc import Sequence

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, AXIS, MAX_ELEMENTS, check_shape
from normviz.core.schemes import SCHEMES, Scheme
from normviz.data.files import PICTURES, picture_size, read_upload
from normviz.data.samples import SAMPLES
from normviz.describe.wording import shape_words
from normviz.ui.custom import MAX_RADIUS
from normviz.ui.link import KEPT, View
from normviz.ui.tensor import OWN_DATA, PRESETS, SIZES, fit


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
    st.selectbox("Data", list(names), key="data", **KEPT, format_func=names.__getitem__, on_change=_use_own_shape)
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


def offer_fit(view: View, limit: int = MAX_ELEMENTS) -> None:
    """A button for the largest shape that fits, where this one does not."""
    fitting = fit(view, limit)
    if fitting.items() <= view.items():
        return
    st.button(f"Use {shape_words(list(fitting.values()))}", on_click=lambda: st.session_state.update(fitting))


def window_controls(axes: Sequence[str], prefix: str = "") -> None:
    """The radii of a scheme with windows, and along which of these axes it has them; `prefix`: of the keys."""
    st.slider("Radius R_B of what divides", 0, MAX_RADIUS, key=f"{prefix}radius", **KEPT)
    radii = ["same", *map(str, range(MAX_RADIUS + 1))]
    st.selectbox("Radius R_A of what is averaged", radii, key=f"{prefix}radius_a", **KEPT)
    st.pills("Windows along", axes, selection_mode="multi", key=f"{prefix}over", **KEPT)


def _take_upload() -> None:
    """Read the file into the session; what was there stays where the file is no good."""
    state, file = st.session_state, st.session_state["upload"]
    state["upload error"] = None
    if file is None:
        return
    try:
        content, name = file.getvalue(), file.name
        x = read_upload(name, content, MAX_ELEMENTS)
        if name.lower().endswith(PICTURES) and (size := picture_size(content)) != x.shape[1:3]:
            name += f": {size[0]} × {size[1]} pixels averaged to {x.shape[1]} × {x.shape[2]}"
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
