"""The choice of schemes, on any page: in groups by what they act on, each with what tells it from those like it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import streamlit as st

from normviz.core.schemes import SCHEMES
from normviz.describe.wording import hint

GROUPS = {
    "activation": "Schemes of activations",
    "weight": "Of weights",
    "both": "Of both",
    "own": "Your own",
}
"""The groups, in the order in which they stand; the last two beside each other."""

BESIDE = ("both", "own")

ROW = "row"
"""The group of the schemes that are one click away."""


class Entry(NamedTuple):
    """An entry of a list: its key, its name and a line on it."""

    key: str
    name: str
    line: str


def grouped(keys: Sequence[str]) -> dict[str, list[str]]:
    """The groups that some of these schemes belong to, each with its schemes in their order."""
    members = {group: [key for key in keys if _group(key) == group] for group in GROUPS}
    return {group: found for group, found in members.items() if found}


def _placed(keys: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """The groups, each where its pills belong."""
    found = grouped(keys)
    yield from ((group, members) for group, members in found.items() if group not in BESIDE)
    with st.container(horizontal=True, gap="small"):
        yield from ((group, members) for group, members in found.items() if group in BESIDE)


def choose_one(key: str = "scheme") -> None:
    """Pills for one of all schemes; `key`: of the choice in the session."""
    state = st.session_state
    with st.container(key=key, gap="small"):
        for group, members in _placed(list(SCHEMES)):
            mine = state[key] if state[key] in members else None
            pills = state_of(key, group)
            state[pills] = mine
            st.pills(
                GROUPS[group], members, key=pills, required=mine is not None, format_func=_pill, help=_help(members),
                on_change=_take_one, args=(key, pills),
            )  # fmt: skip


def choose_from_list(key: str, groups: Mapping[str, Sequence[Entry]]) -> None:
    """A list to choose one entry from, in groups with headings; `key`: of the choice in the session."""
    state = st.session_state
    with st.container(key=key.replace(" ", "-"), gap="small"):
        for group, entries in groups.items():
            names = {each.key: each.name for each in entries}
            radio = state_of(key, group)
            state[radio] = state[key] if state[key] in names else None
            st.radio(
                group, list(names), index=None, key=radio, format_func=names.__getitem__,
                captions=[each.line for each in entries], on_change=_take_one, args=(key, radio),
            )  # fmt: skip


def choose_frequent(key: str, keys: Sequence[str], frequent: Sequence[str]) -> None:
    """Pills for several schemes: the frequent ones and the chosen ones in a row, all of `keys` behind "More…"."""
    state = st.session_state
    row = list_frequent(keys, frequent, state[key])
    pills = state_of(key, ROW)
    state[pills] = [each for each in state[key] if each in row]
    st.pills(
        "Schemes", row, selection_mode="multi", key=pills, format_func=lambda each: SCHEMES[each].label,
        label_visibility="collapsed", on_change=_take_several, args=(key, pills, row, None),
    )  # fmt: skip
    if len(row) < len(keys):
        with st.popover("More…", help="All schemes that can be compared here."):
            choose_several(key, keys)


def list_frequent(keys: Sequence[str], frequent: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Return the schemes in the row of `choose_frequent`: of `keys`, those that are frequent or chosen."""
    return [each for each in keys if each in frequent or each in chosen]


def colour_frequent(key: str, row: Sequence[str], colours: Mapping[str, str]) -> None:
    """Underline the pills of `choose_frequent` with the colours of some schemes; `row`: the schemes in it."""
    element = re.sub(r"[^a-zA-Z0-9_-]", "-", state_of(key, ROW))
    st.html(
        "<style>"
        + "".join(
            f".st-key-{element} button:nth-of-type({place}) {{ box-shadow: inset 0 -0.25rem {colours[each]}; }}"
            for place, each in enumerate(row, 1)
            if each in colours
        )
        + "</style>"
    )


def choose_several(key: str, keys: Sequence[str], most: int | None = None) -> None:
    """Pills for several of these schemes, in the order in which they are chosen.

    Where as many are chosen as there may be, the others cannot be picked, and a line says so.
    """
    state = st.session_state
    with st.container(key=key.replace(" ", "-"), gap="small"):
        for group, members in _placed(keys):
            pills = state_of(key, group)
            state[pills] = [each for each in state[key] if each in members]
            st.pills(
                GROUPS[group], members, selection_mode="multi", key=pills, format_func=_pill, help=_help(members),
                on_change=_take_several, args=(key, pills, members, most),
            )  # fmt: skip
        if most is not None:
            full = len(state[key]) >= most
            free = "take one out to choose another" if full else "those that stand side by side"
            st.caption(f"{len(state[key])} of at most {most} are chosen: {free}.")
            if full:
                st.html(_CLOSED.format(key=key.replace(" ", "-")))


def state_of(key: str, group: str) -> str:
    """The key of a group's pills in the session; their values follow from the choice."""
    return f"{key} of {group}"


_CLOSED = "<style>.st-key-{key} [data-variant]:not([data-selected]) {{ opacity: 0.45; pointer-events: none; }}</style>"


def _take_one(key: str, pills: str) -> None:
    """Take over what was clicked; a click on what is chosen changes nothing."""
    st.session_state[key] = st.session_state[pills] or st.session_state[key]


def _take_several(key: str, pills: str, members: Sequence[str], most: int | None) -> None:
    """Take over what was clicked in one group: others keep their places, new ones come last while there is room."""
    picked, before = st.session_state[pills], st.session_state[key]
    kept = [each for each in before if each not in members or each in picked]
    st.session_state[key] = [*kept, *(each for each in picked if each not in kept)][:most]


def _group(key: str) -> str:
    if key == "custom":
        return "own"
    return SCHEMES[key].acts_on if SCHEMES[key].acts_on in GROUPS else "activation"


def words(key: str) -> str:
    """A scheme where it is chosen from a menu: its label, and what tells it from those like it."""
    return " – ".join(filter(None, [SCHEMES[key].label, hint(SCHEMES[key])]))


def _pill(key: str) -> str:
    """The same on a pill, what tells it apart small."""
    told = hint(SCHEMES[key])
    return f"{SCHEMES[key].label} :small[:gray[{told}]]" if told else SCHEMES[key].label


def _help(keys: Sequence[str]) -> str:
    return "\n".join(f"- **{SCHEMES[key].label}**: {SCHEMES[key].about}" for key in keys)
