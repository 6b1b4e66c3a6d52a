"""The training and inference page: what its link holds, and its controls."""

from dataclasses import dataclass

import streamlit as st

from normviz.core.schemes import DEFAULT_EPS
from normviz.core.settings import among, build, choice, real, whole
from normviz.running.stream import (
    BATCHES,
    CONVENTIONS,
    UNITS,
    Averages,
    Setting,
    Trace,
    running_averages,
    trace,
)
from normviz.ui.link import View, params
from normviz.ui.player import SPEEDS
from normviz.ui.settings import Controls

PAGE = "running"
PREFIX = f"{PAGE} "

PANELS = {
    "bias": "Bias of the variance",
    "noise": "Noise",
    "folding": "Folding",
    "companions": "Other examples",
    "shards": "Shards",
    "wrong": "What goes wrong",
}
WRONG = {
    "one": "Batch of one",
    "early": "Stopped early",
    "train": "eval() forgotten",
    "shift": "Shifted test data",
}
MOST_DEVICES = 8
NAMES = {key: row.name for key, row in CONVENTIONS.items()}


def _momenta(share: float) -> str:
    """The same average in every framework's words: 0.1 / 0.9."""
    return " / ".join(f"{row.other(share):g}" for row in CONVENTIONS.values())


@dataclass(frozen=True)
class Page(Setting):
    """What the page's link holds: a stream, how it is averaged, and what is shown of it."""

    framework: str = choice("pytorch", NAMES, label="Convention")
    share: float = real(
        CONVENTIONS["pytorch"].momentum, 0.0, 1.0, stops=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0), shown=_momenta,
        label=f"Momentum: {' / '.join(NAMES.values())}",  # one for both: with another label a slider loses its place
    )  # fmt: skip
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-5, 1e-3, 1e-1))
    unit: int = whole(1, 1, UNITS, label="Unit", control="segments")
    step: int = whole(60, 0, BATCHES)
    pace: int = among(1, SPEEDS)
    panel: str = choice("bias", PANELS)
    devices: int = whole(4, 1, lambda given: min(MOST_DEVICES, given["batch"]))
    wrong: str = choice("one", WRONG)


PARAMS = params(Page, PREFIX)

TITLE = (
    "# Why does batch norm behave differently at test time?\n"
    "While it trains, a layer is normalized by the mean and variance of each mini-batch; afterwards by a **running "
    "average** of them, so that an example no longer depends on the others of its batch. Here is a stream of digits."
)

CAPTION = (
    "One and the same average: PyTorch's momentum is the share of the new batch, Keras's that of the old average. "
    "PyTorch averages the variance times m/(m−1), Keras without."
)


def has(view: View, name: str) -> bool:
    """Whether a value means anything in this view: a link leaves out what does not."""
    return {"devices": view["panel"] == "shards", "wrong": view["panel"] == "wrong"}.get(name, True)


def setting_of(view: View) -> Setting:
    """The stream that the view asks for."""
    return build(Setting, view)


def averages_of(view: View, seen: Trace) -> Averages:
    """The running averages as the framework keeps them; raises InvalidInput where it refuses."""
    convention = CONVENTIONS[view["framework"]]
    momentum = convention.other(view["share"])
    return running_averages(seen.mean, seen.variance, setting_of(view).count, convention, momentum)


@st.cache_data(max_entries=64, show_spinner=False)
def traced(setting: Setting, eps: float) -> Trace:
    """The stream through batch norm, once for all sessions."""
    return trace(setting, eps)


def controls(view: View) -> None:
    """Everything in the sidebar."""
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        page.draw("layer", "batch")
        st.divider()
        page.draw("framework", "share")
        st.caption(CAPTION)
        page.draw("eps")
        st.divider()
        page.draw("drift", "unit")
        page.rest()
