"""The page "Step size" in a real browser: every panel opens, answers the keyboard, and fits a phone."""

from looks import CONTROLS, barriers, change_theme
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.charts.palette import THEMES
from normviz.topics.geometry.state import SHOWN

RIGHT = "() => [...document.querySelectorAll('.nv-graph')].map((graph) => graph.getBoundingClientRect().right)"


def open_page(page, url, link=""):
    visit(page, f"{url}/geometry{link}")
    page.wait_for_selector(".nv-plot[data-drawn]")
    settle(page)


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server)
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []


def test_the_first_screen_shows_the_vectors_and_few_controls(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server)
    for shown in (
        page.get_by_role("heading", level=1),
        page.get_by_text("Try first:"),
        page.get_by_role("heading", level=3).first,
        page.get_by_role("button", name="Next stage"),
        page.get_by_role("radio", name="3 Take a step"),
        page.locator(".st-key-space .nv-graph"),
        page.get_by_text("Subtract the mean μ = 1"),
        page.get_by_role("cell", name="(1.22, 0, −1.22)"),
        page.locator(".st-key-x3 input"),
    ):
        expect(shown).to_be_in_viewport(ratio=1)
    found = page.evaluate(CONTROLS)
    assert 5 < len(found) <= 25, found


def test_it_opens_on_layer_norm_and_the_button_leads_to_the_step(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server)
    for headline in (
        "Layer norm keeps only the direction of v = x − μ.",
        "∂L/∂x is at a right angle to v.",
        "A step turns the short vector 3.3 times as far.",
    ):
        expect(page.get_by_role("heading", name=headline)).to_be_in_viewport(ratio=1)
        settle(page)
        for part in (page.locator(".st-key-space .nv-graph"), page.locator(".st-key-x3 input")):
            expect(part).to_be_in_viewport(ratio=1)
        page.locator(".st-key-geometry-next button").click()
    page.get_by_role("heading", name="Layer norm keeps only the direction of v = x − μ.").wait_for()


def test_the_picture_follows_the_keyboard_and_keeps_its_camera(page, server):
    open_page(page, server)
    sentence = page.get_by_role("heading", level=3).first
    expect(sentence).to_have_text("Layer norm keeps only the direction of v = x − μ.")
    camera = "() => document.querySelector('.st-key-space .js-plotly-plot')._fullLayout.scene._scene.getCamera().eye"
    before = page.evaluate(camera)
    page.locator(".st-key-x1 input").press("Home")
    expect(page.get_by_text("Divide by s = √(σ² + ε) = 2.05")).to_be_visible()
    page.locator(".st-key-eps input").press("End")
    expect(sentence).to_have_text("ε keeps x̂ inside the circle.")
    soon(page, lambda: "x1=-4" in page.url and "eps=10" in page.url)
    assert page.evaluate(camera) == before


def test_on_a_phone_every_panel_fits(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    for show in SHOWN:
        open_page(page, server, f"?show={show}")
        assert max(page.evaluate(RIGHT)) <= 390, show
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, show
