"""The training and inference page: what its link holds, and its controls."""

from dataclasses import replace

import streamlit as st

from normviz.core.schemes import DEFAULT_EPS
from normviz.core.transformations import LAYERS
from normviz.running.stream import (
    CONVENTIONS,
    LIMITS,
    STEPS,
    UNITS,
    Averages,
    Setting,
    Trace,
    running_averages,
    trace,
)
from normviz.ui.custom import closest
from normviz.ui.link import KEPT, Param, View, choice, decimal, real, value_slider, whole

PAGE = "running"
PREFIX = f"{PAGE} "

PANELS = {
    "bias": "Bias of the variance",
    "noise": "Noise",
    "folding": "Folding",
    "companions": "Companions",
    "shards": "Shards",
    "wrong": "What goes wrong",
}
WRONG = {
    "one": "Batch of one",
    "early": "Stopped early",
    "train": "eval() forgotten",
    "shift": "Shifted test data",
}
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
DRIFTS = (0.0, 0.5, 1.0, 2.0, 3.0)
EPSILONS = (0.0, 1e-5, 1e-3, 1e-1)
PACES = (1, 2, 5, 10)
MOST_DEVICES = 8
DEFAULT = Setting()


def _devices(value: object, view: View) -> int:
    return whole(1, min(MOST_DEVICES, view["batch"]))(value, view)


def _pace(value: object, view: View) -> int:
    return closest(PACES, float(value))


PARAMS = tuple(
    replace(param, key=PREFIX + param.key)
    for param in (
        Param("layer", DEFAULT.layer, choice(LAYERS)),
        Param("batch", DEFAULT.batch, whole(*LIMITS["batch"])),
        Param("framework", "pytorch", choice(list(CONVENTIONS))),
        Param("share", CONVENTIONS["pytorch"].momentum, real(0.0, 1.0), decimal),
        Param("drift", DEFAULT.drift, real(*LIMITS["drift"]), decimal),
        Param("eps", DEFAULT_EPS, real(0.0, 1.0), decimal),
        Param("unit", 1, whole(1, UNITS)),
        Param("seed", DEFAULT.seed, whole(*LIMITS["seed"])),
        Param("step", 60, whole(0, STEPS)),
        Param("pace", 1, _pace),
        Param("panel", "bias", choice(list(PANELS))),
        Param("devices", 4, _devices),
        Param("wrong", "one", choice(list(WRONG))),
    )
)

TITLE = (
    "# Why does batch norm behave differently at test time?\n"
    "While it trains, a layer is normalized by the mean and variance of each mini-batch; afterwards by a **running "
    "average** of them, so that an example no longer depends on its companions. Here is a stream of digits."
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
    return Setting(view["layer"], view["batch"], view["drift"], view["seed"])


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
    with st.sidebar:
        st.segmented_control("Layer", LAYERS, key=PREFIX + "layer", **KEPT, required=True, format_func=str.capitalize)
        value_slider(PREFIX + "batch", "Batch size", BATCHES, view["batch"])
        st.divider()
        names = {key: row.name for key, row in CONVENTIONS.items()}
        st.segmented_control(
            "Convention", names, key=PREFIX + "framework", **KEPT, required=True, format_func=names.__getitem__
        )
        # Labels that changed with the convention would lose the slider's place.
        value_slider(PREFIX + "share", f"Momentum: {' / '.join(names.values())}", SHARES, view["share"], _momenta)
        st.caption(CAPTION)
        value_slider(PREFIX + "eps", "ε (smoothing term)", EPSILONS, view["eps"])
        st.divider()
        value_slider(PREFIX + "drift", "Drift of the weights", DRIFTS, view["drift"])
        st.segmented_control("Unit", range(1, UNITS + 1), key=PREFIX + "unit", **KEPT, required=True)
        st.number_input("Seed", *LIMITS["seed"], key=PREFIX + "seed", **KEPT)


def figures(value: float, decimals: int = 3) -> str:
    """A number for a table: some decimals or, where these would say nothing, a power of ten."""
    if value == 0:
        return "0"
    if abs(value) >= 10.0**-decimals / 2:
        return f"{value:,.{decimals}f}".replace("-", "−")
    return f"{value:.0e}".replace("e-0", "e-").replace("-", "−")


def _momenta(share: float) -> str:
    """The same average in every framework's words: 0.1 / 0.9."""
    return " / ".join(f"{row.other(share):g}" for row in CONVENTIONS.values())
