"""What stands around every page: its question above, its takeaway and the ways on below."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator
from streamlit.navigation.page import Page

from normviz.core.errors import InvalidInput
from normviz.describe.markdown import escape_markdown
from normviz.ui.link import PRESENTING, View, current_theme, trust_link
from normviz.ui.page_text import Introduction, Story
from normviz.ui.page_texts import STORIES, following, previous
from normviz.ui.redirects import REDIRECTS


def script(page: str) -> str:
    """The path of a page's script, as Streamlit is told it."""
    return f"pages/{page}.py"


def page_link(address: str, label: str, icon: str = "") -> None:
    """A link to a view of another page, by its address, as "/compare?schemes=layer"; behind the label its title."""
    split = urlsplit(address)
    link = dict(parse_qsl(split.query, keep_blank_values=True))
    if st.session_state[PRESENTING.key]:
        link[PRESENTING.name] = PRESENTING.text(True)
    trust_link(link)
    page = split.path.strip("/") or STORIES[0].page
    title = next(story.title for story in STORIES if story.page == page)
    st.page_link(script(page), label=f"{label} **{title}**", icon=icon or None, query_params=link)


def menu() -> tuple[Page, Story | None]:
    """Show the menu.

    Returns:
        The page that is open, and its story, around which `framed` shows it. A former page has no story: it leads to
        another page.
    """
    sections: dict[str, list[Page]] = {}
    for each in STORIES:
        default = each is STORIES[0]
        sections.setdefault(each.section, []).append(st.Page(script(each.page), title=each.title, default=default))
    for former in REDIRECTS:
        sections[STORIES[0].section].append(st.Page(script(former), title=former, visibility="hidden"))
    page = st.navigation(sections, position="top")
    return page, next((story for story in STORIES if story.title == page.title), None)


def redirect(former: str, link: Mapping[str, str]) -> None:
    """Open the page that a former page has become part of, with the settings of its link."""
    found = REDIRECTS[former]
    open_instead(found.page, found.link(link))


def open_instead(page: str, link: Mapping[str, str]) -> None:
    """Leave this page for another one, named by its script, with the settings of a link."""
    trust_link(link)
    st.switch_page(script(page), query_params=link)


@dataclass
class Frame:
    """What stands around the page that runs: its story, the place of the heading, and the words shown so far."""

    story: Story
    header: DeltaGenerator
    words: Story | Introduction | None = None


_FRAME: ContextVar[Frame | None] = ContextVar("frame", default=None)


def introduce(panel: str) -> None:
    """Show the heading of a panel, and its takeaway after the page; those of the page where the panel has none.

    Does nothing for a page that runs without a frame.
    """
    frame = _FRAME.get()
    if frame is not None:
        frame.words = words = frame.story.panels.get(panel, frame.story)
        first = f"\n\n**Try first:** {words.first}" if words.first else ""
        frame.header.markdown(f"# {words.question}\n{words.why}{first}")


@contextmanager
def framed(story: Story) -> Iterator[None]:
    """Show a page inside: between what it asks and what it answers, also where it stops early."""
    frame = Frame(story, st.container(key="story"))
    token = _FRAME.set(frame)
    if story.why and not story.panels:
        introduce("")
    try:
        with st.container():  # however much a page shows, what follows stays the same element
            yield
    finally:
        if story.why and frame.words is None:
            introduce("")
        _FRAME.reset(token)
        with st.container(key="takeaway"):
            st.markdown(f"**Takeaway.** {(frame.words or story).takeaway or story.takeaway}")
            after = following(story)
            with st.container(horizontal=True, gap="small"):
                st.page_link(script(after.page), label=f"**Next: {after.question}**", icon=":material/arrow_forward:")
                for see in story.see:
                    st.page_link(script(see.page), label=see.words)
        with st.container(key="turns"):  # unseen: what the keys of a presentation press
            for each in (previous(story), after):
                st.page_link(script(each.page), label=each.title)


def shown(show: Callable[[View, str], None], view: View) -> None:
    """What a page shows for a view, in the browser's theme; or why that cannot be, in the same place."""
    with st.container():
        try:
            show(view, current_theme())
        except InvalidInput as error:
            show_error(error)


def show_error(error: object) -> None:
    """Show the text of an error, which may quote a link or a file, as it is."""
    st.error(escape_markdown(error))
