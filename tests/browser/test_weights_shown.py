"""Weight normalization in a real browser: its first screen, charts that grow in axes that stay, and a phone."""

import pytest
from looks import barriers, change_theme
from patience import settle, soon, visit
from playwright.sync_api import expect
from test_first_screen_shown import CONTROLS, MOST, SIZE

from normviz.charts.palette import THEMES

FIGURES = {"norm": ("plane", "loss", "length"), "spectral": ("ellipses", "ratios")}
AXES = """() => [...document.querySelectorAll('.nv-graph')].map((graph) => {
  const { xaxis, yaxis } = graph._fullLayout;
  return [...xaxis.range, ...yaxis.range, xaxis._length, yaxis._length].map((n) => n.toPrecision(6));
})"""
GROWN = """() => [...document.querySelectorAll('.nv-graph')].flatMap((graph) =>
  graph._fullData.filter(({ mode }) => mode === 'lines+markers').map(({ x }) => x.length))"""
CUT = """() => [...document.querySelectorAll('.nv-graph')].flatMap((graph) => {
  const { left, right, top, bottom } = graph.getBoundingClientRect();
  const texts = [...graph.querySelectorAll('text')].filter((text) => text.textContent.trim());
  return texts.map((text) => [text.textContent, text.getBoundingClientRect()])
    .filter(([, box]) => box.left < left - 1 || box.right > right + 1 || box.top < top - 1 || box.bottom > bottom + 1)
    .map(([name]) => name);
})"""


def open_page(page, url, link="", show="norm"):
    visit(page, f"{url}/weights{link}")
    for key in FIGURES[show]:
        page.wait_for_selector(f".st-key-{key} .nv-plot[data-drawn]")
    settle(page)


def test_the_first_screen_holds_player_and_picture_and_few_controls(page, server):
    page.set_viewport_size(SIZE)
    open_page(page, server)
    plane = page.locator(".st-key-plane .nv-graph")
    for part in (
        page.get_by_role("heading", level=1), page.get_by_text("Try first:"), plane,
        page.get_by_role("button", name="Play"), page.get_by_text("trains v and g"),
        page.get_by_text("the same loss takes 15 steps"),
    ):  # fmt: skip
        expect(part).to_be_in_viewport(ratio=1)
    assert plane.bounding_box()["height"] >= 300
    words = plane.inner_text()
    assert all(name in words for name in ("w at start", "lowest loss", "first weight")), words
    found = page.evaluate(CONTROLS)
    assert len(found) <= MOST, found
    for part in (page.locator(".st-key-loss .nv-graph"), page.get_by_text("Why? A short v acts as a 16 times larger")):
        expect(part).to_be_in_viewport(ratio=1)


def test_presented_the_whole_picture_is_in_the_window(page, server):
    page.set_viewport_size(SIZE)
    open_page(page, server, "?present=1")
    for part in (page.locator(".st-key-plane .nv-graph"), page.get_by_role("button", name="Play")):
        expect(part).to_be_in_viewport(ratio=1)


@pytest.mark.parametrize("show", ["spectral"])
def test_the_first_screen_of_every_panel_holds_its_figures(page, server, show):
    page.set_viewport_size(SIZE)
    open_page(page, server, f"?show={show}", show)
    for key in FIGURES[show]:
        expect(page.locator(f".st-key-{key} .nv-graph")).to_be_in_viewport(ratio=1)
    assert len(page.evaluate(CONTROLS)) <= MOST


def test_curves_grow_with_the_player_and_their_axes_stay(page, server):
    open_page(page, server, "?step=20")
    axes, grown = page.evaluate(AXES), page.evaluate(GROWN)
    assert set(grown) == {21}
    page.get_by_role("button", name="Play", exact=True).click()
    soon(page, lambda: min(page.evaluate(GROWN)) > 40)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    settle(page)
    assert page.evaluate(AXES) == axes


@pytest.mark.parametrize("show", ["spectral"])
def test_both_themes_and_no_barriers(page, server, show):
    open_page(page, server, f"?show={show}", show)
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []


@pytest.mark.parametrize("link", ["", "?rate=1000&step=200", "?show=spectral"])
def test_on_a_phone_nothing_is_cut(page, server, link):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, link, link.partition("show=")[2] or "norm")
    assert page.evaluate(CUT) == []
    wide = page.locator(".nv-graph").evaluate_all("graphs => graphs.map((g) => g.getBoundingClientRect().right)")
    assert max(wide) <= 390
