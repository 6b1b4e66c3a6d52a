"""The values of a page, in its link and in the session: what a link may set, and the nearest valid value of that.

The link and the widgets hold the same values, `st.session_state[key]`. A link is read when a session starts with it,
and when the browser goes back or forward to it; it is written after every run. That each step back undoes one thing,
history.js sees to.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import Any, Literal, TypedDict

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from normviz.core.settings import Choice, Declaration, Integer, Real, Switch, get_declarations
from normviz.core.text import capitalize_first, typeset
from normviz.core.text import format_exact as format_exact
from normviz.describe.markdown import escape_markdown
from normviz.ui.sessions import get_current_session
from normviz.ui.unknown_names import describe_unknown_names, find_unknown_names, shorten
from normviz.web.components.toolbar import show_toolbar

View = dict[str, Any]
ReplacedValues = dict[str, tuple[Any, Any]]
"""By the name of a value that had to be replaced: what was given, and what it became."""


class PersistOptions(TypedDict):
    """What a widget is told, so that its value is kept also while it is not shown."""

    persist_state: Literal["session"]


PERSIST_STATE: PersistOptions = {"persist_state": "session"}


@dataclass(frozen=True)
class Param:
    """One value of a page.

    Attributes:
        key: in the session; its last word is the name in the link and in the view, so that two pages may have values
            of one name.
        default: the value that a link leaves out; None where `nearest` knows it.
        nearest: (text or value, the values before it) -> a valid value; raises ValueError where none is near.
        text: the value as a link has it.
        label: of its control, for notes; may depend on the view. By default its name.
        words: the value as the page writes it; by default as a link has it.
        why: (what was given, the view) -> why it cannot be, to be read after it; "" where it can; None: the usual.
        missing: (the view) -> what the value asks for and is not here, in a sentence; nothing where all is.
        declared: what is known of the value, where it is a declared one; given: (the view) -> what the declaration
            takes for the values before it.
    """

    key: str
    default: Any
    nearest: Callable[[Any, View], Any]
    text: Callable[[Any], str] = str
    label: str | Callable[[View], str] = ""
    words: Callable[[Any], str] | None = None
    why: Callable[[Any, View], str | None] = lambda given, view: None
    missing: Callable[[View], str] = lambda view: ""
    declared: Declaration | None = None
    given: Callable[[View], View] = lambda view: view

    @property
    def name(self) -> str:
        """In the link and in the view."""
        return self.key.rpartition(" ")[2]


@contextmanager
def sync_page_values(
    page: str,
    params: Sequence[Param],
    is_relevant: Callable[[View, str], bool],
    repair: Callable[[View], View] = lambda view: {},
) -> Iterator[View]:
    """A page's values, for the controls that are drawn inside: from the link before them, into the link after them.

    Notes on what had to be replaced follow. `has`: whether a value matters in a view; `repair` mends what is
    wrong between the values of a link.
    """
    params = (*params, PRESENTING_PARAM)

    def matters(view: View, name: str) -> bool:
        return name == PRESENTING_PARAM.name or is_relevant(view, name)

    view, notes = restore_values(page, params, matters, repair)
    presenting = view.pop(PRESENTING_PARAM.name)
    yield view
    relevant = partial(matters, view)
    store_values(page, params, view | {PRESENTING_PARAM.name: presenting}, relevant)
    show_toolbar(presenting, partial(reset_values, params), toggle_presentation)
    show_notes(page, params, view, notes, relevant)


def reset_values(params: Sequence[Param]) -> None:
    """Set a page's values back to their defaults, as if it were come to for the first time."""
    view, _ = clean_values(params, {})
    st.session_state.update({p.key: view[p.name] for p in params if p is not PRESENTING_PARAM})
    st.session_state["page"] = None


def toggle_presentation() -> None:
    """Begin a presentation, or end it."""
    st.session_state[PRESENTING_PARAM.key] = not st.session_state[PRESENTING_PARAM.key]


def get_current_theme() -> str:
    """The browser's theme, "light" or "dark", by which figures choose their colours."""
    return st.context.theme.type or "light"


def is_phone() -> bool:
    """Return True if the browser says that it is a phone's: its sidebar covers the page."""
    return "Mobi" in st.context.headers.get("User-Agent", "")


def is_arriving(page: str) -> bool:
    """Whether the session comes to this page now, from another one or as its first; asked before it is opened."""
    return st.session_state.get("page") != page


