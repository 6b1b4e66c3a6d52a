"""Weights in a real browser: charts that grow in axes that stay, and that a phone shows whole."""

import pytest
from patience import settle, soon, visit

CURVES = ("lengths", "turned", "gains", "losses")
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


def open_page(page, url, link=""):
    visit(page, f"{url}/weights{link}")
    for key in ("plane", *CURVES):
        page.wait_for_selector(f".st-key-{key} .nv-plot[data-drawn]")
    settle(page)


def test_curves_grow_with_the_player_and_their_axes_stay(page, server):
    open_page(page, server, "?step=20")
    axes, grown = page.evaluate(AXES), page.evaluate(GROWN)
    assert set(grown) == {20, 21}  # the angle of a step is there once the step is done
    page.get_by_role("button", name="Play", exact=True).click()
    soon(page, lambda: min(page.evaluate(GROWN)) > 40)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    settle(page)
    assert page.evaluate(AXES) == axes


@pytest.mark.parametrize("link", ["", "?rate=1000&step=200"])
def test_on_a_phone_nothing_is_cut(page, server, link):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, link)
    assert page.evaluate(CUT) == []
    wide = page.locator(".nv-graph").evaluate_all("graphs => graphs.map((g) => g.getBoundingClientRect().right)")
    assert max(wide) <= 390
