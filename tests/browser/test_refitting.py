"""Figures fill their containers after a presentation begins or ends, the window is resized or the sidebar moves."""

import pytest
from pairs import mark_heavy_except
from patience import CONNECTED, settle, soon, visit
from test_camera import turn

SMALL, LARGE = {"width": 1280, "height": 800}, {"width": 1920, "height": 1080}
PAGES = {
    "lab": "",
    "compare": "compare",
    "layer norm variants": "identities?panel=variants",
    "training and inference": "running?panel=companions",
    "curves": "why",
}
STILL = 120
"""ms for which a figure must not change again: twice the pause after which a new size of its container is drawn."""
REST = 700
"""ms, longer than the camera has to rest before the link gets it."""
CUBES = ("lab", "compare", "layer norm variants")

# What is wrong with the figures on the page: an empty list when each one fills its container and the window holds it.
MISFITS = """() => [...document.querySelectorAll('.nv-plot')].flatMap((plot) => {
    const graph = plot.querySelector('.nv-graph'), box = graph.getBoundingClientRect(), found = [];
    if (!box.width || plot.closest('[hidden]')) return [];
    if (plot.matches('[data-drawing]') || !graph._fullLayout) return ['not drawn yet'];
    const near = (a, b) => Math.abs(a - b) <= 1;
    const inside = (inner, by) => inner.left >= box.left - by && inner.right <= box.right + by
        && inner.top >= box.top - by && inner.bottom <= box.bottom + by;
    const drawn = graph.querySelector('.main-svg').getBoundingClientRect();
    if (Math.abs(drawn.width / box.width - 1) > 0.02) found.push(`${drawn.width} px drawn in ${box.width}`);
    if (!near(drawn.height, box.height)) found.push(`${drawn.height} px high in ${box.height}`);
    if (!plot.matches('.nv-wide') && box.right > innerWidth + 1) found.push('wider than the window');
    if (![...graph.querySelectorAll('canvas')].every((canvas) => inside(canvas.getBoundingClientRect(), 1))) {
        found.push('canvas outside');
    }
    for (const text of plot.querySelectorAll('.nv-labels text')) {
        // The box of a text is higher than its letters by the leading.
        if (!inside(text.getBoundingClientRect(), 3)) found.push(`label outside: ${text.textContent}`);
    }
    return found;
})"""
PARTS = "[...document.querySelectorAll('.nv-graph, .nv-graph canvas')]"
MARK = f"() => {PARTS}.forEach((part) => {{ part.marked = true; }})"
UNMARKED = f"() => {PARTS}.filter((part) => !part.marked).length"
EYE = "() => Object.values(document.querySelector('.js-plotly-plot')._fullLayout.scene._scene.getCamera().eye)"
SHARE = "() => document.querySelector('.nv-graph').clientHeight / innerHeight"


def press(page, name):
    page.locator(".st-key-toolbar").get_by_role("button", name=name, exact=True).click()


def misfits(page, turned):
    """What is wrong; the words around a turned cube may reach beyond it, for the frame is that of the first view."""
    return [each for each in page.evaluate(MISFITS) if not (turned and each.startswith("label"))]


def check(page, turned=False):
    """Wait until every figure fits, and check that it stays so."""
    settle(page)
    soon(page, lambda: stays_fit(page, turned))


def stays_fit(page, turned):
    """Whether every figure fits, and still does a while later."""
    if misfits(page, turned):
        return False
    page.wait_for_timeout(STILL)
    return misfits(page, turned) == []


@pytest.mark.parametrize("name", mark_heavy_except(("lab", "curves"), PAGES))
def test_figures_fit_their_containers_again(page, server, name):
    page.set_viewport_size(SMALL)
    visit(page, f"{server}/{PAGES[name]}")
    page.wait_for_selector(CONNECTED)
    page.wait_for_selector(".nv-plot[data-drawn]")
    check(page)
    page.evaluate(MARK)
    if name != "curves":
        for button in ("stSidebarCollapseButton", "stExpandSidebarButton"):
            there = page.locator(f"[data-testid={button}] button, button[data-testid={button}]")
            there.first.wait_for(state="attached")
            there.first.evaluate("button => button.click()")  # the first one shows only under the pointer
            check(page)
    eye = None
    for size in (SMALL, LARGE):
        page.set_viewport_size(size)
        check(page, eye is not None)
        press(page, "Present")
        page.wait_for_selector(".nv-presenting", state="attached")
        check(page, eye is not None)
        if name in CUBES:
            assert page.evaluate(SHARE) >= 0.6
        page.set_viewport_size(LARGE if size is SMALL else SMALL)  # a projector is plugged in, or unplugged
        check(page, eye is not None)
        page.set_viewport_size(size)
        check(page, eye is not None)
        press(page, "Leave")
        page.wait_for_selector("html:not(.nv-presenting)", state="attached")
        check(page, eye is not None)
        if name in CUBES and eye is None:
            page.wait_for_timeout(REST)
            assert "camera" not in page.url
            turn(page, "cube" if name == "lab" else "cubes")
            page.wait_for_url("**camera=**")
            settle(page)
            eye = page.evaluate(EYE)
    assert page.evaluate(UNMARKED) == 0  # the same elements all along
    if eye is not None:
        assert page.evaluate(EYE) == pytest.approx(eye, abs=1e-6)