def trust_link(link: Mapping[str, str]) -> None:
    """Say that the page leads to another one with this link, which is right there, whatever was set before."""
    st.session_state.setdefault(TRUSTED_LINKS_KEY, set()).add(frozenset(link.items()))


def is_history_step() -> bool:
    """Whether this run came of a step back or forward in the browser's history."""
    run = get_script_run_ctx()
    return bool(run and run.is_history_navigation)


def restore_values(
    page: str, params: Sequence[Param], is_relevant: Callable[[View, str], bool], repair: Callable[[View], View]
) -> tuple[View, ReplacedValues]:
    """Fill the session with valid values, from the link or from the session itself; and notes on those replaced.

    The link is right when the session starts with it, after a step in the browser's history, and where the page before
    led to it; at any other time it may be the address of before, which a busy browser still sends, or none, from
    another page. What means nothing in the view of a link (`has`) was left out there, and stays as it was set. `repair`
    mends what is wrong between the values of a link; between those of widgets it is for the page to say.
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
    view, notes = clean_values(params, link if moved else held)
    if moved:
        view, _ = clean_values(
            params, {name: value for name, value in held.items() if not is_relevant(view, name)} | link
        )
        view, _ = clean_values(params, view | repair(view))
        notes = _notes(params, link, view)
    for p in params:
        # Set anew on another page: its widget of the same key would start from its own default.
        if left or p.key not in there or there[p.key] != view[p.name]:
            state[p.key] = view[p.name]
    return view, notes


def show_notes(
    page: str, params: Sequence[Param], view: View, notes: ReplacedValues, relevant: Callable[[str], bool]
) -> None:
    """Say what had to be replaced or is ignored, until that is read, or the value is another.

    Over the page, in a container that is there even when nothing is said: what stands below it must not move, or it
    would be mounted anew, and the cube lose its camera.
    """
    state, held, read = st.session_state, f"{page} replaced", f"{page} read"
    known = {param.name: param for param in params if relevant(param.name)}
    waiting = {name: note for name, note in (state.get(held, {}) | notes).items() if view[name] == note[1]}
    told = {name: format_repair_note(known[name], given, view) for name, (given, _) in waiting.items() if name in known}
    state[held] = {name: note for name, note in waiting.items() if told.get(name, "later")}
    lasting = [param.missing(view) for param in known.values()]
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
    """Say in Markdown what was given and what it became: "Groups G: 4 does not divide C = 6; 3 is used."

    Nothing where what was given is no longer wrong.
    """
    value, why = view[param.name], param.why(given, view)
    if why == "":
        return ""
    label = (
        param.label(view) if callable(param.label) else param.label or capitalize_first(param.name.replace("_", " "))
    )
    shown = escape_markdown(_given(given))
    wrong = "nothing was chosen" if given in ("", [], ()) else f"{shown} {why or _reason(given, value)}"
    return f"{label}: {wrong}; {_words(param, value)} is used."


def _given(given: Any) -> str:
    """What was given, in at most 40 characters."""
    if isinstance(given, list | tuple):
        return shorten(", ".join(map(str, given)))
    return shorten(str(given) if _number(given) is None else str(given).replace("-", "−"))


def _reason(given: Any, value: Any) -> str:
    """Why it cannot be, where nothing else is known of it."""
    number, taken = _number(given), _number(value)
    if taken is None or isinstance(value, bool):
        return "is not one of the choices"
    if number is None or not isfinite(number):
        return "is not a number"
    if isinstance(value, int) and round(number) == value:
        return "is not a whole number"
    return "is too small" if number < taken else "is too large"


def _words(param: Param, value: Any) -> str:
    """A value as the page writes it, in Markdown: the text of one without words may be what a visitor typed."""
    if param.words is not None:
        return param.words(value)
    number = _number(value)
    return escape_markdown(shorten(param.text(value))) if number is None else typeset(number, 12)


def _number(value: Any) -> float | None:
    try:
        return float(value)
    except (ValueError, TypeError, OverflowError):
        return None


def clean_values(params: Sequence[Param], raw: Mapping[str, Any]) -> tuple[View, ReplacedValues]:
    """Every value made valid, in the order of the params; and a note for each that had to be replaced."""
    view: View = {}
    for param in params:
        try:
            view[param.name] = param.nearest(raw.get(param.name, param.default), view)
        except (ValueError, TypeError, OverflowError):
            view[param.name] = param.nearest(param.default, view)
    return view, _notes(params, raw, view)


def store_values(page: str, params: Sequence[Param], view: View, relevant: Callable[[str], bool]) -> None:
    """Write what differs from the default, and matters, into the link; and remember all of it."""
    state, now = st.session_state, st.query_params.to_dict()
    others = {key: value for key, value in now.items() if key not in {p.name for p in params}}
    defaults, _ = clean_values(params, {})
    written = (p for p in params if relevant(p.name) and view[p.name] != defaults[p.name])
    link = others | {p.name: p.text(view[p.name]) for p in written}
    if link != now:
        st.query_params.from_dict(link)
    state[f"{page} view"] = view


def draw_value_slider(
    key: str, label: str, options: Sequence[float], value: float, format_value: Callable[[float], str] = typeset
) -> None:
    """A slider over some values and the one that there is, which may be a link's; `key`: in the session."""
    st.select_slider(label, sorted({*options, value}), key=key, **PERSIST_STATE, format_func=format_value)


