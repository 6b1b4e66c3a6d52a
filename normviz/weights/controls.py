"""The weights page's controls. Every widget's key is that of a value in `weights.PARAMS`, which it shows and sets."""

import time

import streamlit as st

from normviz.ui.link import KEPT, View, value_slider
from normviz.weights.descent import INPUTS, LIMITS
from normviz.weights.state import PREFIX, SHOWN, has
from normviz.weights.weights import LAYERS, MAX_TRAINING

RATES = tuple(m * 10.0**k for k in range(-2, 3) for m in (1, 3))
BATCHES = (8, 32, 128, LIMITS["batch"][1])
STARTS = (0.1, 0.3, 1.0, 3.0, 10.0)
TRAINED = (0, 20, 50, 100, 200, MAX_TRAINING)

PACE = 0.4
"""Seconds that a step is shown while the steps play."""


def pause() -> None:
    """Nothing plays any more; also when the page is opened, or come back to."""
    st.session_state[PREFIX + "playing"] = None


def choose() -> None:
    """Which scheme the page is about."""
    st.segmented_control(
        "Show", SHOWN, key=PREFIX + "show", **KEPT, required=True, format_func=SHOWN.__getitem__, on_change=pause,
        label_visibility="collapsed",
    )  # fmt: skip


def controls(view: View) -> None:
    """Everything in the sidebar that means something to what is shown."""
    with st.sidebar:
        if has(view, "inputs"):
            st.segmented_control(
                "A digit is", INPUTS, key=PREFIX + "inputs", **KEPT, required=True,
                format_func=lambda key: INPUTS[key].name,
            )  # fmt: skip
            value_slider(PREFIX + "rate", "Learning rate", RATES, view["rate"])
            value_slider(PREFIX + "batch", "Batch size", BATCHES, view["batch"])
            value_slider(PREFIX + "start", "Length of v at the start", STARTS, view["start"])
        if has(view, "layer"):
            st.segmented_control(
                "Layer", LAYERS, key=PREFIX + "layer", **KEPT, required=True, format_func=lambda key: LAYERS[key].name
            )
            st.caption(LAYERS[view["layer"]].about)
            value_slider(PREFIX + "trained", "Trained on digits, steps", TRAINED, view["trained"])
        if has(view, "relu"):
            st.toggle("ReLU behind the layer", key=PREFIX + "relu", **KEPT)
        if has(view, "torch"):
            st.toggle("Compare with PyTorch", key=PREFIX + "torch", **KEPT)
        st.number_input("Seed", *LIMITS["seed"], key=PREFIX + "seed", **KEPT)


def player(name: str, label: str, last: int) -> None:
    """A slider over steps, and buttons that play, pause and move by one; what is played ends at the last step."""
    state, key = st.session_state, PREFIX + name
    playing = state.get(PREFIX + "playing") == name and state[key] < last
    with st.container(horizontal=True, vertical_alignment="bottom"):
        text, icon = ("Pause", ":material/pause:") if playing else ("Play", ":material/play_arrow:")
        st.button(text, key=f"play {name}", icon=icon, on_click=_play, args=(name, last, not playing))
        st.button("Step", key=f"next {name}", icon=":material/skip_next:", on_click=_move, args=(name, last))
        st.slider(label, 0, last, key=key, **KEPT)
    with st.container():
        if playing:
            state[PREFIX + "shown"] = time.monotonic()
            _next(name, last)


def advance(name: str, last: int, by: int = 1) -> None:
    """Some steps on; at the last one nothing plays any more."""
    state, key = st.session_state, PREFIX + name
    state[key] = min(state[key] + by, last)
    if state[key] == last:
        state[PREFIX + "playing"] = None


def _play(name: str, last: int, on: bool) -> None:
    """Play, from the start where all has been played, or pause."""
    state = st.session_state
    if on and state[PREFIX + name] >= last:
        state[PREFIX + name] = 0
    state[PREFIX + "playing"] = name if on else None


def _move(name: str, last: int) -> None:
    pause()
    advance(name, last)


@st.fragment(run_every=PACE)
def _next(name: str, last: int) -> None:
    """Called by the browser's clock: move on, and show the page anew; a run of the whole page passes by here too."""
    if time.monotonic() - st.session_state[PREFIX + "shown"] > PACE / 2:
        advance(name, last, 1 + st.session_state[PREFIX + name] // 10)  # the first steps matter most
        st.rerun()
