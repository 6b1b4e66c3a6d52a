"""From page to page by the menu, as it is where there is room for it: pages in sections that open."""

from playwright.sync_api import Page

from normviz.ui.page_texts import PAGE_TEXTS

SECTIONS = {story.title: story.section for story in PAGE_TEXTS}


def go(page: Page, title: str) -> None:
    """Choose a page in the menu."""
    page.get_by_test_id("stTopNav").get_by_role("button", name=SECTIONS[title], exact=True).click()
    page.get_by_role("menuitem", name=title, exact=True).click()
