"""The values of a page, in its link and in the session, and the nearest valid values of a link.

The link and the widgets hold the same values, `st.session_state[key]`. A link is read when a session starts with it,
and after a step in the browser's history; it is written after every run. history.js makes each step undo one change.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import isfinite
from types import MappingProxyType
from typing import Any

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from normviz.core.settings import Choice, CustomValue, Declaration, Integer, Switch, get_declarations
from normviz.core.text import capitalize_first, typeset
from normviz.core.text import format_exact as format_exact
from normviz.describe.interface_words import DEFAULT_LANGUAGE, LANGUAGES
from normviz.describe.markdown import escape_markdown
from normviz.ui.locks import LOCKED_KEY, make_widget_arguments
from normviz.ui.restriction_panels import make_uncovered_key, show_restrictions
from normviz.ui.restrictions import LOCK_LABELS, RESTRICTION_NAMES, declare_restrictions, expand_locks, list_lock_names
from normviz.ui.sessions import get_current_session
from normviz.ui.share_dialog import request_share_dialog, show_requested_share_dialog
from normviz.ui.unknown_names import describe_unknown_names, find_unknown_names, shorten_text
from normviz.web.components.toolbar import show_toolbar

View = dict[str, Any]
ReplacedValues = dict[str, tuple[Any, Any]]
"""Replaced values by name: the given value and its replacement."""


@dataclass(frozen=True)
class Param:
    """Page value: a declared setting, its name in the URL query, and its key in the session.

    Attributes:
        key: in the session; its last word is the name in the link and in the view.
        declared: its declaration.
        given: (view) -> the values that the declaration depends on.
    """

    key: str
    declared: Declaration
    given: Callable[[View], View] = lambda view: view

    @property
    def name(self) -> str:
        """Return the name of the value in the URL query and in a view."""
        return self.key.rpartition(" ")[2]

    def resolve_label(self, view: View) -> str:
        """Return the label of the value's control in this view, or the name of a value without label."""
        return self.declared.resolve_label(self.given(view)) or capitalize_first(self.name.replace("_", " "))

    def find_nearest_or_default(self, value: Any, view: View) -> Any:
        """Return the valid value nearest to a value or its text; the default for None. Raises ValueError."""
        return self.declared.find_nearest_or_default(value, self.given(view))

    def format_for_link(self, value: Any) -> str:
        """Return the value as the text that stands in a URL query."""
        return self.declared.format_for_link(value)


@contextmanager
def sync_page_values(
    page: str,
    params: Sequence[Param],
    is_relevant: Callable[[View, str], bool],
    repair: Callable[[View], View] = lambda view: {},
) -> Iterator[View]:
    """Read a page's values from its link, corrected by `repair`, yield them to the controls, then write them back.

    Notes on replaced values follow. `is_relevant`: True if a value matters in a view; `repair(view)` returns new values
    for those of a link that do not fit each other.
    """
    every = (*params, *create_restriction_params(page, params), *FRAME_PARAMS)

    def matters_in_link(view: View, name: str) -> bool:  # restrictions do not: a link without them leaves them
        return name in FRAME_VALUES or (name not in RESTRICTION_NAMES and is_relevant(view, name))

    view, notes = restore_values(page, every, matters_in_link, repair)
    around = {param.name: view.pop(param.name) for param in every[len(params) :]}
    lock_labels = label_locks(params, view, is_relevant)
    show_restrictions(page, view, around, lock_labels)
    yield view

    def matters(name: str) -> bool:
        return name in around or is_relevant(view, name)

    store_values(page, every, view | around, matters)
    reset = partial(reset_values, params, st.session_state.get(RESET_LINK_KEY, {}))
    show_toolbar(
        around[PRESENTING_PARAM.name], request_share_dialog, reset, toggle_presentation, around[LANGUAGE_PARAM.name]
    )
    show_requested_share_dialog(page, view, around, lock_labels)
    show_notes(page, every, view | around, notes, matters)


def reset_values(params: Sequence[Param], link: Mapping[str, str] = MappingProxyType({})) -> None:
    """Set a page's values in the session to those of URL parameters `link`, and all others to their defaults."""
    view, _ = clean_values(params, link)
    st.session_state.update({p.key: view[p.name] for p in params})
    st.session_state["page"] = None


def toggle_presentation() -> None:
    """Switch the presentation view, with larger pictures, on or off."""
    st.session_state[PRESENTING_PARAM.key] = not st.session_state[PRESENTING_PARAM.key]


