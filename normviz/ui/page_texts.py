"""The texts of every page: those of `page_texts.toml`, and for teaching those of a language."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from normviz.core.registry import SCHEMES
from normviz.describe.interface_words import DEFAULT_LANGUAGE, get_words

TEACHING_PAGES = {"lessons": ("compare", "claims"), "class": ("invariance",)}
"""The pages whose texts are translated, with their related pages."""


@dataclass(frozen=True, kw_only=True)
class PanelText:
    """Texts of one panel, which replace those of the page.

    Attributes:
        question: the heading.
        why: one sentence of motivation; "" where the page shows its own heading.
        first: a first step to try; "" where `why` or the page itself says it.
        takeaway: the answer; that of a panel may be "", which means the page's.
    """

    question: str
    why: str = ""
    first: str = ""
    takeaway: str = ""


@dataclass(frozen=True, kw_only=True)
class PageText(PanelText):
    """Texts of one page, valid for all its settings.

    Attributes:
        page: the name of its script in `pages/`.
        title: its name in the menu and in the browser's tab.
        section: the menu's section.
        takeaway_label, next_label: what stands before the takeaway, and before the link to the next page.
        see: the labels of the links to related pages besides the next one, by the names of their scripts.
        panels: the texts of its panels by key; `normviz.ui.frame.show_heading` shows them.
    """

    page: str
    title: str
    section: str
    takeaway_label: str = "Takeaway."
    next_label: str = "Next:"
    see: Mapping[str, str]
    panels: Mapping[str, PanelText] = field(default_factory=dict)


def build_teaching_page_text(page: str, language: str = DEFAULT_LANGUAGE) -> PageText:
    """Build the texts of one of `TEACHING_PAGES` from the words of a language."""
    words, labels = get_words(f"page-{page}", language), get_words("page", language)
    return PageText(
        page=page,
        title=words["title"],
        section="Teach",
        question=words["question"],
        why=words["why"],
        takeaway=words["takeaway"],
        takeaway_label=labels["takeaway"],
        next_label=labels["next"],
        see={each: words[f"see-{each}"] for each in TEACHING_PAGES[page]},
    )


def translate_page_text(page_text: PageText, language: str) -> PageText:
    """Return the texts of a page in a language; unchanged if it is not one of `TEACHING_PAGES`."""
    return build_teaching_page_text(page_text.page, language) if page_text.page in TEACHING_PAGES else page_text


def _read_page_texts() -> list[PageText]:
    papers = {key: f"[{row.reference.text}]({row.reference.url})" for key, row in SCHEMES.items()}

    def fill(texts: Mapping[str, Any]) -> dict[str, Any]:
        return {name: text.format_map(papers) if isinstance(text, str) else text for name, text in texts.items()}

    pages = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    panels = {
        page: {key: PanelText(**fill(each)) for key, each in texts.pop("panels", {}).items()}
        for page, texts in pages.items()
    }
    return [PageText(page=page, panels=panels[page], **fill(texts)) for page, texts in pages.items()]


PAGE_TEXTS = (*_read_page_texts(), *map(build_teaching_page_text, TEACHING_PAGES))


def find_next_page(page_text: PageText) -> PageText:
    """Return the texts of the next page in the menu; after the last one the first."""
    return PAGE_TEXTS[(_find_place(page_text) + 1) % len(PAGE_TEXTS)]


def find_previous_page(page_text: PageText) -> PageText:
    """Return the texts of the previous page in the menu; before the first one the last."""
    return PAGE_TEXTS[_find_place(page_text) - 1]


def _find_place(page_text: PageText) -> int:
    return [each.page for each in PAGE_TEXTS].index(page_text.page)
