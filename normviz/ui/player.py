"""A player: a position that moves on by the browser's clock, with its buttons, its speed and its slider.

It knows nothing of what it plays. While it plays, only what is shown at the position is run again: nothing flickers.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import RLock

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from normviz.ui.link import PERSIST_STATE

TICK_SECONDS = 0.3
"""Seconds between two pictures while it plays."""

SPEEDS = (1, 2, 5, 10)
"""By how many positions a tick may move on."""


def _by_itself() -> bool:
    """Whether only a part of the page is run."""
    run = get_script_run_ctx()
    return bool(run and run.fragment_ids_this_run)


def stop_playing(prefix: str) -> None:
    """Nothing plays on a page any more: to be called when the page is opened or come back to, or shows other things."""
    st.session_state[prefix + "playing"] = None


@dataclass(frozen=True)
class Player:
    """A position from 0 to `last` that plays, stands still, or is dragged.

    Attributes:
        prefix: of the page's keys in the session. At `prefix + "playing"` is the name of what plays on the page; it is
            not in the link, so that a page which is opened stands still.
        name, pace: the position is at `prefix + name`, the speed at `prefix + pace`; both are in the page's link.
        label: of the slider.
        last: where it ends.
        period: seconds between two pictures while it plays.
        speeds: by how many positions it may move on; with a single one there is no choice of the speed.
    """

    prefix: str
    name: str
    label: str
    last: int
    pace: str = "pace"
    period: float = TICK_SECONDS
    speeds: Sequence[int] = SPEEDS

    @property
    def position(self) -> int:
        """Where it is."""
        return st.session_state[self.prefix + self.name]

    @property
    def is_playing(self) -> bool:
        """Whether it plays."""
        return st.session_state.get(self.prefix + "playing") == self.name

    def show(self, show_position: Callable[[int], None]) -> None:
        """Draw the buttons, and below them the slider and what there is to see at the position."""
        self._buttons()
        playing = self.is_playing
        st.session_state[self._key("ticked")] = time.monotonic()  # a run of the whole page is no tick

        @st.fragment(run_every=self.period if playing else None)
        def follow() -> None:
            self.tick(time.monotonic())
            if self.is_playing != playing or (_by_itself() and not playing):
                # The whole page, for its buttons and its link, and the clock that a run of it sets. Also for a tick
                # that comes late: Streamlit drops what the run before it had still to say, where both meet.
                st.rerun()
            self._slider()
            show_position(self.position)

        follow()

    def tick(self, now: float) -> None:
        """Move on, if it plays and a tick is due `now`, in seconds; what comes close behind a late one is no tick."""
        state = st.session_state
        with self._alone:
            if self.is_playing and now - state[self._key("ticked")] >= self.period / 2:
                state[self._key("ticked")] = now
                self._go(self.position + state.get(self.prefix + self.pace, 1))
                if self.position >= self.last:
                    stop_playing(self.prefix)

    def play(self) -> None:
        """Play on; from the start, where it has come to its end."""
        with self._alone:
            st.session_state[self.prefix + "playing"] = self.name
            if self.position >= self.last:
                self._go(0)

    def move(self, step: int = 0) -> None:
        """Stand still, some positions on or back."""
        with self._alone:
            stop_playing(self.prefix)
            self._go(self.position + step)

    @property
    def _alone(self) -> RLock:
        """Held by what moves the position: a tick may still be at work in one thread while a press is in another.

        A tick that moved on behind a Pause would leave the link one picture behind.
        """
        return st.session_state.setdefault(self.prefix + "alone", RLock())

    def _go(self, position: int) -> None:
        st.session_state[self.prefix + self.name] = min(max(position, 0), self.last)

    def _key(self, part: str) -> str:
        return f"{self.prefix}{self.name} {part}"

    def _buttons(self) -> None:
        with st.container(key=self._key("player"), horizontal=True, vertical_alignment="center", gap="xsmall"):
            label, icon, act = ("Pause", "pause", self.move) if self.is_playing else ("Play", "play_arrow", self.play)
            st.button(
                label, self._key("play"), icon=f":material/{icon}:", on_click=self._press, args=(act,),
                type="primary",
            )  # fmt: skip
            moves = {"Back": ("skip_previous", -1), "Step": ("skip_next", 1), "Rewind": ("replay", -self.last)}
            for label, (icon, by) in moves.items():
                move = (self.move, by)
                st.button(label, self._key(label), icon=f":material/{icon}:", on_click=self._press, args=move)
            if len(self.speeds) > 1:
                st.segmented_control(
                    "Speed", self.speeds, key=self.prefix + self.pace, **PERSIST_STATE, required=True,
                    format_func="{} ×".format,
                    label_visibility="collapsed",
                )  # fmt: skip

    def _press(self, act: Callable[..., None], *by: int) -> None:
        """Do what a button is for, once: a busy browser sends a press with a tick that was due, and then by itself."""
        if not (self.is_playing and _by_itself()):
            act(*by)

    def _slider(self) -> None:
        """The position, to be dragged while it stands still.

        The browser sends where every slider is with whatever it does. A place from before the last tick, or before the
        last press of a button, would count as dragged there. So nobody can drag the slider while it plays, and what
        moves the position in any other way than dragging puts a new slider, of the next number, in its place.
        """
        state, key, position = st.session_state, self._key("slider"), None if self.is_playing else self.position
        number, at = state.get(key, (0, None))
        number += position is not None and position != at
        state[key] = number, position
        if self.is_playing:
            state[f"{key} {number}"] = self.position
        with st.container(key=self._key("place")):  # style.css: while the browser has both, it shows the new one
            st.slider(
                self.label, 0, self.last, position, key=f"{key} {number}", disabled=self.is_playing,
                on_change=self._drag, args=(number,), format=f"{self.label}: %d", label_visibility="collapsed",
            )  # fmt: skip

    def _drag(self, number: int) -> None:
        """Go where the slider of this number is, unless another one has taken its place."""
        state, key = st.session_state, self._key("slider")
        with self._alone:
            if not self.is_playing and number == state[key][0]:
                self._go(state[f"{key} {number}"])
                state[key] = number, self.position
