"""The state of the page "Step size": the values in its link, and the cached results that its panels show."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from normviz.core.settings import choice, real
from normviz.topics.geometry import fisher, rate
from normviz.topics.geometry.three_channels import ThreeChannelExample
from normviz.ui.link import View, create_params

PAGE = "geometry"
PREFIX = PAGE + " "

SHOWN = {"vectors": "Layer norm in 3-D", "rate": "Effective learning rate", "fisher": "Fisher information"}
"""The panels; only the open one is computed."""

SCHEME_LOOKS = {"none": 0, "batch": 1, "weight": 2, "layer": 3, "rms": 4}
"""Number of the colour, dash and marker of each scheme in every chart."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("x1", "x2", "x3", "eps", "stage"), ("vectors",)),
    "seed": ("rate", "fisher"),
    **dict.fromkeys(("outputs", "length", "scale", "gain", "scheme", "distance"), ("fisher",)),
    **dict.fromkeys(("rate", "steps", "delta"), ("rate",)),
}
"""The panels of each value that does not belong to all of them."""


@dataclass(frozen=True)
class Page(rate.RateSetting, fisher.FisherModel, ThreeChannelExample):
    """The values in the page's link."""

    show: str = choice("vectors", SHOWN)
    scheme: str = choice("batch", {"batch": "Batch", "weight": "Weight", "layer": "Layer"}, label="Normalization")
    distance: float = real(0.1, 0.01, 1.0, label="KL of the border", stops=(0.01, 0.03, 0.1, 0.3, 1.0))


PARAMS = create_params(Page, PREFIX)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value belongs to the open panel; links and controls omit irrelevant values."""
    if name == "eps" and view["stage"] == "centre":
        return False
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


FORMER_VALUES = ("gradient", "beside", "trained", "directions", "times", "reach", "draws")
"""Values of former links that are dropped."""


def translate_former_link(link: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the page and the link of today for a link of an earlier version; a link of today stays as it is.

    The page opened on the Fisher information, which no link named. It had a switch for the gradient of the picture,
    and a panel with slices through the loss. The nearest panel is the one on the length of the weights.

    Example:
        >>> translate_former_link({"scheme": "layer"}), translate_former_link({"gradient": "1"})
        (('geometry', {'show': 'fisher', 'scheme': 'layer'}), ('geometry', {'stage': 'step'}))
    """
    if link.get("show") == "recurrent":
        return "experiments", {"show": "recurrent"}
    found = {name: value for name, value in link.items() if name not in FORMER_VALUES}
    if found.get("stage") == "example":  # the first stage showed x alone
        found["stage"] = "centre"
    of_fisher = {name for name, panels in BELONGS.items() if panels == ("fisher",)}
    if "show" not in link and (of_fisher | {"draws"}) & link.keys():
        return PAGE, {"show": "fisher", **found}
    if link.get("show") == "slices":
        return PAGE, found | {"show": "rate"}
    return PAGE, found | ({"stage": "step"} if link.get("gradient") == "1" else {})


@st.cache_data(max_entries=64, show_spinner=False)
def get_kl_contour(model: fisher.FisherModel, scheme: str, distance: float) -> fisher.KlContour:
    """Return the weights whose outputs have this KL divergence from those of the present weights."""
    return fisher.compute_kl_contour(scheme, model, distance)


@st.cache_data(max_entries=64, show_spinner=False)
def get_scaling_powers(model: fisher.FisherModel) -> dict[str, dict[tuple[str, str], fisher.ScalingPower]]:
    """Return the scaling powers of the blocks of F by scheme."""
    return {scheme: fisher.compute_scaling_powers(scheme, model) for scheme in fisher.SCHEME_KEYS}


@st.cache_data(max_entries=64, show_spinner="Training …")
def get_rate_run(training: rate.RateSetting) -> rate.TrainingCurves:
    """Return the course of one run; the caller sets δ to its default, which the run does not use."""
    return rate.train_single(training)


@st.cache_data(max_entries=64, show_spinner="Training …")
def get_twin_gaps(training: rate.RateSetting) -> dict[str, dict[int, float]]:
    """Return the gaps of the twins by optimizer and power."""
    return {optimizer: rate.measure_twin_gaps(training, optimizer) for optimizer in rate.OPTIMIZERS}
