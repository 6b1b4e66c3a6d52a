"""The state of the page "Step size": the values in its link, and the cached results that its panels show."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from normviz.core.settings import choice
from normviz.topics.geometry import rate
from normviz.topics.geometry.three_channels import ThreeChannelExample
from normviz.ui.link import View, create_params

PAGE = "geometry"
PREFIX = PAGE + " "

SHOWN = {"vectors": "Layer norm in 3-D", "rate": "Effective learning rate"}
"""The panels; only the open one is computed."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("x1", "x2", "x3", "eps", "stage"), ("vectors",)),
    **dict.fromkeys(("seed", "rate", "steps", "delta"), ("rate",)),
}
"""The panels of each value that does not belong to all of them."""


@dataclass(frozen=True)
class Page(rate.RateSetting, ThreeChannelExample):
    """The page's query parameters: a training, three values for layer norm, and the open panel."""

    show: str = choice("vectors", SHOWN)


PARAMS = create_params(Page, PREFIX)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value belongs to the open panel; links and controls omit irrelevant values."""
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


FORMER_FISHER_VALUES = ("outputs", "length", "scale", "gain", "scheme", "distance", "draws")
FORMER_VALUES = (*FORMER_FISHER_VALUES, "gradient", "beside", "trained", "directions", "times", "reach")
"""Values of former links that are dropped."""

FORMER_STAGES = ("example", "centre", "divide")
"""Stages of former links, which today's first stage shows together."""


def translate_former_link(link: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Convert URL parameters of an earlier version, if they are; return today's page and its URL parameters.

    The page opened on the Fisher information, which no link named, and had a panel with slices through the loss. The
    nearest panel is the one on the length of the weights. The picture had a switch for its gradient.

    Example:
        >>> translate_former_link({"scheme": "layer"}), translate_former_link({"gradient": "1"})
        (('geometry', {'show': 'rate'}), ('geometry', {'stage': 'step'}))
    """
    if link.get("show") == "recurrent":
        return "experiments", {"show": "recurrent"}
    found = {name: value for name, value in link.items() if name not in FORMER_VALUES}
    if found.get("stage") in FORMER_STAGES:
        found["stage"] = "normalize"
    if link.get("show") in ("slices", "fisher") or ("show" not in link and {*FORMER_FISHER_VALUES} & link.keys()):
        return PAGE, found | {"show": "rate"}
    return PAGE, found | ({"stage": "step"} if link.get("gradient") == "1" else {})


@st.cache_data(max_entries=64, show_spinner="Training …")
def get_rate_run(training: rate.RateSetting) -> rate.TrainingCurves:
    """Return the measurements of one run; the caller sets δ, which the run does not use, to its default."""
    return rate.train_single(training)


@st.cache_data(max_entries=64, show_spinner="Training …")
def get_twin_gaps(training: rate.RateSetting) -> dict[str, dict[int, float]]:
    """Return {optimizer: {p: gap}}: how far the scores of runs from δW at rate η δᵖ are from those from W."""
    return {optimizer: rate.measure_twin_gaps(training, optimizer) for optimizer in rate.OPTIMIZERS}
