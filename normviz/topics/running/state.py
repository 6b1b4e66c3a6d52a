"""The page "Training vs. inference": the values in its link, and its controls."""

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from normviz.core.registry import DEFAULT_EPS
from normviz.core.settings import build_settings, choice, integer, number_choice, real
from normviz.topics.running.averages import CONVENTIONS, RunningAverages, compute_running_averages
from normviz.topics.running.modes import MODES
from normviz.topics.running.stream import BATCHES, MAX_SHOWN_DIGITS, UNITS, Setting, StreamTrace, trace_stream
from normviz.ui.link import View, create_params
from normviz.ui.settings import Controls

PAGE = "running"
PREFIX = PAGE + " "

PANELS = {"switch": "Outputs", "wrong": "What goes wrong", "companions": "Other examples"}
"""The panels; only the open one is computed."""

BELONGS = {
    **dict.fromkeys(("mode", "digit", "step", "drift", "statistic", "window"), ("switch",)),
    "mistakes": ("wrong",),
    **dict.fromkeys(("framework", "share"), ("switch", "wrong")),
    **dict.fromkeys(("layer", "unit"), ("switch", "companions")),
}
"""The panels of each value that does not belong to all of them."""

MISTAKES = {"all": "All", "eval": "Forgotten eval()", "momentum": "Momentum"}
"""Groups of cases in "What goes wrong"."""

FRAMEWORK_NAMES = {key: row.name for key, row in CONVENTIONS.items()}


@dataclass(frozen=True)
class Page(Setting):
    """Page values in the link: a stream, its running averages, and the view of it."""

    framework: str = choice("pytorch", FRAMEWORK_NAMES, label="Convention")
    share: float = real(
        CONVENTIONS["pytorch"].momentum, 0.0, 1.0, stops=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0),
        shown=lambda share: " / ".join(f"{row.convert_momentum(share):g}" for row in CONVENTIONS.values()),
        # One label for both: with another label a slider loses its place.
        label=f"Momentum: {' / '.join(FRAMEWORK_NAMES.values())}",
    )  # fmt: skip
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-5, 1e-3, 1e-1))
    mode: str = choice("training", MODES)
    digit: int = integer(
        0, 0, lambda given: min(MAX_SHOWN_DIGITS, given["batch"]) - 1, label="Digit followed, 0 is the first"
    )
    unit: int = integer(1, 1, UNITS, label="Neuron", control="segments")
    step: int = integer(60, 0, BATCHES)
    statistic: str = choice(
        "both", {"both": "Both", "mean": "Mean", "variance": "Variance"}, label="Running averages of"
    )
    window: int = number_choice(BATCHES, (5, 50, BATCHES), label="Batches on the axis", control="segments")
    mistakes: str = choice("all", MISTAKES, label="Mistakes")
    panel: str = choice("switch", PANELS)


PARAMS = create_params(Page, PREFIX)

MOMENTUM_CAPTION = (
    "PyTorch's momentum is the share of the new batch, Keras's the share of the old average. PyTorch multiplies the "
    "variance by m/(m−1) before it averages, Keras does not."
)


DRIFT_CAPTION = (
    "During training the weights change, and with them the mean and variance of the layer's inputs (the dashes). Here "
    f"the weights take a random walk over {BATCHES} batches. At 1 its step is as long as the first weights. At 0 the "
    "weights stay."
)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value belongs to the open panel; links and controls omit irrelevant values."""
    return view["panel"] in BELONGS.get(name, PANELS)


def translate_former_link(link: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Convert the URL parameters of an earlier version; return today's page and its URL parameters.

    Example:
        >>> translate_former_link({"wrong": "shift"}), translate_former_link({"panel": "shards", "batch": "8"})
        (('running', {'panel': 'wrong'}), ('running', {'panel': 'switch', 'batch': '8'}))
    """
    panel = link.get("panel", "wrong" if "wrong" in link else "switch")
    nearest = {"bias": "switch", "folding": "switch", "shards": "switch", "noise": "companions"}
    return PAGE, ({"panel": nearest.get(panel, panel)} if {"panel", "wrong"} & link.keys() else {}) | {
        name: value for name, value in link.items() if name not in ("panel", "wrong", "devices", "pace")
    }


def build_stream_setting(view: View) -> Setting:
    """Build the setting of the stream from the page's values."""
    return build_settings(Setting, view)


def compute_page_averages(view: View, stream_trace: StreamTrace) -> RunningAverages:
    """Compute the running averages of a stream with the framework and the share in the page's values.

    Raises:
        InvalidInput: the framework refuses the batch.
    """
    convention = CONVENTIONS[view["framework"]]
    momentum = convention.convert_momentum(view["share"])
    return compute_running_averages(
        stream_trace.mean, stream_trace.variance, build_stream_setting(view).element_count, convention, momentum
    )


@st.cache_data(max_entries=64, show_spinner=False)
def get_stream_trace(setting: Setting, eps: float) -> StreamTrace:
    """Return `trace_stream`, the statistics of every mini-batch, cached for all sessions."""
    return trace_stream(setting, eps)


def draw_controls(view: View) -> None:
    """Draw the controls in the sidebar."""
    page = Controls(Page, PREFIX, view, is_relevant)
    fronts = {"switch": ("batch",), "wrong": ("batch", "framework", "share"), "companions": ("layer", "batch")}
    front = fronts[view["panel"]]
    with st.sidebar:
        page.draw(*front)
        with st.expander("Advanced"):
            page.draw(*(name for name in ("layer", "framework", "share", "unit", "digit", "eps") if name not in front))
            if is_relevant(view, "share"):
                st.caption(MOMENTUM_CAPTION)
            page.draw("drift")
            if is_relevant(view, "drift"):
                st.caption(DRIFT_CAPTION)
            page.draw_rest()
