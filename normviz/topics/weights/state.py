"""The state of the page "Weight normalization": the values in its link, and the cached results of its panels."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.core.settings import choice, integer, switch
from normviz.core.text import typeset
from normviz.topics.weights import descent
from normviz.topics.weights.weights import (
    FIRST_LAYERS,
    MAX_TRAINING,
    PAIR_COUNT,
    build_operator_matrix,
    compute_lipschitz_ratios,
    sample_digit_pairs,
    train_first_layer,
)
from normviz.ui.link import View, create_params

PAGE = "weights"
PREFIX = PAGE + " "

ITERATION_COUNT = 40

SHOWN = {"norm": "Weight norm: faster training?", "spectral": "Spectral norm: how far can a layer stretch?"}
"""The panels; only the open one is computed."""

BELONGS = {
    **dict.fromkeys(("rate", "length", "start", "batch", "step", "scaled"), ("norm",)),
    **dict.fromkeys(("layer", "trained", "iteration"), ("spectral",)),
}
"""The panels of each value that does not belong to all of them."""

RUN_NAMES = {"plain": "without weight norm", "weight": "with weight norm"}
"""The parametrizations that are compared, and their names, in the order of their colours."""


def name_scaled_run(view: View) -> str:
    """Return the name of the run at the learning rate at which weight norm first turns w."""
    return f"without weight norm, at {typeset((view['length'] / view['start']) ** 2, 3)} times the learning rate"


@dataclass(frozen=True)
class Page(descent.Setting):
    """Page values in the link: a run of SGD, a layer, and the open panel."""

    show: str = choice("norm", SHOWN)
    scaled: bool = switch(False, label=lambda view: f"Also show: {name_scaled_run(view)}")
    step: int = integer(descent.STEPS, 0, descent.STEPS)
    layer: str = choice(
        "dense", {key: layer.name for key, layer in FIRST_LAYERS.items()}, label="Layer", control="menu"
    )
    trained: int = integer(
        200, 0, MAX_TRAINING, label="Trained on digits, steps", stops=(0, 20, 50, 100, 200, MAX_TRAINING)
    )
    iteration: int = integer(ITERATION_COUNT, 0, ITERATION_COUNT)


PARAMS = create_params(Page, PREFIX)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value matters in the open panel; links and controls omit irrelevant values."""
    has_effect = name != "scaled" or view["length"] != view["start"]
    return has_effect and view["show"] in BELONGS.get(name, tuple(SHOWN))


def translate_former_link(link: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the page and the parameters of today for those of a former link, such as "spectral" for "all"."""
    return PAGE, {**link} | ({"show": "spectral"} if link.get("show") == "all" else {})


@st.cache_data(max_entries=64, show_spinner=False)
def get_descent_paths(setting: descent.Setting) -> dict[str, descent.DescentPath]:
    """Return the whole run of SGD of each parametrization in `RUN_NAMES`, by key; cached.

    "scaled" is the plain run at the learning rate at which weight norm first turns w.
    """
    runs = {key: descent.run_sgd(descent.PARAMETRIZATIONS[key], setting) for key in RUN_NAMES}
    factor = float(runs["weight"].rate_factors[0])
    return runs | {"scaled": descent.run_sgd(descent.PARAMETRIZATIONS["plain"], setting, rate_factor=factor)}


@st.cache_data(max_entries=64, show_spinner=False)
def get_plane_losses(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the mean losses (y, x) at the points of a grid of two weights; cached."""
    return descent.compute_mean_loss(descent.load_regression("plane"), np.stack(np.meshgrid(x, y), axis=-1))


@st.cache_data(max_entries=1, show_spinner=False)
def get_best_weights() -> np.ndarray:
    """Return the two weights of the lowest loss, (2,); cached."""
    return descent.find_lowest_loss_weights(descent.load_regression("plane"))


@st.cache_data(max_entries=64, show_spinner=False)
def get_layer_weights(layer: str, trained: int, seed: int) -> np.ndarray:
    """Return the weights (kh, kw, Cin, Cout) of a layer after `trained` training steps; cached."""
    return train_first_layer(FIRST_LAYERS[layer], trained, seed)


@st.cache_data(max_entries=64, show_spinner=False)
def get_stretch_ratios(w: np.ndarray, layer: str, seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Return how far a layer stretches distances, "before" and "after" spectral norm, and its singular values; cached.

    They are those of the whole normalized layer, 0 for input directions that it maps to 0.
    """
    before, after = (
        build_operator_matrix(each, FIRST_LAYERS[layer]) for each in (w, normalize(w, SCHEMES["spectral"]).xhat)
    )
    values = np.zeros(len(after))
    found = np.linalg.svd(after, compute_uv=False)
    values[: len(found)] = found
    pairs = sample_digit_pairs(PAIR_COUNT, seed)
    return {
        "before": compute_lipschitz_ratios(before, *pairs),
        "after": compute_lipschitz_ratios(after, *pairs),
    }, values
