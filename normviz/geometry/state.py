"""The state of the page "Step size": the values in its link, and the cached results that its panels show."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from normviz.core.settings import choice, real, whole
from normviz.geometry import fisher, rate, slices
from normviz.geometry.three_channels import Example
from normviz.ui.link import View, params

PAGE = "geometry"

PREFIX = PAGE + " "
"""Of all keys in the session: other pages have values of the same names."""

SHOWN = {
    "vectors": "Layer norm in 3-D",
    "rate": "Effective learning rate",
    "fisher": "Distance",
    "slices": "Loss slices",
}
"""The panels; only the open one is computed."""

ADVANCED = ("fisher", "slices")
"""The panels behind "Advanced"."""

FORMER_PANEL = "recurrent"
"""The key of a panel that the page no longer has: it is the experiment on recurrent networks."""

LOOKS = {"none": 0, "batch": 1, "weight": 2, "layer": 3, "rms": 4}
"""Which colour, dash and marker a scheme has in every chart."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("x1", "x2", "x3", "eps", "gradient"), ("vectors",)),
    "seed": ("rate", "fisher", "slices"),
    **dict.fromkeys(("outputs", "length", "scale", "gain", "scheme", "distance", "draws"), ("fisher",)),
    **dict.fromkeys(("rate", "steps", "delta"), ("rate",)),
    **dict.fromkeys(("beside", "trained", "directions", "times", "reach"), ("slices",)),
}
"""Where a value means something; one that is not here does everywhere."""


@dataclass(frozen=True)
class Page(slices.Slice, rate.Training, fisher.Model, Example):
    """The values in the page's link."""

    show: str = choice("vectors", SHOWN)
    scheme: str = choice("batch", {"batch": "Batch", "weight": "Weight", "layer": "Layer"}, label="Normalization")
    distance: float = real(0.1, 0.01, 1.0, label="KL of the border", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    draws: int = whole(300, 10, 3000, label="Monte Carlo draws an example", stops=(10, 30, 100, 300, 1000, 3000))


PARAMS = params(Page, PREFIX)


def has(view: View, name: str) -> bool:
    """Return True if a value means something in the open panel; links and controls leave out all others."""
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


def fill_former_defaults(link: Mapping[str, str]) -> dict[str, str]:
    """Return the panel that a link of an earlier version left out: the page opened on Distance, which no link named.

    Example:
        >>> fill_former_defaults({"scheme": "layer"}), fill_former_defaults({})
        ({'show': 'fisher'}, {})
    """
    of_distance = {name for name, panels in BELONGS.items() if panels == ("fisher",)}
    return {"show": "fisher"} if "show" not in link and of_distance & link.keys() else {}


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
