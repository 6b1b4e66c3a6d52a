"""The page on why in a real browser: what it shows changes by keyboard, and a phone shows it whole."""

import pytest
from looks import barriers, change_theme, cut_off
from patience import settle, visit
from playwright.sync_api import expect

from normviz.charts.palette import THEMES


def open_page(page, url, link=""):
    visit(page, f"{url}/why{link}")
    page.wait_for_selector(".nv-plot[data-drawn]")
    settle(page)


def test_tabs_are_chosen_by_keyboard(page, server):
    open_page(page, server)
    page.get_by_role("radio", name="Learning").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="What goes wrong inside a deep network?").wait_for()
    settle(page)
    assert "show=saturation" in page.url


def test_the_first_screen_holds_question_answer_controls_and_curves(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server)
    seen = page.locator("h1, h3, .st-key-learning, .st-key-learning-normalized, [data-testid=stSlider]")
    bottoms = seen.evaluate_all(
        "all => all.filter((e) => e.closest('[class*=st-key-learning], h1, [data-testid=stSlider]') || "
        "e.textContent.startsWith('At this learning rate')).map((e) => e.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 6  # a heading, a headline, two sliders and two figures
    assert max(bottoms) <= 800


def test_a_presentation_shows_both_figures_whole(page, server):
    page.set_viewport_size({"width": 1920, "height": 1080})
    open_page(page, server, "?present=1")
    for key in ("learning", "learning-normalized"):
        expect(page.locator(f".st-key-{key} .nv-graph")).to_be_in_viewport(ratio=1)


def test_on_a_phone_the_list_of_schemes_is_not_cut(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    visit(page, f"{server}/why?show=history")
    page.get_by_role("link", name="Mean-only batch").wait_for()
    assert cut_off(page) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390


@pytest.mark.parametrize("show", ["learning", "whitening"])
def test_on_a_phone_nothing_is_cut(page, server, show):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, f"?show={show}")
    assert cut_off(page) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    wide = page.locator(".nv-graph").evaluate_all("graphs => graphs.map((g) => g.getBoundingClientRect().right)")
    assert max(wide) <= 390


@pytest.mark.parametrize("show", ["learning", "whitening"])
def test_both_themes_and_no_barriers(page, server, show):
    open_page(page, server, f"?show={show}")
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
