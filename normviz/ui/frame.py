"""The frame of every page: menu, heading, takeaway, links to other pages."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from normviz.core.errors import InvalidInput
from normviz.describe.interface_words import LANGUAGES
from normviz.describe.markdown import escape_markdown
from normviz.ui.link import (
    LANGUAGE_PARAM,
    PRESENTING_PARAM,
    View,
    format_mode_and_language,
    get_current_theme,
    get_language,
    trust_link,
)
from normviz.ui.page_texts import (
    PAGE_TEXTS,
    PageText,
    PanelText,
    find_next_page,
    find_previous_page,
    translate_page_text,
)

FORMER_PAGES = ("readings",)
"""The scripts of former pages, which only redirect."""


def get_script_path(page: str) -> str:
    """Return the path of a page's script, relative to the app's folder: "pages/NAME.py"."""
    return f"pages/{page}.py"


def draw_page_link(address: str, label: str, icon: str = "") -> None:
    """Draw a link to a view of another page, such as "/compare?schemes=layer", followed by the page's title."""
    split = urlsplit(address)
    link = dict(parse_qsl(split.query, keep_blank_values=True)) | format_mode_and_language()
    trust_link(link)
    page = split.path.strip("/") or PAGE_TEXTS[0].page
    title = next(page_text.title for page_text in PAGE_TEXTS if page_text.page == page)
    st.page_link(get_script_path(page), label=f"{label} **{title}**", icon=icon or None, query_params=link)


def show_menu() -> tuple[Page, PageText | None]:
    """Show the menu of pages; return the open page and its text, None for a former page, which redirects."""
    sections: dict[str, list[Page]] = {}
    for each in PAGE_TEXTS:
        default = each is PAGE_TEXTS[0]
        sections.setdefault(each.section, []).append(
            st.Page(get_script_path(each.page), title=each.title, default=default)
        )
    for former in FORMER_PAGES:
        sections[PAGE_TEXTS[0].section].append(st.Page(get_script_path(former), title=former, visibility="hidden"))
    page = st.navigation(sections, position="top")
    page_text = next((page_text for page_text in PAGE_TEXTS if page_text.title == page.title), None)
    if page_text:
        st.html(_MARKED_SECTION.format(place=list(sections).index(page_text.section) + 1))
    return page, page_text


_MARKED_SECTION = (
    '<style>[data-testid="stTopNav"] > :nth-child({place}) button {{ '
    "border-radius: 0; box-shadow: inset 0 -3px light-dark(#0072b2, #56b4e9); }}"
    '[data-testid="stTopNav"] > :nth-child({place}) p {{ font-weight: 700; }}</style>'
)
"""Mark of the section of the open page; within a section Streamlit marks the page."""


def switch_to_page(page: str, link: Mapping[str, str]) -> None:
    """Open the page with this script name, with a link's query parameters and those of `format_mode_and_language`."""
    link = {**format_mode_and_language(), **link}
    trust_link(link)
    st.switch_page(get_script_path(page), query_params=link)


def show_language_choice() -> None:
    """Show a button for every other language of lessons and classes."""

    def choose(language: str) -> None:
        st.session_state[LANGUAGE_PARAM.key] = language

    with st.container(horizontal=True, horizontal_alignment="right", gap="small", key="languages"):
        for language, name in LANGUAGES.items():
            if language != get_language():
                st.button(
                    name, key=f"language {language}", type="tertiary", icon=":material/translate:",
                    on_click=choose, args=(language,), help="Translates lessons and classes, not the other pages.",
                )  # fmt: skip


@dataclass
class PageFrame:
    """Frame of the running page: its texts, the place of its heading, and the texts shown so far."""

    page_text: PageText
    header: DeltaGenerator
    words: PanelText | None = None


_FRAME: ContextVar[PageFrame | None] = ContextVar("frame", default=None)


def show_heading(panel: str) -> None:
    """Show the heading of a panel (or of the page) now, and its takeaway at the end of the page.

    Does nothing for a page without a frame.
    """
    frame = _FRAME.get()
    if frame is not None:
        frame.words = words = frame.page_text.panels.get(panel, frame.page_text)
        first = f"\n\n**Try first:** {words.first}" if words.first else ""
        frame.header.markdown(f"# {words.question}\n{words.why}{first}")


@contextmanager
def frame_page(page_text: PageText) -> Iterator[None]:
    """Show the heading of `page_text`, what the `with` block draws, and the takeaway, even if the block stops early."""
    frame = PageFrame(page_text, st.container(key="story"))
    token = _FRAME.set(frame)
    if page_text.why and not page_text.panels:
        show_heading("")
    try:
        with st.container():  # however much a page shows, what follows stays the same element
            yield
    finally:
        if page_text.why and frame.words is None:
            show_heading("")
        _FRAME.reset(token)
        with st.container(key="takeaway"):
            st.markdown(f"**{page_text.takeaway_label}** {(frame.words or page_text).takeaway or page_text.takeaway}")
            after = translate_page_text(find_next_page(page_text), get_language())
            st.page_link(
                get_script_path(after.page),
                label=f"**{page_text.next_label} {after.question}**",
                icon=":material/arrow_forward:",
            )
            for related, words in page_text.see.items():
                st.page_link(get_script_path(related), label=words)
        if st.session_state.get(PRESENTING_PARAM.key):
            with st.container(key="turns"):  # unseen: what the keys of a presentation press
                for each in (find_previous_page(page_text), after):
                    st.page_link(get_script_path(each.page), label=each.title)


def show_view(show: Callable[[View, str], None], view: View) -> None:
    """Call `show` with a page's values and the browser's theme; show its error instead if it raises InvalidInput."""
    with st.container():
        try:
            show(view, get_current_theme())
        except InvalidInput as error:
            show_error(error)


def show_error(error: object) -> None:
    """Show the message of an error, escaped since it may quote a link or a file."""
    st.error(escape_markdown(error))
