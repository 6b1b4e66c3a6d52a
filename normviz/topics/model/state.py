"""The page "Your model": the values in its link, and the report that they select."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.core.settings import choice, value
from normviz.data.recordings import read_model_file
from normviz.topics.model.reported import ReportedModel, parse_model_file
from normviz.ui.link import View, create_params, make_choice_fitter

PAGE = "model"
PREFIX = f"{PAGE} "

OWN_MODEL = "own"
SOURCE_NAMES = {
    "resnet": "Example: a ResNet after 5 batches",
    "llama": "Example: a Llama block",
    OWN_MODEL: "Your own model",
}
"""Names of the reports, by their keys in a link."""

EXAMPLES_FOLDER = Path(__file__).with_name("examples")
"""Recordings of the models of `normviz.inspection.example_models`."""

OWN_KEY, NAME_KEY, ERROR_KEY, UPLOAD_KEY = (f"{PREFIX}{each}" for each in ("report", "name", "error", "upload"))
"""Session keys of the user's report, of its file's name, of the last file's error, and of the upload."""


@lru_cache(maxsize=4)
def read_example(key: str) -> ReportedModel:
    """Read the recording of the example with this key, and return its checked report."""
    name = f"{key}.npz"
    return parse_model_file(read_model_file(name, (EXAMPLES_FOLDER / name).read_bytes()))


def get_model(view: View) -> ReportedModel | None:
    """Return the report that the page's values select; None until the user has uploaded one."""
    return st.session_state.get(OWN_KEY) if view["source"] == OWN_MODEL else read_example(view["source"])


def _find_similar_layer(given: Any, view: View) -> str:
    """Return the name of the layer most similar to `given`; "" if none is given, so that the page chooses one."""
    model = get_model(view)
    return (
        make_choice_fitter([layer.name for layer in model.layers])(given, view) if given and model is not None else ""
    )


@dataclass(frozen=True)
class Page:
    """Page values in the link: a report, and one of its layers."""

    source: str = choice("resnet", SOURCE_NAMES, label="Model")
    layer: str = value(
        "", _find_similar_layer, label="Layer",
        why=lambda given, view: None if given and get_model(view) is not None else "",
    )  # fmt: skip


PARAMS = create_params(Page, PREFIX)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value matters in this view; the layer does only if there is a report."""
    return name != "layer" or get_model(view) is not None


def take_upload() -> None:
    """Read the uploaded file into the session; if it is invalid, keep the previous report and store the error."""
    state, file = st.session_state, st.session_state[UPLOAD_KEY]
    state[ERROR_KEY] = None
    if file is None:
        return
    try:
        state[OWN_KEY] = parse_model_file(read_model_file(file.name, file.getvalue()))
    except InvalidInput as error:
        state[ERROR_KEY] = str(error)
        return
    state[NAME_KEY], state[PREFIX + "layer"] = file.name, ""
