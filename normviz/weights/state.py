"""The state of the weights page: what its link holds, and the runs and weights that it asks for."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import streamlit as st

from normviz.core.settings import among, choice, switch, whole
from normviz.ui.link import View, params
from normviz.ui.player import SPEEDS
from normviz.weights.descent import PARAMETRIZATIONS, STEPS, Path, Setting, descend, loss, regression
from normviz.weights.weights import (
    FIRST_LAYERS,
    MAX_TRAINING,
    PAIRS,
    differences_from_torch,
    lipschitz_ratios,
    operator,
    pairs_along,
    pairs_of_digits,
    pairs_of_noise,
    slopes,
    trained_weights,
)

PAGE = "weights"

PREFIX = PAGE + " "
"""Of all keys in the session: other pages have values of the same names."""

ITERATIONS = 40

SHOWN = {"norm": "Weight norm", "spectral": "Spectral norm", "all": "Side by side"}
"""What the page shows; only that is computed."""

BELONGS = {
    **dict.fromkeys(("inputs", "rate", "start", "batch", "step", "pace"), ("norm",)),
    **dict.fromkeys(("layer", "trained"), ("spectral", "all")),
    **dict.fromkeys(("iteration", "iteration_pace", "relu"), ("spectral",)),
    "torch": ("all",),
}
"""Where a value means something; one that is not here does everywhere."""


@dataclass(frozen=True)
class Page(Setting):
    """What the page's link holds: a run of SGD, a layer, and what is shown of them."""

    show: str = choice("norm", SHOWN)
    step: int = whole(30, 0, STEPS)
    pace: int = among(5, SPEEDS)
    layer: str = choice("dense", {key: layer.name for key, layer in FIRST_LAYERS.items()}, label="Layer")
    trained: int = whole(
        200, 0, MAX_TRAINING, label="Trained on digits, steps", stops=(0, 20, 50, 100, 200, MAX_TRAINING)
    )
    iteration: int = whole(ITERATIONS, 0, ITERATIONS)
    iteration_pace: int = among(2, SPEEDS)
    relu: bool = switch(False, label="ReLU behind the layer")
    torch: bool = switch(False, label="Compare with PyTorch")


PARAMS = params(Page, PREFIX)


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: a link and the controls leave out what does not."""
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


@st.cache_data(max_entries=64, show_spinner=False)
def paths(setting: Setting) -> dict[str, Path]:
    """A whole run of each parametrization, by its key."""
    return {key: descend(form, setting) for key, form in PARAMETRIZATIONS.items()}


@st.cache_data(max_entries=64, show_spinner=False)
def plane_losses(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """The loss at the points of a grid in the plane, of all digits: (y, x)."""
    return loss(regression("plane"), np.stack(np.meshgrid(x, y), axis=-1))


@st.cache_data(max_entries=64, show_spinner=False)
def weights_of(layer: str, trained: int, seed: int) -> np.ndarray:
    """The weights of a layer (kh, kw, Cin, Cout)."""
    return trained_weights(FIRST_LAYERS[layer], trained, seed)


class Sampled(NamedTuple):
    """Ratios of pairs and slopes of a critic, by the kind of inputs; ratios along the singular directions of the whole
    layer, and its singular values, 0 for directions that are mapped to nothing."""

    ratios: dict[str, np.ndarray]
    slopes: dict[str, np.ndarray]
    along: np.ndarray
    values: np.ndarray


@st.cache_data(max_entries=64, show_spinner=False)
def sampled(w: np.ndarray, layer: str, relu: bool, seed: int) -> Sampled:
    """A layer with these weights on pairs of inputs, and a critic on single ones."""
    k = operator(w, FIRST_LAYERS[layer])
    kinds = {"digits": pairs_of_digits(PAIRS, seed), "noise": pairs_of_noise(PAIRS, seed)}
    values = np.zeros(len(k))
    found = np.linalg.svd(k, compute_uv=False)
    values[: len(found)] = found
    return Sampled(
        {name: lipschitz_ratios(k, x, y, relu) for name, (x, y) in kinds.items()},
        {name: slopes(k, x, seed) for name, (x, _) in kinds.items()},
        lipschitz_ratios(k, *pairs_along(k, seed), relu),
        values,
    )


@st.cache_data(max_entries=64, show_spinner="PyTorch computes the same …")
def gaps_to_torch(w: np.ndarray) -> dict[str, float]:
    """The largest relative difference from PyTorch, by the key of a scheme."""
    return differences_from_torch(w)
