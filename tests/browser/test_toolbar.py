"""What can be done with every page: its link, the way back, showing it to a class; by mouse, finger and keyboard."""

import pytest
import visitors
from pairs import mark_heavy_except
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.ui.page_texts import PAGE_TEXTS

ADDRESS = {story.page: "" if story.page == "tensor_lab" else story.page for story in PAGE_TEXTS}


def do(page, name):
    page.locator(".st-key-toolbar").get_by_role("button", name=name, exact=True).click()


def at(page, story):
    """The page of a story is there, with its question as its only heading of the first order."""
    expect(page.get_by_role("heading", level=1)).to_have_text([story.question])
    settle(page)


@pytest.mark.parametrize("link", ["?n=2&scheme=group&groups=3", "running?mode=inference&step=9"])
def test_reset_sets_the_page_back_and_a_step_back_undoes_it(page, server, link):
    visit(page, f"{server}/{link}")
    settle(page)
    soon(page, lambda: page.url == f"{server}/{link}")
    do(page, "Reset")
    soon(page, lambda: page.url == f"{server}/{link.partition('?')[0]}")
    settle(page)
    page.evaluate("history.back()")
    soon(page, lambda: page.url == f"{server}/{link}")


@pytest.mark.parametrize("count", mark_heavy_except([2], [2, len(PAGE_TEXTS)]))
def test_a_presentation_walks_through_the_pages_by_a_clickers_keys(page, server, count):
    page.set_viewport_size({"width": 1280, "height": 720})
    visit(page, f"{server}/?present=1&n=2")
    at(page, PAGE_TEXTS[0])
    chrome = page.locator("[data-testid=stHeader], section[data-testid=stSidebar]")
    soon(page, lambda: all(not each.is_visible() for each in chrome.all()))
    for story in [*PAGE_TEXTS[1:], PAGE_TEXTS[0]][:count]:
        page.keyboard.press("PageDown")
        at(page, story)
        soon(page, lambda: "present=1" in page.url)
        expect(page.locator("section[data-testid=stSidebar]")).to_be_hidden()
        size = page.get_by_role("heading", level=1).evaluate("h1 => parseFloat(getComputedStyle(h1).fontSize)")
        assert size >= 36  # a twentieth of the height
    for story in reversed(PAGE_TEXTS[: count % len(PAGE_TEXTS)]):
        page.keyboard.press("PageUp")
        at(page, story)
    page.keyboard.press("PageUp")
    at(page, PAGE_TEXTS[-1])
    page.keyboard.press("PageDown")
    at(page, PAGE_TEXTS[0])
    page.locator(".st-key-cube .nv-graph").focus()  # where these keys have another meaning
    page.keyboard.press("PageDown")
    do(page, "Controls")
    number = page.get_by_label("N batch", exact=True)
    number.focus()
    page.keyboard.press("PageDown")
    settle(page)
    at(page, PAGE_TEXTS[0])
    number.evaluate("field => field.blur()")
    page.keyboard.press("Escape")
    expect(page.locator("[data-testid=stHeader]")).to_be_visible()
    soon(page, lambda: "present" not in page.url)
    assert "n=2" in page.url


def test_a_finger_presents_and_leaves_on_a_phone(server, phone):
    page = phone
    visit(page, f"{server}/")
    at(page, PAGE_TEXTS[0])
    assert page.locator(".st-key-cube .nv-graph").bounding_box()["y"] < 844 * 0.7  # within one screen
    for name in ("Share", "Reset", "Present"):
        box = page.get_by_role("button", name=name, exact=True).bounding_box()
        assert min(box["width"], box["height"]) >= 44
    page.get_by_role("button", name="Present", exact=True).tap()
    page.get_by_role("button", name="Next page").tap()
    at(page, PAGE_TEXTS[1])
    page.get_by_role("button", name="Leave", exact=True).tap()
    expect(page.get_by_role("button", name="Present", exact=True)).to_be_visible()
    at(page, PAGE_TEXTS[1])
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_every_page_is_in_the_walk():
    assert sorted(ADDRESS.values()) == visitors.PAGES
