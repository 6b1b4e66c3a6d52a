"""The training and inference page: what its link holds, and its controls."""

from dataclasses import dataclass

import streamlit as st

from normviz.core.schemes import DEFAULT_EPS
from normviz.core.settings import among, build, choice, real, whole
from normviz.running.averages import CONVENTIONS, Averages, running_averages
from normviz.running.modes import MODES
from normviz.running.stream import BATCHES, SHOWN, UNITS, Setting, Trace, trace
from normviz.ui.link import View, params
from normviz.ui.player import SPEEDS
from normviz.ui.settings import Controls

PAGE = "running"
PREFIX = f"{PAGE} "

PANELS = {
    "wrong": "What goes wrong",
    "bias": "Bias of the variance",
    "noise": "Noise",
    "folding": "Folding",
    "companions": "Other examples",
    "shards": "Shards",
}
WRONG = {
    "cost": "What it costs",
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
    mode: str = choice("training", MODES)
    digit: int = whole(0, 0, lambda given: min(SHOWN, given["batch"]) - 1, label="Digit followed")
    unit: int = whole(1, 1, UNITS, label="Unit", control="segments")
    step: int = whole(60, 0, BATCHES)
    pace: int = among(1, SPEEDS)
    panel: str = choice("wrong", PANELS)
    devices: int = whole(4, 1, lambda given: min(MOST_DEVICES, given["batch"]))
    wrong: str = choice("cost", WRONG)


PARAMS = params(Page, PREFIX)

CAPTION = (
    "One and the same average: PyTorch's momentum is the share of the new batch, Keras's that of the old average. "
    "PyTorch averages the variance times m/(m−1), Keras without."
)


DRIFT = (
    "While a network learns its weights move, and the mean and variance of what they sum move with them (the dashes). "
    f"Here the weights take a random step over the {BATCHES} batches: at 1 it is as large as they were at first, at 0 "
    "they stay."
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
        page.draw("drift")
        st.caption(DRIFT)
        page.draw("unit", "digit")
        page.rest()
