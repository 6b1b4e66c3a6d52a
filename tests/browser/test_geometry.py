"""Geometry in a real browser: every panel opens, answers the keyboard, and fits a phone."""

import re

from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.geometry.state import SHOWN

RIGHT = "() => [...document.querySelectorAll('.nv-graph')].map((graph) => graph.getBoundingClientRect().right)"


def open_page(page, url, link=""):
    visit(page, f"{url}/geometry{link}")
    page.wait_for_selector(".nv-plot[data-drawn]")
    settle(page)


def test_the_length_is_moved_by_the_keyboard_and_the_sentence_follows(page, server):
    open_page(page, server)
    sentence = page.get_by_role("heading", level=3).first
    expect(sentence).to_have_text(re.compile("is 0.897 long with batch normalization and 0.465 without"))
    slider = page.locator(".stSlider, .stSelectSlider", has_text="Length of every").get_by_role("slider").first
    slider.focus()
    page.keyboard.press("Home")
    expect(sentence).to_have_text(re.compile("is 0.112 long with batch normalization and 0.465 without"))
    soon(page, lambda: "length=0.25" in page.url)


def test_on_a_phone_every_panel_fits(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    for show in SHOWN:
        open_page(page, server, f"?show={show}")
        assert max(page.evaluate(RIGHT)) <= 390, show
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, show
