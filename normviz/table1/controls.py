"""The Table 1 page's controls. Every widget's key is that of a value in `table.PARAMS`, which it shows and sets."""

from collections.abc import Sequence

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from normviz.core.fields import divisors
from normviz.core.schemes import SCHEMES
from normviz.core.transformations import LAYERS, OPTIMIZERS
from normviz.networks.setting import DEVICES, DTYPES, LIMITS, RATES, WIDTHS
from normviz.table1.state import ORDER, PREFIX, has, lengths
from normviz.ui import custom
from normviz.ui.components.drag import drag
from normviz.ui.custom import MAX_RADIUS
from normviz.ui.link import KEPT, View, value_slider

OPTIMIZER_NAMES = {"sgd": "SGD", "momentum": "Momentum", "adam": "Adam"}
DEVICE_NAMES = {"auto": "Fastest there is", "cpu": "CPU", "cuda": "CUDA", "mps": "Apple MPS"}
DELTAS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
EPSILONS = (0.0, *(10.0**k for k in range(-15, 2)))
RATE_STEPS = tuple(m * 10.0**k for k in range(-4, 7) for m in (1, 2, 5))
STEPS = (5, 10, 20, 50, 100, 200, 500, 1000, 2000)
BATCHES = (2, 4, 8, 16, 32, 64, 128, 256)
WIDTH_STEPS = (2, 4, 8, 16, 32, 64, 128)


def controls(view: View) -> DeltaGenerator:
    """Rows, training, and everything else in the sidebar; gives the place where `sliders` belong."""
    with st.sidebar:
        _rows(view)
        st.divider()
        st.segmented_control(
            "Layer", LAYERS, key=PREFIX + "layer", **KEPT, required=True, format_func=str.capitalize, on_change=_width
        )
        place = st.container()
        st.selectbox("Precision", DTYPES, key=PREFIX + "dtype", **KEPT)
        st.divider()
        st.segmented_control(
            "Optimizer",
            OPTIMIZERS,
            key=PREFIX + "optimizer",
            **KEPT,
            required=True,
            format_func=OPTIMIZER_NAMES.__getitem__,
            on_change=_rate,
        )
        value_slider(PREFIX + "rate", "Learning rate", RATE_STEPS, view["rate"])
        power = "δ" if view["optimizer"] == "adam" else "δ²"
        st.toggle(f"Re-scaled weights: learning rate × {power}", key=PREFIX + "follow", **KEPT)
        value_slider(PREFIX + "steps", "Steps", STEPS, view["steps"])
        value_slider(PREFIX + "batch", "Batch size", BATCHES, view["batch"])
        value_slider(PREFIX + "width", "Units" if view["layer"] == "dense" else "Channels", WIDTH_STEPS, view["width"])
        st.slider("Normalized layers", *LIMITS["depth"], key=PREFIX + "depth", **KEPT)
        st.number_input("Seed", *LIMITS["seed"], key=PREFIX + "seed", **KEPT)
        st.selectbox("Train on", DEVICES, key=PREFIX + "device", **KEPT, format_func=DEVICE_NAMES.__getitem__)
    return place


def sliders(view: View, place: DeltaGenerator) -> None:
    """δ and ε, which the table follows while they are dragged; drawn last, when it has."""
    with place:
        _drag("delta", "δ (re-scaling factor)", DELTAS, view)
        st.session_state["delta number"] = view["delta"]
        limit = LIMITS["delta"][1]
        st.number_input(
            "δ exactly",
            -limit,
            limit,
            key="delta number",
            step=None,
            format="%g",
            label_visibility="collapsed",
            on_change=lambda: _set("delta", st.session_state["delta number"]),
        )
        _drag("eps", "ε (smoothing term)", EPSILONS, view)


def _drag(name: str, label: str, options: Sequence[float], view: View) -> None:
    choices = sorted({*options, view[name]})

    def moved() -> None:
        _set(name, choices[int(st.session_state[f"{name} drag"]["index"])])

    texts = [f"{value:g}".replace("e-", "e−") for value in choices]
    drag(label, texts, choices.index(view[name]), name, moved)


def _set(name: str, value: float) -> None:
    st.session_state[PREFIX + name] = value


def _rows(view: View) -> None:
    st.pills(
        "Rows",
        ORDER,
        selection_mode="multi",
        key=PREFIX + "schemes",
        **KEPT,
        format_func=lambda key: SCHEMES[key].label,
    )
    if "custom" in view["schemes"]:
        custom.controls(view, lengths, PREFIX)
    if has(view, "groups"):
        st.selectbox("Groups G", divisors(view["width"]), key=PREFIX + "groups", **KEPT)
    if has(view, "radius"):
        st.slider("Radius R of the windows", 0, MAX_RADIUS, key=PREFIX + "radius", **KEPT)


def _width() -> None:
    st.session_state[PREFIX + "width"] = WIDTHS[st.session_state[PREFIX + "layer"]]


def _rate() -> None:
    st.session_state[PREFIX + "rate"] = RATES[st.session_state[PREFIX + "optimizer"]]
