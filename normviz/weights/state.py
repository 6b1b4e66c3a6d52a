"""The state of the weights page: what its link holds, and the runs and weights that it asks for."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import streamlit as st

from normviz.ui.link import Param, View, choice, decimal, real, switch, whole
from normviz.weights.descent import INPUTS, LIMITS, STEPS, WAYS, Path, descend
from normviz.weights.weights import (
    LAYERS,
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
    **dict.fromkeys(("inputs", "rate", "start", "batch", "step"), ("norm",)),
    **dict.fromkeys(("layer", "trained"), ("spectral", "all")),
    **dict.fromkeys(("iteration", "relu"), ("spectral",)),
    "torch": ("all",),
}
"""Where a value means something; one that is not here does everywhere."""


PARAMS = tuple(
    replace(param, key=PREFIX + param.key)
    for param in (
        Param("show", "norm", choice(list(SHOWN))),
        Param("inputs", "plane", choice(list(INPUTS))),
        Param("rate", 3.0, real(*LIMITS["rate"]), decimal),
        Param("start", 1.0, real(*LIMITS["start"]), decimal),
        Param("batch", 128, whole(*LIMITS["batch"])),
        Param("step", 30, whole(0, STEPS)),
        Param("layer", "dense", choice(list(LAYERS))),
        Param("trained", 200, whole(0, MAX_TRAINING)),
        Param("iteration", ITERATIONS, whole(0, ITERATIONS)),
        switch("relu", False),
        switch("torch", False),
        Param("seed", 5, whole(*LIMITS["seed"])),
    )
)


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: a link and the controls leave out what does not."""
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


@st.cache_data(max_entries=64, show_spinner=False)
def paths(inputs: str, rate: float, start: float, batch: int, seed: int) -> dict[str, Path]:
    """A run of every way of training, whole, by its key."""
    return {key: descend(way, inputs, rate, start, batch, seed) for key, way in WAYS.items()}


@st.cache_data(max_entries=64, show_spinner=False)
def weights_of(layer: str, trained: int, seed: int) -> np.ndarray:
    """The weights of a layer (kh, kw, Cin, Cout)."""
    return trained_weights(LAYERS[layer], trained, seed)


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
    k = operator(w, LAYERS[layer])
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
