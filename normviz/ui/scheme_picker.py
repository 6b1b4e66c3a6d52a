"""The scheme picker on any page: the common schemes as pills, all others in a searchable menu."""

import re
from collections.abc import Mapping, Sequence

import streamlit as st

from normviz.charts.curves import to_rgba
from normviz.core.registry import NAMED_SCHEMES, SCHEMES
from normviz.describe.aims import summarize_scheme
from normviz.ui.locks import is_locked, set_widget_value

COMMON_SCHEMES = ("batch", "layer", "instance", "group", "rms")
"""Schemes with a pill; a picker of several schemes also has one for no normalization."""

SCHEME_GROUPS = {"activations": "Activations", "weights": "Weights", "without": "Without statistics", "own": "Your own"}
"""Groups of the menu, in order."""


FREQUENT_GROUP = "row"
"""Group of the schemes with a pill."""


def split_common_schemes(keys: Sequence[str], several: bool = False) -> tuple[list[str], list[str]]:
    """Split scheme keys into those shown as buttons and those in the menu; `several`: more than one may be chosen."""
    common = [key for key in (*(["none"] if several else []), *COMMON_SCHEMES) if key in keys]
    order = list(SCHEME_GROUPS)
    return common, sorted(
        (key for key in keys if key not in common), key=lambda key: order.index(find_scheme_group(key))
    )


def choose_scheme(key: str = "scheme") -> None:
    """Draw the picker of one scheme; the session holds the choice at `key`."""
    chosen, (common, rest) = st.session_state[key], split_common_schemes(list(SCHEMES))
    pills, menu = make_state_key(key, "common"), make_state_key(key, "more")
    set_widget_value(pills, chosen if chosen in common else None)
    set_widget_value(menu, chosen if chosen in rest else None)
    with st.container(key=key, gap="small"):
        st.pills(
            "Normalization", common, key=pills, required=chosen in common, format_func=_get_scheme_label,
            disabled=is_locked(key),
            on_change=_store_clicked_scheme, args=(key, pills),
        )  # fmt: skip
        st.selectbox(
            "More normalizations", rest, None, key=menu, format_func=format_menu_entry,
            placeholder=f"More… ({len(rest)})",
            label_visibility="collapsed", disabled=is_locked(key), on_change=_store_menu_scheme, args=(key, menu),
        )  # fmt: skip


def choose_list_entry(key: str, groups: Mapping[str, Mapping[str, str]]) -> None:
    """Draw a list with headings, to choose one entry; the session holds the choice at `key`.

    `groups`: names of the entries by key, by group. All groups are folded, except that of the chosen entry.
    """
    state = st.session_state
    with st.container(key=key.replace(" ", "-"), gap="small"):
        for group, names in groups.items():
            radio, is_open = make_state_key(key, group), state[key] in names
            set_widget_value(radio, state[key] if is_open else None)
            with st.expander(group, expanded=is_open):
                st.radio(
                    group, list(names), index=None, key=radio, format_func=names.__getitem__,
                    label_visibility="collapsed", on_change=_store_clicked_scheme, args=(key, radio),
                )  # fmt: skip


def draw_scheme_buttons(key: str, keys: Sequence[str], frequent: Sequence[str]) -> None:
    """Draw buttons to choose several schemes: frequent and chosen ones in a row, all of `keys` behind "More…"."""
    state = st.session_state
    row = list_frequent_schemes(keys, frequent, state[key])
    pills = make_state_key(key, FREQUENT_GROUP)
    set_widget_value(pills, [each for each in state[key] if each in row])
    st.pills(
        "Schemes", row, selection_mode="multi", key=pills, format_func=lambda each: SCHEMES[each].label,
        label_visibility="collapsed", disabled=is_locked(key),
        on_change=_store_several_schemes, args=(key, pills, row, None),
    )  # fmt: skip
    if len(row) < len(keys):
        with st.popover("More…", help="All schemes that can be compared here."):
            choose_schemes(key, keys)


