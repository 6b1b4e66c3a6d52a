"""The state of a page, once: what a link may set, and the nearest valid value of what it sets.

The URL and the widgets hold the same values, `st.session_state[key]`. A link is read when a session starts, or
when the address changes by itself (back and forward); it is written after every run.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import streamlit as st

View = dict[str, Any]


@dataclass(frozen=True)
class Param:
    """One value of a page.

    Attributes:
        key: in the link and in the session.
        default: the value that a link leaves out.
        nearest: (text or value, the values before it) -> a valid value; raises ValueError where none is near.
        text: the value as a link has it.
    """

    key: str
    default: Any
    nearest: Callable[[Any, View], Any]
    text: Callable[[Any], str] = str


def restore(page: str, params: Sequence[Param], repair: Callable[[View], View]) -> tuple[View, list[str]]:
    """Fill the session from the link or from itself, every value valid; and notes on what had to be replaced.

    `repair` mends what is wrong between the values of a link; between those of widgets it is for the page to say.
    """
    state, link = st.session_state, st.query_params.to_dict()
    last = state.get(f"{page} view", {})  # also remembers the values of widgets that are not shown now
    held = last | {p.key: state[p.key] for p in params if p.key in state}
    left, state["page"] = state.get("page", page) != page, page
    bare = left and not any(p.key in link for p in params)  # back from another page: as it was left
    # A rerun that a widget caused may still carry the address of before; then the widgets are right.
    moved = link != state.get(f"{page} link") and held == last and not bare
    view, notes = clean(params, link if moved else held)
    if moved:
        wanted = repair(view)
        notes += [f"{key} = {view[key]} became {value}" for key, value in wanted.items() if value != view[key]]
        view, _ = clean(params, view | wanted)
    for key, value in view.items():
        if state.get(key) != value or key not in state:
            state[key] = value
    return view, notes


def clean(params: Sequence[Param], raw: Mapping[str, Any]) -> tuple[View, list[str]]:
    """Every value made valid, in the order of the params; and a note for each that had to be replaced."""
    view, notes = {}, []
    for param in params:
        given = raw.get(param.key, param.default)
        try:
            value = param.nearest(given, view)
        except (ValueError, TypeError, OverflowError):
            value = param.nearest(param.default, view)
        view[param.key] = value
        if not _same(given, value, param):
            notes.append(f"{param.key} = {str(given)[:40]} became {param.text(value)}")
    return view, notes


def store(page: str, params: Sequence[Param], view: View, relevant: Callable[[str], bool]) -> None:
    """Write what differs from the default, and matters, into the link; and remember all of it."""
    state, now = st.session_state, st.query_params.to_dict()
    others = {key: value for key, value in now.items() if key not in {p.key for p in params}}
    defaults, _ = clean(params, {})
    link = others | {p.key: p.text(view[p.key]) for p in params if relevant(p.key) and view[p.key] != defaults[p.key]}
    if link != now:
        st.query_params.from_dict(link)
    state[f"{page} link"], state[f"{page} view"] = link, view


def whole(lo: int, hi: int) -> Callable[[Any, View], int]:
    """Whole numbers from lo to hi."""
    return lambda value, view: min(max(round(float(value)), lo), hi)


def real(lo: float, hi: float) -> Callable[[Any, View], float]:
    """Numbers from lo to hi."""

    def nearest(value: Any, view: View) -> float:
        number = float(value)
        if number != number:
            raise ValueError("NaN is near nothing")
        return min(max(number, lo), hi)

    return nearest


def choice(options: Sequence[str] | Callable[[View], Sequence[str]]) -> Callable[[Any, View], str]:
    """One of some words; a misspelt one becomes the most alike."""

    def nearest(value: Any, view: View) -> str:
        words = options(view) if callable(options) else options
        if value in words:
            return value
        close = get_close_matches(str(value).lower()[:80], words, n=1)
        if not close:
            raise ValueError(f"{value} is like none of {words}")
        return close[0]

    return nearest


def flag(value: Any, view: View) -> bool:
    """On or off; in a link 1 or 0."""
    return value is True or str(value).lower() in ("1", "true", "yes", "on")


def _same(given: Any, value: Any, param: Param) -> bool:
    """Whether a value is what was given, be it as a value, as text or as another spelling of the same number."""
    if given in (value, param.text(value)) or given == param.default:
        return True
    try:
        return float(given) == float(param.text(value))
    except (ValueError, TypeError):
        return False
