"""The texts of a page and of its panels."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class RelatedPage:
    """Link to a page with a related idea, with the words that introduce it.

    Attributes:
        words: the label of the link.
        page: the name of that page's script.
    """

    words: str
    page: str


@dataclass(frozen=True)
class PanelText:
    """Texts of one panel, which replace those of the page.

    Attributes:
        question, why, first, takeaway: as in `PageText`; a takeaway of "" means the page's.
    """

    question: str
    why: str
    first: str = ""
    takeaway: str = ""


@dataclass(frozen=True, kw_only=True)
class PageText:
    """Texts of one page, valid for all its settings.

    Attributes:
        page: the name of its script in `pages/`.
        title: its name in the menu and in the browser's tab.
        section: the menu's section.
        question: its heading.
        why: one sentence of motivation; "" where the page shows its own heading.
        first: a first step to try; "" where `why` or the page itself says it.
        takeaway: the answer.
        takeaway_label, next_label: what stands before it, and before the link to the next page.
        see: related pages besides the next one.
        panels: the texts of its panels by key; `normviz.ui.frame.show_heading` shows them.
    """

    page: str
    title: str
    section: str
    question: str
    why: str
    first: str = ""
    takeaway: str
    takeaway_label: str = "Takeaway."
    next_label: str = "Next:"
    see: tuple[RelatedPage, ...]
    panels: Mapping[str, PanelText] = field(default_factory=dict)