def get_language() -> str:
    """Return the key of the language of lessons and classes, even before the page's values are restored."""
    state = st.session_state
    is_held = LANGUAGE_PARAM.key in state and not is_history_step()
    given = state[LANGUAGE_PARAM.key] if is_held else st.query_params.get(LANGUAGE_PARAM.name)
    return str(clean_values([LANGUAGE_PARAM], {LANGUAGE_PARAM.name: given})[0][LANGUAGE_PARAM.name])


def format_mode_and_language() -> dict[str, str]:
    """Return presentation mode and language, where not the defaults, as URL parameters for links to other pages."""
    values = {PRESENTING_PARAM: bool(st.session_state.get(PRESENTING_PARAM.key)), LANGUAGE_PARAM: get_language()}
    return {p.name: p.format_for_link(value) for p, value in values.items() if value != p.declared.default}


def get_current_theme() -> str:
    """Return the browser's theme, "light" or "dark"."""
    return st.context.theme.type or "light"


def is_phone() -> bool:
    """Return True if the browser runs on a phone, where the sidebar covers the page."""
    return "Mobi" in st.context.headers.get("User-Agent", "")


def has_just_come_to_page(page: str) -> bool:
    """Return True if the session showed another page before this run; call it before `sync_page_values`."""
    return st.session_state.get("page") != page


def trust_link(link: Mapping[str, str]) -> None:
    """Register the URL parameters of a link, so that the target page uses them instead of the session's values."""
    st.session_state.setdefault(TRUSTED_LINKS_KEY, set()).add(frozenset(link.items()))


def is_history_step() -> bool:
    """Return True if this run was caused by the browser's back or forward button."""
    run = get_script_run_ctx()
    return bool(run and run.is_history_navigation)


def restore_values(
    page: str, params: Sequence[Param], is_relevant: Callable[[View, str], bool], repair: Callable[[View], View]
) -> tuple[View, ReplacedValues]:
    """Fill the session with valid values of the link (corrected by `repair`) or its own; return all and the replaced.

    The link is trusted when the session starts with it, after a step in the browser's history, and when the page before
    registered it. At any other time it may be an outdated address from a busy browser, or missing. Values that are not
    relevant in a link's view are omitted from it and keep their setting. `repair`, as in `sync_page_values`, applies to
    links only.
    """
    state, link = st.session_state, st.query_params.to_dict()
    there = state.to_dict()  # all at once: Streamlit takes its time over every value
    last = there.get(f"{page} view", {})  # also remembers the values of widgets that are not shown now
    held = last | {p.name: there[p.key] for p in params if p.key in there}
    left, state["page"] = state.get("page", page) != page, page
    get_current_session().page = page
    led = frozenset(link.items()) in state.pop(TRUSTED_LINKS_KEY, ()) and left
    moved = led or is_history_step() or (not last and any(p.name in link for p in params))
    if moved or not last:
        state[f"{page} unknown"] = find_unknown_names(link, {p.name for p in params})
    locks_anew = moved and "lock" in link
    if not locks_anew:
        link |= state.get(f"{page} locked", {})
    view, notes = clean_values(params, link if moved else held)
    if moved:
        view, _ = clean_values(
            params, {name: value for name, value in held.items() if not is_relevant(view, name)} | link
        )
        view, _ = clean_values(params, view | repair(view))
        notes = _find_replaced_values(params, link, view)
    view = _keep_locked_values(page, params, view, locks_anew)
    if moved and "cover" in link:
        state[make_uncovered_key(page)] = False
    for p in params:
        # Set anew on another page: its widget of the same key would start from its own default.
        if left or p.key not in there or there[p.key] != view[p.name]:
            state[p.key] = view[p.name]
    return view, notes


def _keep_locked_values(page: str, params: Sequence[Param], view: View, is_new: bool) -> View:
    """Return the view with locked values as they were when the link locked them; `is_new`: the link is new.

    A preset, a click into a figure or a link within the app may have set others.
    """
    state, key = st.session_state, f"{page} locked"
    held = {} if is_new else state.get(key, {})
    locked = [name for name in expand_locks(view.get("lock", ())) if name in view]
    state[key] = {name: held.get(name, view[name]) for name in locked}
    state[LOCKED_KEY] = frozenset(param.key for param in params if param.name in locked)
    return clean_values(params, view | state[key])[0] if locked else view


