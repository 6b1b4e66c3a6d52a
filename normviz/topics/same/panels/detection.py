"""The detector on the page: an example or one's own files, and the layer that they come from."""

from math import isfinite

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.layouts import ALL_LAYOUTS
from normviz.core.registry import Scheme
from normviz.core.text import capitalize_first
from normviz.describe.snippets import write_snippet
from normviz.describe.wording import format_gap, format_shape
from normviz.topics.same.detection.detector import Detection, detect
from normviz.topics.same.detection.examples import EXAMPLES
from normviz.topics.same.detection.fitting import Fit
from normviz.topics.same.detection.uploads import HOW, Arrays, read_pair
from normviz.topics.same.detection.verdict import eps_words, headline, learned_words, name, reasons
from normviz.topics.same.state import GUESS, LAYOUT_NAMES, OWN_FILES, PREFIX, TRY
from normviz.ui.frame import show_error
from normviz.ui.large_pictures import wait_for_turn
from normviz.ui.link import PERSIST_STATE, View
from normviz.ui.saving import draw_download_button

HELD = PREFIX + "arrays"
ERROR = PREFIX + "upload error"
UPLOAD = PREFIX + "upload"

detected = st.cache_data(max_entries=64, show_spinner="Every candidate is fitted to the numbers …")(detect)


def detector(view: View) -> None:
    """Show the input and output that were chosen, and the layer that they come from."""
    left, right = st.columns([1, 1], gap="large")
    with left:
        st.selectbox("Input and output", list(TRY), key=PREFIX + "try", **PERSIST_STATE, format_func=TRY.__getitem__)
        if view["try"] == OWN_FILES:
            _upload()
        st.selectbox(
            "Axes", list(LAYOUT_NAMES), key=PREFIX + "layout", **PERSIST_STATE, format_func=LAYOUT_NAMES.__getitem__,
            help="What the axes of both arrays are. Any: every order that has as many is tried.",
        )  # fmt: skip
    arrays = st.session_state.get(HELD) if view["try"] == OWN_FILES else EXAMPLES[view["try"]].arrays()
    with right:
        if arrays is not None:
            _answer(arrays, None if view["layout"] == GUESS else view["layout"])
        else:
            st.info("Upload the input and the output of a layer to see its name.")


def _upload() -> None:
    """The upload, how to save one's own arrays, and why the last files were not taken."""
    st.file_uploader(
        "arrays.npz with x and y, or x.npy and y.npy", ["npz", "npy"], accept_multiple_files=True, key=UPLOAD,
        on_change=_take, help="Arrays only: nothing that you send is run. x is the layer's input, y its output.",
    )  # fmt: skip
    st.code(HOW, wrap_lines=True)
    state = st.session_state
    if state.get(ERROR):
        there = " The arrays before are still looked at." if HELD in state else ""
        show_error(f"{capitalize_first(state[ERROR])}{there}")
    if HELD in state:
        st.button("Swap x and y", on_click=_swap)


def _take() -> None:
    """Read the files into the session; what is there stays where they are no good."""
    state, files = st.session_state, st.session_state[UPLOAD]
    state[ERROR] = None
    if not files:
        return
    try:
        state[HELD] = read_pair([(file.name, file.getvalue()) for file in files[:3]])  # three are refused as well
    except InvalidInput as error:
        state[ERROR] = str(error)


def _swap() -> None:
    held: Arrays = st.session_state[HELD]
    st.session_state[HELD] = {"x": held["y"], "y": held["x"]}


def _answer(arrays: Arrays, layout: str | None) -> None:
    """The verdict, what it rests on, the code, and every candidate."""
    x, y = arrays["x"], arrays["y"]
    st.caption(f"x and y: {format_shape(x.shape)}, {x.dtype} and {y.dtype}")
    try:
        with wait_for_turn(x.size * (len(ALL_LAYOUTS) if layout is None else 1)):
            found = detected(x, y, layout)
    except InvalidInput as error:
        show_error(capitalize_first(str(error)))
        return
    show, icon = (st.success, ":material/check:") if found.told else (st.warning, ":material/question_mark:")
    show("  \n".join([f"**{headline(found)}**", *reasons(found)]), icon=icon)
    rows = candidates(found)
    with st.expander(f"All {len(found.fits)} candidates"):
        st.table(rows, border="horizontal")
        draw_download_button(lambda: rows, "candidates")
    if found.told:
        with st.expander("The code that does it"):
            st.code(_code(found.answer[0], found), wrap_lines=True)


def candidates(found: Detection) -> dict[str, list[str]]:
    """Every candidate, the nearest first, in columns."""
    fits = sorted(found.fits, key=lambda fit: (not fit.told, fit.residual))
    return {
        "Candidate": [capitalize_first(name(fit)) for fit in fits],
        "Axes": [f"({', '.join(fit.layout)})" for fit in fits],
        "": ["? too few numbers" if not fit.told else "✓ fits" if fit.fits else "✗ differs" for fit in fits],
        "Residual": [format_gap(fit.residual) if isfinite(fit.residual) else "–" for fit in fits],
        "Fitted": [_fitted(fit) for fit in fits],
    }


def _fitted(fit: Fit) -> str:
    """Return what was fitted of a candidate that was not ruled out at first sight."""
    return "; ".join(filter(None, (eps_words(fit), learned_words(fit)))) if isfinite(fit.residual) else ""


def _code(fit: Fit, found: Detection) -> str:
    """The scheme in PyTorch, from the array in its layout."""
    scheme: Scheme = fit.scheme
    axes, lengths = ALL_LAYOUTS[fit.layout], found.shapes[fit.layout]
    order = sorted(range(len(axes)), key=axes.__getitem__)
    turned = "" if order == list(range(len(axes))) else f".transpose{tuple(order)}"
    source = f'x = np.load("arrays.npz")["x"]{turned}.reshape{lengths}.astype(float)'
    return write_snippet(scheme, "PyTorch", lengths, fit.eps[0] if fit.eps else 0.0, source=source)
