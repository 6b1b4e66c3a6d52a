"""A player: a position that advances with the browser's clock, with buttons and a slider.

While it plays, only the content at the position is run again, so that nothing flickers.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from threading import RLock

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

TICK_SECONDS = 0.3
"""Seconds between two pictures during playback."""


def _is_fragment_run() -> bool:
    run = get_script_run_ctx()
    return bool(run and run.fragment_ids_this_run)


def stop_playing(prefix: str) -> None:
    """Stop playback on the page; call this when the page is opened, returned to, or shows something else."""
    st.session_state[prefix + "playing"] = None


@dataclass(frozen=True)
class Player:
    """Player of a sequence: a position from 0 to `last` that plays, pauses, or is dragged.

    Attributes:
        prefix: of the page's keys in the session. `prefix + "playing"` holds the name of the running player; it is
            not in the link, so that an opened page is paused.
        name: the position is at `prefix + name`, which is in the page's link.
        label: of the slider.
        last: the final position.
        period: seconds between two pictures during playback.
        speed: number of positions by which one tick advances. If it is above 1, a single step is too small to see, and
            has no buttons.
    """

    prefix: str
    name: str
    label: str
    last: int
    period: float = TICK_SECONDS
    speed: int = 1

    @property
    def position(self) -> int:
        """Return the current position, 0 to `last`."""
        return st.session_state[self.prefix + self.name]

    @property
    def is_playing(self) -> bool:
        """Return True if this player is playing."""
        return st.session_state.get(self.prefix + "playing") == self.name

    def show(self, show_position: Callable[[int], None]) -> None:
        """Draw the buttons, and below them the slider and the content at the current position."""
        self._draw_buttons()
        playing = self.is_playing
        st.session_state[self._make_key("ticked")] = time.monotonic()  # a run of the whole page is no tick

        @st.fragment(run_every=self.period if playing else None)
        def follow() -> None:
            self.tick(time.monotonic())
            if self.is_playing != playing or (_is_fragment_run() and not playing):
                # The whole page, for its buttons and its link, and the clock that a run of it sets. Also for a tick
                # that comes late: Streamlit drops what the run before it had still to say, where both meet.
                st.rerun()
            self._draw_slider()
            show_position(self.position)

        follow()

    def tick(self, now: float) -> None:
        """Advance by `speed` positions, if the player plays and a tick is due at `now` (seconds)."""
        state = st.session_state
        with self._position_lock:
            if self.is_playing and now - state[self._make_key("ticked")] >= self.period / 2:
                state[self._make_key("ticked")] = now
                self._store_position(self.position + self.speed)
                if self.position >= self.last:
                    stop_playing(self.prefix)

    def play(self) -> None:
        """Start playback, from 0 if it is at the end."""
        with self._position_lock:
            st.session_state[self.prefix + "playing"] = self.name
            if self.position >= self.last:
                self._store_position(0)

    def move(self, step: int = 0) -> None:
        """Pause, and move by `step` positions."""
        with self._position_lock:
            stop_playing(self.prefix)
            self._store_position(self.position + step)

    @property
    def _position_lock(self) -> RLock:
        """Return the lock to hold while the position changes; a tick and a button press may run in two threads.

        A tick that advanced after a Pause would leave the link one picture behind.
        """
        return st.session_state.setdefault(self.prefix + "alone", RLock())

    def _store_position(self, position: int) -> None:
        st.session_state[self.prefix + self.name] = min(max(position, 0), self.last)

    def _make_key(self, part: str) -> str:
        return f"{self.prefix}{self.name} {part}"

    def _make_container_key(self, part: str) -> str:
        """Return the key of the player's container `part`; for a single button frame.css puts the slider beside it."""
        return self._make_key(f"alone {part}" if self.speed > 1 else part)

    def _draw_buttons(self) -> None:
        key = self._make_container_key("player")
        with st.container(key=key, horizontal=True, vertical_alignment="center", gap="xsmall"):
            label, icon, act = ("Pause", "pause", self.move) if self.is_playing else ("Play", "play_arrow", self.play)
            st.button(
                label, self._make_key("play"), icon=f":material/{icon}:", on_click=self._press_button, args=(act,),
                type="primary",
            )  # fmt: skip
            moves = {"Back": ("skip_previous", -1), "Step": ("skip_next", 1), "Rewind": ("replay", -self.last)}
            for label, (icon, by) in moves.items() if self.speed == 1 else ():
                move = (self.move, by)
                st.button(
                    label, self._make_key(label), icon=f":material/{icon}:", on_click=self._press_button, args=move
                )

    def _press_button(self, act: Callable[..., None], *by: int) -> None:
        """Call `act(*by)`, the action of a pressed button, once, even if a busy browser sends the press twice."""
        if not (self.is_playing and _is_fragment_run()):
            act(*by)

    def _draw_slider(self) -> None:
        """Draw the slider of the position, enabled while paused.

        The browser sends the value of every slider with each action. A value from before the last tick or button press
        would count as dragged. So the slider is disabled during playback, and every other change of the position
        replaces it by a new slider with the next number.
        """
        state, key, position = st.session_state, self._make_key("slider"), None if self.is_playing else self.position
        number, at = state.get(key, (0, None))
        number += position is not None and position != at
        state[key] = number, position
        if self.is_playing:
            state[f"{key} {number}"] = self.position
        # While the browser has two sliders, frame.css shows the new one.
        with st.container(key=self._make_container_key("place")):
            st.slider(
                self.label, 0, self.last, position, key=f"{key} {number}", disabled=self.is_playing,
                on_change=self._take_slider_position, args=(number,), format=f"{self.label}: %d",
                label_visibility="collapsed",
            )  # fmt: skip

    def _take_slider_position(self, number: int) -> None:
        """Move to the position of the slider with this number, unless a newer slider has replaced it."""
        state, key = st.session_state, self._make_key("slider")
        with self._position_lock:
            if not self.is_playing and number == state[key][0]:
                self._store_position(state[f"{key} {number}"])
                state[key] = number, self.position
