"""The state of the page on geometry: what its link holds, and what it asks for."""

from dataclasses import dataclass

import streamlit as st

from normviz.core.settings import choice, real, whole
from normviz.geometry import fisher, rate, recurrent, slices
from normviz.ui.link import View, params

PAGE = "geometry"

PREFIX = PAGE + " "
"""Of all keys in the session: other pages have values of the same names."""

SHOWN = {"fisher": "Distance", "rate": "Effective rate", "slices": "Loss slices", "recurrent": "Recurrent"}
"""What the page shows; only that is computed."""

LOOKS = {"none": 0, "batch": 1, "weight": 2, "layer": 3, "rms": 4}
"""Which colour, dash and marker a scheme has in every chart."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("outputs", "length", "scale", "gain", "scheme", "distance", "draws"), ("fisher",)),
    **dict.fromkeys(("rate", "steps", "delta"), ("rate",)),
    **dict.fromkeys(("beside", "trained", "directions", "times", "reach"), ("slices",)),
    **dict.fromkeys(("strength", "activation", "gamma", "inputs", "unrolled"), ("recurrent",)),
}
"""Where a value means something; one that is not here does everywhere."""


@dataclass(frozen=True)
class Page(recurrent.Unrolled, slices.Slice, rate.Training, fisher.Model):
    """What the page's link holds."""

    show: str = choice("fisher", SHOWN)
    scheme: str = choice("batch", {"batch": "Batch", "weight": "Weight", "layer": "Layer"}, label="Normalization")
    distance: float = real(0.1, 0.01, 1.0, label="KL of the border", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    draws: int = whole(300, 10, 3000, label="Monte Carlo draws an example", stops=(10, 30, 100, 300, 1000, 3000))
    strength: float = real(
        4.0, 0.5, 4.0, label="s: scale of the recurrent weights", symbol="s", stops=(0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
    )


PARAMS = params(Page, PREFIX)


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: a link and the controls leave out what does not."""
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


@st.cache_data(max_entries=64, show_spinner=False)
def borders(model: fisher.Model, scheme: str, distance: float) -> fisher.Border:
    """The line of one distance around the weights of a unit."""
    return fisher.border(scheme, model, distance)


@st.cache_data(max_entries=64, show_spinner=False)
def scaling(model: fisher.Model) -> dict[str, fisher.Scaling]:
    """How the blocks of F scale, by scheme."""
    return {scheme: fisher.scaling(scheme, model) for scheme in fisher.MODELS}


@st.cache_data(max_entries=64, show_spinner=False)
def sampled(model: fisher.Model, scheme: str, draws: int) -> fisher.Sampled:
    """The Fisher information from drawn outputs."""
    return fisher.monte_carlo(scheme, model, draws)


@st.cache_data(max_entries=64, show_spinner="Training …")
def rate_run(training: rate.Training) -> rate.Course:
    """Return the course of one run; δ does not matter to it."""
    return rate.run(training)


@st.cache_data(max_entries=64, show_spinner="Training …")
def twins(training: rate.Training) -> dict[str, dict[int, float]]:
    """How far the twins come from their originals, by optimizer."""
    return {optimizer: rate.twins(training, optimizer) for optimizer in rate.OPTIMIZERS}


@st.cache_data(max_entries=64, show_spinner="Training …")
def sliced(setting: slices.Slice) -> slices.Slices:
    """The slices without normalization and with it."""
    return slices.slices(setting)


@st.cache_data(max_entries=64, show_spinner=False)
def flows(setting: recurrent.Unrolled, strength: float) -> dict[str, recurrent.Flow]:
    """The gradient's way back by scheme; the last scale is the page's."""
    scales = (*recurrent.SCALES, strength)
    return {scheme: recurrent.flow(scheme, setting, scales) for scheme in recurrent.SCHEMES}