def create_restriction_params(page: str, params: Sequence[Param]) -> tuple[Param, ...]:
    """Return the `Param`s of a page's restrictions (only, hide, lock, cover); pages share the value of "hide"."""
    declared = declare_restrictions(page, [param.name for param in params])
    return tuple(Param(name if name == "hide" else f"{page} {name}", each) for name, each in declared.items())


def label_locks(params: Sequence[Param], view: View, is_relevant: Callable[[View, str], bool]) -> dict[str, str]:
    """Map each name that the value "lock" of a link can list in this view to its label."""
    by_name = {param.name: param for param in params}
    return {
        name: LOCK_LABELS.get(name) or by_name[name].resolve_label(view)
        for name in list_lock_names(by_name)
        if is_relevant(view, expand_locks([name])[0])
    }


def show_notes(
    page: str, params: Sequence[Param], view: View, notes: ReplacedValues, relevant: Callable[[str], bool]
) -> None:
    """Show notes on replaced or ignored values until they are dismissed or the value changes.

    The container exists even without notes: if the content below moved, it would be mounted again, and the cube would
    lose its camera.
    """
    state, held, read = st.session_state, f"{page} replaced", f"{page} read"
    known = {param.name: param for param in params if relevant(param.name)}
    waiting = {name: note for name, note in (state.get(held, {}) | notes).items() if view[name] == note[1]}
    told = {name: format_repair_note(known[name], given, view) for name, (given, _) in waiting.items() if name in known}
    state[held] = {name: note for name, note in waiting.items() if told.get(name, "later")}
    lasting = [param.declared.missing(view) for param in known.values()]
    lasting += describe_unknown_names(state[f"{page} unknown"], known, [param.name for param in params])
    lines = [line for line in (*lasting, *told.values()) if line and line not in state.get(read, ())]

    def dismiss() -> None:
        state.update({held: {}, read: lasting})

    with st.container(key="replaced"):
        if lines:
            with st.container(horizontal=True, vertical_alignment="center", gap="small"):
                st.markdown("  \n".join(lines))
                st.button("OK", key="replaced read", on_click=dismiss)


def format_repair_note(param: Param, given: Any, view: View) -> str:
    """Return a note on a replaced value: "Groups G: 4 does not divide C = 6; 3 is used."; "" if none is needed."""
    value, why = view[param.name], param.declared.why(given, view)
    if why == "":
        return ""
    label = param.resolve_label(view)
    shown = escape_markdown(_format_raw_value(given))
    wrong = "nothing was chosen" if given in ("", [], ()) else f"{shown} {why or _explain_invalid_value(given, value)}"
    return f"{label}: {wrong}; {_format_value(param, value)} is used."


def _format_raw_value(raw_value: Any) -> str:
    """Return the text of a value from a link, cut to 40 characters."""
    if isinstance(raw_value, list | tuple):
        return shorten_text(", ".join(map(str, raw_value)))
    return shorten_text(str(raw_value) if _parse_number(raw_value) is None else str(raw_value).replace("-", "−"))


def _explain_invalid_value(raw_value: Any, value: Any) -> str:
    """Return why a value of the link is invalid, derived from the valid `value` that replaces it."""
    number, taken = _parse_number(raw_value), _parse_number(value)
    if taken is None or isinstance(value, bool):
        return "is not one of the choices"
    if number is None or not isfinite(number):
        return "is not a number"
    if isinstance(value, int) and round(number) == value:
        return "is not a whole number"
    return "is too small" if number < taken else "is too large"


def _format_value(param: Param, value: Any) -> str:
    """Return a value as the page shows it, as escaped Markdown, since a visitor may have typed it."""
    declared = param.declared
    typed = isinstance(declared, CustomValue) and declared.shown is None
    return escape_markdown(shorten_text(declared.format_for_link(value))) if typed else declared.format_for_page(value)


def _parse_number(value: Any) -> float | None:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return None


def clean_values(params: Sequence[Param], raw: Mapping[str, Any]) -> tuple[View, ReplacedValues]:
    """Return the valid values nearest to `raw` by name, and which given values were replaced."""
    view: View = {}
    for param in params:
        try:
            view[param.name] = param.find_nearest_or_default(raw.get(param.name), view)
        except (ValueError, TypeError, OverflowError):
            view[param.name] = param.find_nearest_or_default(None, view)
    return view, _find_replaced_values(params, raw, view)


