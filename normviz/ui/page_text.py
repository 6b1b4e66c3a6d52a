"""The words around a page, and around one of its panels."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RelatedPage:
    """A link to a page with a related idea.

    Attributes:
        words: the label of the link.
        page: the name of the script of that page.
    """

    words: str
    page: str


@dataclass(frozen=True)
class PanelText:
    """The words around one panel of a page, in place of those around the whole page.

    Attributes:
        question, why, first, takeaway: as those of `Story`; a takeaway of "" is that of the page.
    """

    question: str
    why: str
    first: str = ""
    takeaway: str = ""


@dataclass(frozen=True, kw_only=True)
class PageText:
    """The words around one page, which hold for all its settings.

    Attributes:
        page: the name of its script in `pages/`.
        title: its name in the menu and in the browser's tab.
        section: the word of the menu above it.
        question: what it answers, its heading.
        why: why that matters, in a sentence; "" where the page shows a heading of its own.
        first: what to try first; "" where `why` is, or says it, and where the page itself begins with it.
        takeaway: the answer.
        see: where its ideas go on, beside the next page.
        panels: the introductions of the page's panels by key, where each has its own; the page then shows them by
            `normviz.ui.frame.introduce`.
    """

    page: str
    title: str
    section: str
    question: str
    why: str
    first: str = ""
    takeaway: str
    see: tuple[RelatedPage, ...]
    panels: Mapping[str, PanelText] = field(default_factory=dict)