def draw_segments(
    key: str, label: str, names: Mapping[str, str], options: Sequence[str] | None = None, **widget_options: Any
) -> None:
    """One of some names beside each other, under a label that is read out and not seen; `key`: in the session.

    `options`: those of the names that there are now, by default all; `used`: what to do when another one is chosen.
    """
    st.segmented_control(
        label, list(names) if options is None else options, key=key, **PERSIST_STATE, required=True,
        format_func=names.__getitem__, label_visibility="collapsed", **widget_options,
    )  # fmt: skip


def create_params(kind: type, prefix: str = "", name_prefix: str = "") -> tuple[Param, ...]:
    """The declared values of a dataclass as those of a page.

    `prefix`: of their keys in the session; `under`: of their names in the link and in the view, where a page has
    several such dataclasses.
    """
    given = partial(extract_values, kind, name_prefix) if name_prefix else lambda view: view
    return tuple(_declared(prefix + name_prefix, each, given) for each in get_declarations(kind).values())


def extract_values(kind: type, name_prefix: str, view: View) -> View:
    """Of a view the values of one dataclass, by their own names; `under`: as in `params`."""
    return {name: view[name_prefix + name] for name in get_declarations(kind) if name_prefix + name in view}


def _declared(prefix: str, each: Declaration, given: Callable[[View], View]) -> Param:
    return Param(
        prefix + each.name, None, lambda value, view: each.nearest(value, given(view)), each.text, words=each.words,
        label=(lambda view: each.title(given(view))) if each.label else "", declared=each, given=given,
    )  # fmt: skip


def make_integer_fitter(lo: int, hi: int) -> Callable[[Any, View], int]:
    """Whole numbers from lo to hi."""
    return Integer(lo, lo, hi).fit


def make_real_fitter(lo: float, hi: float) -> Callable[[Any, View], float]:
    """Numbers from lo to hi."""
    return Real(lo, lo, hi).fit


def make_choice_fitter(options: Sequence[str] | Callable[[Any], Sequence[str]]) -> Callable[[Any, View], str]:
    """One of some words; a misspelt one becomes the most alike."""
    return Choice("", options).fit


def create_switch_param(key: str, default: bool) -> Param:
    """A value that is on or off; in a link 1 or 0."""
    declared = Switch(default)
    return Param(key, default, declared.fit, declared.text)


TRUSTED_LINKS_KEY = "leads"
"""Where the session holds the links that a page leads to."""

PRESENTING_PARAM = create_switch_param("present", False)
"""Whether pages are shown to a class; it follows from page to page."""


def _notes(params: Sequence[Param], raw: Mapping[str, Any], view: View) -> ReplacedValues:
    """A note for each given value that had to be replaced."""
    replaced = (p for p in params if p.name in raw and not _same(raw[p.name], view[p.name], p))
    return {p.name: (raw[p.name], view[p.name]) for p in replaced}


def _same(given: Any, value: Any, param: Param) -> bool:
    """Whether a value is what was given: also as text, in another order, or as a number that is spelt otherwise."""
    if given in (value, param.text(value)):
        return True
    try:
        if isinstance(given, list):  # of a widget that lists what was picked in the order of the clicks
            return sorted(given) == sorted(value)
        return float(given) == float(param.text(value))
    except (ValueError, TypeError):
        return False