def store_values(page: str, params: Sequence[Param], view: View, relevant: Callable[[str], bool]) -> None:
    """Store a page's values in the session, and relevant ones that are not defaults in the URL."""
    state, now = st.session_state, st.query_params.to_dict()
    others = {key: value for key, value in now.items() if key not in {p.name for p in params}}
    defaults, _ = clean_values(params, {})
    written = (p for p in params if relevant(p.name) and view[p.name] != defaults[p.name])
    link = others | {p.name: p.format_for_link(view[p.name]) for p in written}
    if link != now:
        st.query_params.from_dict(link)
    state[f"{page} view"] = view


def draw_value_slider(key: str, label: str, options: Sequence[float], value: float) -> None:
    """Draw a slider over `options` and the current `value`, which a link may set; `key` is its session key."""
    st.select_slider(label, sorted({*options, value}), **make_widget_arguments(key), format_func=typeset)


def draw_segments(
    key: str, label: str, labels: Mapping[str, str], options: Sequence[str] | None = None, is_labelled: bool = False,
    **widget_options: Any,
) -> None:  # fmt: skip
    """Draw a choice of one option as a row of buttons, with their `labels` by option; `key` is its session key.

    `options`: the available ones, by default all. Unless `is_labelled`, `label` is for screen readers only.
    """
    st.segmented_control(
        label, list(labels) if options is None else options, **make_widget_arguments(key), required=True,
        format_func=labels.__getitem__, label_visibility="visible" if is_labelled else "collapsed", **widget_options,
    )  # fmt: skip


def create_params(
    declared: type | Mapping[str, Declaration], prefix: str = "", name_prefix: str = ""
) -> tuple[Param, ...]:
    """Return a `Param` for each setting; `prefix` starts its session key, `name_prefix` its name in link and view.

    `declared`: a dataclass, or a dict of declarations by name.
    """
    found = get_declarations(declared) if isinstance(declared, type) else declared
    given = partial(_strip_prefix, list(found), name_prefix) if name_prefix else lambda view: view
    return tuple(Param(prefix + name_prefix + name, each, given) for name, each in found.items())


def extract_values(kind: type, name_prefix: str, view: View) -> View:
    """Return the values of the dataclass `kind` among a page's values, without `name_prefix` in their names."""
    return _strip_prefix(get_declarations(kind), name_prefix, view)


def _strip_prefix(names: Iterable[str], prefix: str, view: View) -> View:
    return {name: view[prefix + name] for name in names if prefix + name in view}


def make_integer_fitter(lo: int, hi: int) -> Callable[[Any, View], int]:
    """Return a function (value, view) that rounds and clips a value to the integers from lo to hi."""
    return Integer(lo, lo, hi).find_nearest_value


def make_choice_fitter(options: Sequence[str] | Callable[[Any], Sequence[str]]) -> Callable[[Any, View], str]:
    """Return a function (value, view) that returns the option most similar to a text."""
    return Choice("", options).find_nearest_value


RESET_LINK_KEY = "reset link"
"""Session key of the link whose values "Reset" sets, as a lesson's step gives it."""

TRUSTED_LINKS_KEY = "leads"
"""Session key of the links registered by `trust_link`."""

PRESENTING_PARAM = Param("present", Switch(False))
"""The value for presentation mode, shared by all pages."""

LANGUAGE_PARAM = Param("lang", Choice(DEFAULT_LANGUAGE, LANGUAGES, label="Language"))
"""The language of lessons and classes, shared by all pages."""

FRAME_PARAMS = (PRESENTING_PARAM, LANGUAGE_PARAM)
FRAME_VALUES = tuple(param.name for param in FRAME_PARAMS)
"""The values of what stands around every page, and their names."""


def _find_replaced_values(params: Sequence[Param], raw: Mapping[str, Any], view: View) -> ReplacedValues:
    """Map the names of given values that differ from the valid ones in `view` to what was given."""
    replaced = (p for p in params if p.name in raw and not _is_same_value(raw[p.name], view[p.name], p))
    return {p.name: (raw[p.name], view[p.name]) for p in replaced}


def _is_same_value(raw_value: Any, value: Any, param: Param) -> bool:
    """Return True if a value equals the given one, perhaps as text, in another order or number format."""
    if raw_value in (value, param.format_for_link(value)):
        return True
    try:
        if isinstance(raw_value, list):  # of a widget that lists what was picked in the order of the clicks
            return sorted(raw_value) == sorted(value)
        return float(raw_value) == float(param.format_for_link(value))
    except (ValueError, TypeError):
        return False