def list_frequent_schemes(keys: Sequence[str], frequent: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """Return the schemes that `draw_scheme_buttons` shows as buttons: the frequent or chosen ones of `keys`."""
    return [each for each in keys if each in frequent or each in chosen]


def colour_scheme_buttons(key: str, row: Sequence[str], colours: Mapping[str, str]) -> None:
    """Colour the buttons of `draw_scheme_buttons(key, …)` by scheme key; `row` lists their schemes in order."""
    element = re.sub(r"[^a-zA-Z0-9_-]", "-", make_state_key(key, FREQUENT_GROUP))
    st.html(
        "<style>"
        + "".join(
            f".st-key-{element} button:nth-of-type({place}) {{ border: 2px solid {colours[each]} !important; "
            f"background: {to_rgba(colours[each])} !important; color: inherit !important; }}"
            for place, each in enumerate(row, 1)
            if each in colours
        )
        + "</style>"
    )


def choose_schemes(key: str, keys: Sequence[str], max_chosen: int | None = None) -> None:
    """Draw the picker of several of these schemes; the order of choice is kept.

    At `max_chosen` schemes no other can be added, and a line says so.
    """
    state, (common, rest) = st.session_state, split_common_schemes(keys, several=True)
    pills, menu = make_state_key(key, "common"), make_state_key(key, "more")
    full = max_chosen is not None and len(state[key]) >= max_chosen
    with st.container(key=key.replace(" ", "-"), gap="small"):
        set_widget_value(pills, [each for each in state[key] if each in common])
        st.pills(
            "Normalizations", common, selection_mode="multi", key=pills, format_func=_get_scheme_label,
            disabled=is_locked(key), on_change=_store_several_schemes, args=(key, pills, common, max_chosen),
        )  # fmt: skip
        state[menu] = [each for each in state[key] if each in rest]  # at each run: max_selections makes another widget
        st.multiselect(
            "More normalizations", rest, None, key=menu, format_func=format_menu_entry,
            placeholder=f"More… ({len(rest)})",
            label_visibility="collapsed", disabled=is_locked(key) or (full and not state[menu]), select_all=False,
            max_selections=len(state[menu]) or None if full else None,
            on_change=_store_several_schemes, args=(key, menu, rest, max_chosen),
        )  # fmt: skip
        if full:
            st.caption(f"At most {max_chosen}: take one out to choose another.")
            st.html(_CLOSED.format(key=key.replace(" ", "-")))


def make_state_key(key: str, part: str) -> str:
    """Return the session key of a part of the picker at `key`: "common" or "more"."""
    return f"{key} of {part}"


_CLOSED = "<style>.st-key-{key} [data-variant]:not([data-selected]) {{ opacity: 0.45; pointer-events: none; }}</style>"


def _store_clicked_scheme(key: str, part: str) -> None:
    """Store the clicked scheme as the choice; a click on the current choice changes nothing."""
    st.session_state[key] = st.session_state[part] or st.session_state[key]


def _store_menu_scheme(key: str, menu: str) -> None:
    """Store the scheme chosen in the menu; clearing the menu returns to the first common scheme."""
    st.session_state[key] = st.session_state[menu] or COMMON_SCHEMES[0]


def _store_several_schemes(key: str, part: str, members: Sequence[str], most: int | None) -> None:
    """Store the schemes chosen in one part of the picker; keep the others, and append new ones up to `most`."""
    picked, before = st.session_state[part], st.session_state[key]
    kept = [each for each in before if each not in members or each in picked]
    st.session_state[key] = [*kept, *(each for each in picked if each not in kept)][:most]


def find_scheme_group(key: str) -> str:
    """Return the group that a scheme has in the menu, one of `SCHEME_GROUPS`.

    >>> find_scheme_group("spectral"), find_scheme_group("dynamic-tanh")
    ('weights', 'without')
    """
    scheme = SCHEMES[key]
    if key not in NAMED_SCHEMES:
        return "own"
    if not scheme.fields:
        return "without"
    return "weights" if scheme.weight_part is not None else "activations"


def format_scheme_choice(key: str) -> str:
    """Format a scheme's label and its difference from similar ones: "Layer (channels) – C"."""
    return " – ".join(filter(None, [_get_scheme_label(key), summarize_scheme(SCHEMES[key])]))


def format_menu_entry(key: str) -> str:
    """Format a scheme's line in the menu, with its group for the search: "Weights: Spectral – ÷ σ₁"."""
    return f"{SCHEME_GROUPS[find_scheme_group(key)]}: {format_scheme_choice(key)}"


def _get_scheme_label(key: str) -> str:
    return SCHEMES[key].label
