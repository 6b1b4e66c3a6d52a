"""Checks of the links in lessons: each leads to a page of the app, whose values they set."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import normviz
from normviz.classroom.lessons.lesson import LESSON_PARAM, LessonPlace, LessonStep
from normviz.core.text import join_words
from normviz.ui.link import PRESENTING_PARAM, Param, clean_values, format_repair_note
from normviz.ui.page_texts import PAGE_TEXTS
from normviz.ui.restrictions import declare_restrictions
from normviz.ui.unknown_names import find_unknown_names, shorten_text

TOPIC_FOLDERS = {"tensor_lab": "lab", "identities": "same", "invariance": "table1"}
"""Folders of topics with another name than their page."""

LESSON_PAGES = tuple(text.page for text in PAGE_TEXTS if text.section != "Teach")
"""The pages that a lesson may open."""


def split_page_link(link: str) -> tuple[str, dict[str, str]]:
    """Split a link to a page into the name of the page's script and the values.

    >>> split_page_link("/compare?schemes=batch")
    ('compare', {'schemes': 'batch'})
    """
    parts = urlsplit(link)
    return parts.path.strip("/") or PAGE_TEXTS[0].page, dict(parse_qsl(parts.query, keep_blank_values=True))


def split_step_link(step: LessonStep, is_answered: bool) -> tuple[str, dict[str, str], list[str]]:
    """Return page, query parameters and hidden parts of a step's `reveal` link if answered (and given), else of `link`.

    By default, one figure is left; before the answer, it stands without headline and numbers.
    """
    page, values = split_page_link((is_answered and step.reveal) or step.link)
    hidden = values.pop("hide", "sidebar,controls,tabs,text,more" + ("" if is_answered else ",answer"))
    return page, values, declare_restrictions(page, ())["hide"].find_nearest_value(hidden, {})


def make_step_link(step: LessonStep, place: LessonPlace | None = None) -> str:
    """Return the link to a step at a place in its lesson, such as "/compare?schemes=batch&lesson=batch-or-layer.1".

    Without a place: the link of the step's page, with all its parts.
    """
    page, values, _ = split_step_link(step, place is not None and place.answer is not None)
    values |= {} if place is None else {LESSON_PARAM: place.format_for_link()}
    return f"/{'' if page == PAGE_TEXTS[0].page else page}?{urlencode(values, safe=',')}"


def describe_link_mistakes(link: str) -> list[str]:
    """List in sentences what is wrong with a link to a page: its address, a name, a value; [] if nothing is."""
    try:
        parts = urlsplit(link)
    except ValueError:
        return [f"{shorten_text(link)!r} is not a link."]
    page, values = split_page_link(link)
    address = "/" if page == PAGE_TEXTS[0].page else f"/{page}"
    if parts.scheme or parts.netloc or parts.fragment or page not in LESSON_PAGES or parts.path != address:
        pages = join_words(["/", *(f"/{each}" for each in LESSON_PAGES[1:])])
        return [f"{shorten_text(link)!r} is not a page of the app; a link begins with {pages}."]
    params = list_page_params(page)
    names = [*(param.name for param in params), PRESENTING_PARAM.name]
    unknown = [name for name in values if name == LESSON_PARAM or find_unknown_names([name], names)]
    mistakes = [f"{shorten_text(name)!r} is not a setting of the page." for name in unknown]
    view, replaced = clean_values(params, values)
    notes = [format_repair_note(param, replaced[param.name][0], view) for param in params if param.name in replaced]
    return [*mistakes, *(note.replace("\\", "") for note in notes if note)]


def canonicalize_values(page: str, values: Mapping[str, str]) -> dict[str, str]:
    """Return URL parameters as the page itself would write them, so that the browser's history has one entry.

    >>> canonicalize_values("tensor_lab", {"n": "4", "scheme": "layer"})
    {'scheme': 'layer'}
    """
    state = import_page_state(page)
    if state is None:
        return dict(values)
    params: tuple[Param, ...] = state.PARAMS
    (view, _), (defaults, _) = clean_values(params, values), clean_values(params, {})
    changed = (each for each in params if view[each.name] != defaults[each.name] and state.is_relevant(view, each.name))
    others = {name: text for name, text in values.items() if name not in view}
    return others | {each.name: each.format_for_link(view[each.name]) for each in changed}


def list_page_params(page: str) -> tuple[Param, ...]:
    """Return the `Param`s of a page, given by the name of its script."""
    state = import_page_state(page)
    return () if state is None else state.PARAMS


def import_page_state(page: str) -> Any:
    """Import the module with the values of a page, given by the name of its script; None if the page has none."""
    folder = TOPIC_FOLDERS.get(page, page)
    if not Path(normviz.__file__).with_name("topics").joinpath(folder, "state.py").exists():
        return None
    with silence_warnings():
        return import_module(f"normviz.topics.{folder}.state")


@contextmanager
def silence_warnings() -> Iterator[None]:
    """Suppress Streamlit's warnings in the `with` block; without a server it warns of every cache."""
    before = logging.root.manager.disable
    logging.disable(max(before, logging.WARNING))
    try:
        yield
    finally:
        logging.disable(before)
