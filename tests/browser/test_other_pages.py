"""Identities, training and inference, weights, divisive, lessons: in a real browser, in both themes and on a phone."""

import pytest
import visitors
from looks import barriers, change_theme
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.charts.palette import THEMES

PAGES = {
    "identities": ("Which normalizations are the same?", []),
    "running": ("Why does batch norm differ in inference?", ["stream"]),
    "weights": ("Does weight normalization train faster?", ["plane"]),
    "divisive": ("Why normalize a pixel by its neighbours?", ["response"]),
    "lessons": ("Lessons of ten minutes", []),
}


def test_no_page_is_left_out():
    elsewhere = {
        "",
        "claims",
        "class",
        "compare",
        "design",
        "experiments",
        "geometry",
        "gradients",
        "invariance",
        "model",
        "why",
    }  # in files of their own
    assert PAGES.keys() | elsewhere == set(visitors.PAGES)


def open_page(page, url, name, link=""):
    visit(page, f"{url}/{name}{link}")
    page.get_by_role("heading", level=1, name=PAGES[name][0]).wait_for()
    settle(page)
    for key in PAGES[name][1]:
        page.wait_for_selector(f".st-key-{key} .nv-plot[data-drawn]")


# The panels of identities have a file of their own.
@pytest.mark.parametrize("name", [name for name in PAGES if name != "identities"])
def test_both_themes_and_no_barriers(page, server, name):
    open_page(page, server, name)
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
    for graph in page.locator(".nv-graph").all():
        assert len(graph.get_attribute("aria-label")) > 20


@pytest.mark.parametrize("name", ["running", "divisive", "lessons"])  # the others in files of their own
def test_a_phone_shows_the_page_without_scrolling_sideways(page, server, name):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, name)
    soon(page, lambda: page.evaluate("() => document.documentElement.scrollWidth") <= 390)


def test_a_guess_shows_the_answer(page, server):
    open_page(page, server, "identities")
    expect(page.get_by_role("heading", name="= Same x̂")).to_have_count(0)
    page.get_by_role("button", name="= Same").click()
    expect(page.get_by_role("heading", name="= Same x̂")).to_be_visible()
    expect(page.get_by_text("Right.", exact=True)).to_be_visible()
    settle(page)


def test_a_presented_answer_has_its_next_pair_in_the_window(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server, "identities", "?present=1&reveal=1&row=weight-length")
    expect(page.get_by_role("button", name="Next pair")).to_be_in_viewport(ratio=1)


def test_on_a_phone_panels_beside_each_other_scroll_for_themselves(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, f"{server}/invariance?panel=eps&steps=20")
    page.wait_for_selector(".st-key-sweep .nv-plot[data-drawn]")
    settle(page)
    wide, shown, focus = page.locator(".st-key-sweep .nv-plot").evaluate(
        "plot => [plot.scrollWidth, plot.clientWidth, plot.tabIndex]"
    )
    assert wide > shown + 100  # two panels, of a width at which their numbers do not touch
    assert focus == 0  # so that the keyboard can scroll
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_tab_names_the_page_and_the_menu_marks_its_section(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, f"{server}/weights")
    expect(page).to_have_title("Weight normalization · normviz")
    settle(page)
    marked = """sections => sections.map(each => each.querySelector("p"))
        .filter(each => getComputedStyle(each).fontWeight === "700").map(each => each.textContent)"""
    soon(page, lambda: page.get_by_test_id("stTopNavSection").evaluate_all(marked) == ["Reference"])
