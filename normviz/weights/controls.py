"""The weights page's controls. Every widget's key is that of a value in `weights.PARAMS`, which it shows and sets."""

import time

import streamlit as st

from normviz.ui.link import KEPT, View
from normviz.ui.settings import Controls
from normviz.weights.state import PREFIX, SHOWN, Page, has
from normviz.weights.weights import FIRST_LAYERS

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
    page = Controls(Page, PREFIX, view, has)
    with st.sidebar:
        page.draw("inputs", "rate", "batch", "start", "layer")
        if has(view, "layer"):
            st.caption(FIRST_LAYERS[view["layer"]].about)
        page.draw("trained", "relu", "torch")
        page.rest()


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
