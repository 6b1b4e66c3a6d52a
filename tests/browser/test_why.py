"""The page on why in a real browser: what it shows changes by keyboard, and a phone shows it whole."""

import pytest
from looks import barriers, change_theme, cut_off
from patience import settle, visit

from normviz.ui.palette import THEMES


def open_page(page, url, link=""):
    visit(page, f"{url}/why{link}")
    page.wait_for_selector(".nv-plot[data-drawn]")
    settle(page)


def test_stages_are_chosen_by_keyboard(page, server):
    open_page(page, server)
    page.get_by_role("radio", name="Scaled per feature").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    page.get_by_text("Whitened: the correlation goes from").wait_for()
    settle(page)
    assert "stage=zca" in page.url


@pytest.mark.parametrize("show", ["whitening", "history"])
def test_on_a_phone_nothing_is_cut(page, server, show):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, f"?show={show}")
    assert cut_off(page) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    wide = page.locator(".nv-graph").evaluate_all("graphs => graphs.map((g) => g.getBoundingClientRect().right)")
    assert max(wide) <= 390


@pytest.mark.parametrize("show", ["whitening", "style"])
def test_both_themes_and_no_barriers(page, server, show):
    open_page(page, server, f"?show={show}")
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
