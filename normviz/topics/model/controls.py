"""Controls of the page "Your model": the choice of a report, and the steps from a model to a file."""

import streamlit as st

from normviz.core.text import capitalize_first
from normviz.describe.markdown import escape_markdown
from normviz.topics.model.state import (
    ERROR_KEY,
    NAME_KEY,
    OWN_KEY,
    OWN_MODEL,
    PREFIX,
    SOURCE_NAMES,
    UPLOAD_KEY,
    take_upload,
)
from normviz.ui.frame import show_error
from normviz.ui.link import View, draw_segments

FUNCTION_SNIPPET = """# my_model.py
import torch
from my_project import MyNet, loader

def make():
    model = MyNet()
    # your trained weights
    state = torch.load("weights.pt")
    model.load_state_dict(state)
    # a batch of real data
    images, labels = next(iter(loader))
    return model, images"""

RECORD_COMMANDS = """# normviz with PyTorch
pip install 'normviz[train]'
normviz record my_model:make layers.npz"""

NOTEBOOK_SNIPPET = """import normviz
normviz.record(
    model, batch, "layers.npz"
)"""


def draw_controls(view: View) -> None:
    """Draw the choice of an example or the user's own model; for the latter how to record it, and the upload."""
    draw_segments(
        PREFIX + "source", "Model", SOURCE_NAMES, on_change=lambda: st.session_state.update({PREFIX + "layer": ""})
    )
    if view["source"] != OWN_MODEL:
        return
    state = st.session_state
    if OWN_KEY in state:
        with st.expander(f"{escape_markdown(state[NAME_KEY])} · open another file", icon=":material/folder_open:"):
            _draw_upload()
        _show_upload_error()
        return
    write, run, load = st.columns(3, gap="medium")
    with write:
        st.markdown(
            "#### 1. Write a function\nIt returns your model and a batch. Untrained batch norms give false alarms."
        )
        st.code(FUNCTION_SNIPPET, language="python")
    with run:
        st.markdown("#### 2. Run it\nIn a terminal, in the folder of this file:")
        st.code(RECORD_COMMANDS, language="bash")
        st.markdown("Or in a notebook, without step 1:")
        st.code(NOTEBOOK_SNIPPET, language="python")
    with load:
        st.markdown("#### 3. Upload layers.npz\nYou get the same table as in the examples.")
        _draw_upload()
        st.caption(
            "The file holds names of layers, measurements, γ, β, running averages, and up to 2,048 activations that "
            "enter each layer. It holds no code and no other weights."
        )
        _show_upload_error()


def _draw_upload() -> None:
    st.file_uploader(
        "layers.npz", ["npz", "json"], key=UPLOAD_KEY, on_change=take_upload,
        help="Or a report without activations: json.dump(normviz.inspect(model, batch).to_json(), file).",
    )  # fmt: skip


def _show_upload_error() -> None:
    """Show the error of the last file, if there is one, and which file is still shown."""
    state = st.session_state
    if state.get(ERROR_KEY):
        there = f" {state[NAME_KEY]} is still shown." if OWN_KEY in state else ""
        show_error(f"{capitalize_first(state[ERROR_KEY])}{there}")
