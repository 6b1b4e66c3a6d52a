"""The page "Step size" in a real browser: every panel opens, answers the keyboard, and fits a phone."""

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
    open_page(page, server, "?show=fisher")
    sentence = page.get_by_role("heading", level=3).first
    expect(sentence).to_have_text(re.compile("a step of length 0.897 changes"))
    slider = page.locator(".stSlider, .stSelectSlider", has_text="Length of every").get_by_role("slider").first
    slider.focus()
    page.keyboard.press("Home")
    expect(sentence).to_have_text(re.compile("a step of length 0.112 changes"))
    soon(page, lambda: "length=0.25" in page.url)


def test_the_picture_follows_the_keyboard_and_keeps_its_camera(page, server):
    open_page(page, server)
    sentence = page.get_by_role("heading", level=3).first
    expect(sentence).to_have_text(re.compile("μ = 1 moves x onto the plane.*onto the sphere"))
    camera = "() => document.querySelector('.st-key-space .js-plotly-plot')._fullLayout.scene._scene.getCamera().eye"
    before = page.evaluate(camera)
    page.locator(".st-key-x1 input").press("Home")
    expect(sentence).to_have_text(re.compile("μ = −1 moves x onto the plane"))
    page.locator(".st-key-eps input").press("End")
    expect(sentence).to_have_text(re.compile("inside the sphere, because of ε"))
    soon(page, lambda: "x1=-3" in page.url and "eps=10" in page.url)
    assert page.evaluate(camera) == before


def test_the_former_panel_on_recurrence_opens_the_experiment(page, server):
    visit(page, f"{server}/geometry?show=recurrent")
    page.wait_for_url("**/experiments?show=recurrent")


def test_on_a_phone_every_panel_fits(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    for show in SHOWN:
        open_page(page, server, f"?show={show}")
        assert max(page.evaluate(RIGHT)) <= 390, show
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, show
