"""The state of the page "Why normalize": the values in its link, and its cached results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import streamlit as st

from normviz.core.locks import serialize_calls
from normviz.core.registry import DEFAULT_EPS
from normviz.core.settings import Choice, EarlierValues, choice, get_declarations, integer, number_choice, real
from normviz.topics.why import identity, learning, outside, saturation, whitening
from normviz.ui.link import View, create_params

PAGE = "why"
PREFIX = PAGE + " "

SHOWN = {
    "learning": "Learning",
    "saturation": "Saturated units",
    "whitening": "Whitening",
    "outside": "Outside the gradient",
    "identity": "γ and β",
    "history": "All schemes",
}
"""The panels of the page; only the open one is computed."""

ADVANCED = ("outside", "identity")
"""The panels under "Advanced"."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("points", "first", "second", "correlation", "ratio", "stage", "size"), ("whitening",)),
    "eps": ("whitening", "identity"),
    "seed": ("learning", "whitening", "saturation", "outside", "identity"),
    **dict.fromkeys(("start", "rate"), ("learning", "saturation")),
    **dict.fromkeys(("depth", "layer", "unit"), ("saturation",)),
    **dict.fromkeys(("step_size", "steps"), ("outside",)),
    "part": ("identity",),
}
"""The panels of each value that does not belong to all of them."""

FEATURE_NAMES = {key: feature.name.capitalize() for key, feature in whitening.FEATURES.items()}


class _PanelChoice(Choice):
    """Choice of the open panel; if the URL names none, whitening if the URL sets a value of that panel.

    The page once opened on whitening, and its links did not name it.
    """

    def find_nearest_or_default(self, value: Any, given: EarlierValues) -> Any:
        declared = get_declarations(Page)
        whitening_set = (
            name for name, panels in BELONGS.items() if "whitening" in panels and name != "seed"
            if given[name] != declared[name].resolve_default(given)
        )  # fmt: skip
        return "whitening" if value is None and any(whitening_set) else super().find_nearest_or_default(value, given)


_panel_choice: Callable[..., Any] = _PanelChoice  # as in normviz.core.settings


@dataclass(frozen=True)
class Page(saturation.Setting):
    """The page's query parameters: networks, data of the smaller panels, and the open panel."""

    points: str = choice("digits", {"digits": "Digits", "own": "Your own"}, label="Points")
    first: str = choice("middle", FEATURE_NAMES, label="First feature")
    second: str = choice("all", FEATURE_NAMES, label="Second feature")
    correlation: float = real(0.9, -1.0, 1.0, label="Correlation", stops=(-1.0, -0.9, -0.5, 0.0, 0.5, 0.9, 0.99, 1.0))
    ratio: float = real(3.0, 0.1, 10.0, label="Scale of x₀ against x₁", stops=(0.1, 0.3, 1.0, 3.0, 10.0))
    stage: str = choice(
        "scaled", {key: stage.name for key, stage in whitening.STAGES.items()}, label="Transformation", control="menu"
    )
    size: int = number_choice(16, (2, 4, 8, 16, 32, 64, 128, 256), label="Mini-batch size m", control="menu")
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-5, 1e-3, 1e-1))
    layer: int = integer(4, 0, lambda given: given["depth"] - 1, label="Hidden layer, from 0", control="segments")
    unit: int = integer(0, 0, saturation.WIDTH - 1, label="Unit, from 0")
    step_size: float = real(0.1, 0.001, 10.0, label="Learning rate", stops=(0.001, 0.01, 0.1, 1.0, 10.0))
    steps: int = integer(50, 1, 500, label="Steps", control="slider")
    part: float = real(0.5, 0.0, 1.0, label="From γ = 1, β = 0 to the identity", stops=(0.0, 0.25, 0.5, 0.75, 1.0))
    show: str = _panel_choice("learning", SHOWN)  # last: its default depends on the others


PARAMS = create_params(Page, PREFIX)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value belongs to the open panel; links and controls omit irrelevant values."""
    if name in ("first", "second") and view["points"] != "digits":
        return False
    if name in ("correlation", "ratio") and view["points"] != "own":
        return False
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


@st.cache_data(max_entries=64, show_spinner="Training two networks …")
@serialize_calls
def get_learning_runs(setting: saturation.Setting) -> dict[str, saturation.LearningRun]:
    """Train networks with and without batch norm, once for all sessions; return their measurements by kind."""
    return {
        name: saturation.train_and_measure(setting, normalized, 1) for normalized, name in learning.KIND_NAMES.items()
    }


@st.cache_data(max_entries=64, show_spinner=f"Training {2 * saturation.SEEDS} networks …")
@serialize_calls
def _get_results_by_kind(setting: saturation.Setting) -> dict[str, saturation.LearningResults]:
    return {
        name: saturation.train_and_measure(setting, normalized).final_results
        for normalized, name in learning.KIND_NAMES.items()
    }


def get_learning_results(setting: saturation.Setting) -> tuple[dict[str, saturation.LearningResults], bool]:
    """Return the results of a setting by kind, and True if they are shipped; if not, train the networks."""
    shipped = learning.find_shipped_results(setting)
    return (_get_results_by_kind(setting), False) if shipped is None else (shipped, True)


@st.cache_data(max_entries=64, show_spinner=False)
def get_bias_descents(rate: float, steps: int, seed: int) -> dict[str, outside.BiasDescent]:
    """Return two descents of the bias: with normalization "outside" of the gradient, and "inside"."""
    return {
        "outside": outside.descend_bias(rate, steps, seed, False),
        "inside": outside.descend_bias(rate, steps, seed, True),
    }


@st.cache_data(max_entries=64, show_spinner=False)
def get_undone_batch_norm(part: float, eps: float, seed: int) -> identity.UndoneBatchNorm:
    """Return the result of `undo_batch_norm`, cached for all sessions; γ and β undo a share `part` of batch norm."""
    return identity.undo_batch_norm(part, eps, seed)
