"""Panel of the detector: an example or the visitor's files, and the layer that they come from."""

from math import isfinite

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.layouts import ALL_LAYOUTS, parse_layout
from normviz.core.normalize import LayerScalars
from normviz.core.registry import Scheme
from normviz.core.text import capitalize_first
from normviz.describe.snippets import format_snippet
from normviz.describe.wording import format_gap, format_shape
from normviz.topics.same.detection.detector import Detection, detect_normalization
from normviz.topics.same.detection.examples import EXAMPLES
from normviz.topics.same.detection.fitting import CandidateFit
from normviz.topics.same.detection.uploads import SAVING_SNIPPET, ArrayPair, read_pair
from normviz.topics.same.detection.verdict import (
    describe_fitted_affine,
    describe_fitted_eps,
    explain_detection,
    name_candidate,
    summarize_detection,
)
from normviz.topics.same.state import ANY_LAYOUT, ARRAY_SOURCES, LAYOUT_NAMES, OWN_FILES, PREFIX
from normviz.ui.frame import show_error
from normviz.ui.large_pictures import wait_for_turn
from normviz.ui.link import View
from normviz.ui.locks import make_widget_arguments
from normviz.ui.saving import draw_download_button

ARRAYS_KEY = PREFIX + "arrays"
UPLOAD_ERROR_KEY = PREFIX + "upload error"
UPLOAD_KEY = PREFIX + "upload"

detect_cached = st.cache_data(max_entries=64, show_spinner="Every candidate is fitted to the numbers …")(
    detect_normalization
)


def show_detector(view: View) -> None:
    """Show the upload of a layer's input and output, and the normalization that explains them."""
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.selectbox(
            "Input and output", list(ARRAY_SOURCES), **make_widget_arguments(PREFIX + "try"),
            format_func=ARRAY_SOURCES.__getitem__,
        )  # fmt: skip
        if view["try"] == OWN_FILES:
            _draw_upload()
        st.selectbox(
            "Axes", list(LAYOUT_NAMES), **make_widget_arguments(PREFIX + "layout"),
            format_func=LAYOUT_NAMES.__getitem__,
            help="What the axes of both arrays are. Any: every order that has as many is tried.",
        )  # fmt: skip
    arrays = st.session_state.get(ARRAYS_KEY) if view["try"] == OWN_FILES else EXAMPLES[view["try"]].make_arrays()
    with right:
        if arrays is not None:
            _show_detection(arrays, None if view["layout"] == ANY_LAYOUT else view["layout"])
        else:
            st.info("Upload the input and the output of a layer to see its name.")


def _draw_upload() -> None:
    st.file_uploader(
        "arrays.npz with x and y, or x.npy and y.npy", ["npz", "npy"], accept_multiple_files=True, key=UPLOAD_KEY,
        on_change=_take_upload, help="Arrays only: nothing that you send is run. x is the layer's input, y its output.",
    )  # fmt: skip
    st.code(SAVING_SNIPPET, wrap_lines=True)
    state = st.session_state
    if state.get(UPLOAD_ERROR_KEY):
        there = " The arrays before are still looked at." if ARRAYS_KEY in state else ""
        show_error(f"{capitalize_first(state[UPLOAD_ERROR_KEY])}{there}")
    if ARRAYS_KEY in state:
        st.button("Swap x and y", on_click=_swap_arrays)


def _take_upload() -> None:
    """Store the uploaded arrays in the session; for invalid files, store the error and keep the former arrays."""
    state, files = st.session_state, st.session_state[UPLOAD_KEY]
    state[UPLOAD_ERROR_KEY] = None
    if not files:
        return
    try:
        state[ARRAYS_KEY] = read_pair([(file.name, file.getvalue()) for file in files[:3]])  # three are refused as well
    except InvalidInput as error:
        state[UPLOAD_ERROR_KEY] = str(error)


def _swap_arrays() -> None:
    held: ArrayPair = st.session_state[ARRAYS_KEY]
    st.session_state[ARRAYS_KEY] = {"x": held["y"], "y": held["x"]}


def _show_detection(arrays: ArrayPair, layout: str | None) -> None:
    x, y = arrays["x"], arrays["y"]
    st.caption(f"x and y: {format_shape(x.shape)}, {x.dtype} and {y.dtype}")
    try:
        with wait_for_turn(x.size * (len(ALL_LAYOUTS) if layout is None else 1)):
            detection = detect_cached(x, y, layout)
    except InvalidInput as error:
        show_error(capitalize_first(str(error)))
        return
    show, icon = (st.success, ":material/check:") if detection.is_unique else (st.warning, ":material/question_mark:")
    show("  \n".join([f"**{summarize_detection(detection)}**", *explain_detection(detection)]), icon=icon)
    rows = tabulate_candidates(detection)
    with st.expander(f"All {len(detection.fits)} candidates"):
        st.table(rows, border="horizontal")
        draw_download_button(lambda: rows, "candidates")
    if detection.is_unique:
        with st.expander("The code that does it"):
            st.code(_format_scheme_code(detection.answer[0], detection), wrap_lines=True)


def tabulate_candidates(detection: Detection) -> dict[str, list[str]]:
    """Return a table of all candidate schemes as columns by name, the nearest first."""
    fits = sorted(detection.fits, key=lambda fit: (not fit.is_decided, fit.residual))
    return {
        "Candidate": [capitalize_first(name_candidate(fit)) for fit in fits],
        "Axes": [f"({', '.join(parse_layout(fit.layout).names)})" for fit in fits],
        "": ["? too few numbers" if not fit.is_decided else "✓ fits" if fit.fits else "✗ differs" for fit in fits],
        "Residual": [format_gap(fit.residual) if isfinite(fit.residual) else "–" for fit in fits],
        "Fitted": [
            "; ".join(filter(None, (describe_fitted_eps(fit), describe_fitted_affine(fit))))
            if isfinite(fit.residual)
            else ""
            for fit in fits
        ],
    }


def _format_scheme_code(fit: CandidateFit, detection: Detection) -> str:
    """Return PyTorch code that computes the fitted scheme from the array in the fit's layout."""
    scheme: Scheme = fit.scheme
    axes, lengths = parse_layout(fit.layout).axes, detection.shapes[fit.layout]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    turned = "" if order == list(range(len(axes))) else f".transpose{tuple(order)}"
    source = f'x = np.load("arrays.npz")["x"]{turned}.reshape{lengths}.astype(float)'
    return format_snippet(scheme, "PyTorch", lengths, LayerScalars(fit.eps[0] if fit.eps else 0.0), source=source)
