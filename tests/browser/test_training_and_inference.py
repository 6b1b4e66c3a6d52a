"""Training and inference in a browser: the digits, the switch by keyboard and finger, and what mistakes cost."""

import numpy as np
import pytest
from patience import settle, soon, visit
from playwright.sync_api import expect
from test_first_screen_shown import CONTROLS, MOST, SIZE

from normviz.topics.running.stream_figures import ANSWER_UID

SHIFTS = """
window.shifts = 0;
new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
}).observe({ type: 'layout-shift', buffered: true });
"""
MARKERS = """() => {
    const graph = document.querySelector('.st-key-batch .js-plotly-plot');
    return Object.fromEntries(graph._fullData.filter((trace) => trace.name?.startsWith('x̂ in'))
        .map((trace) => [trace.name, { symbol: trace.marker.symbol, y: [...trace.y] }]));
}"""
DIGITS = """() => [...document.querySelectorAll('.st-key-batch image')].map((image) => {
    const box = image.getBoundingClientRect();
    return { width: box.width, height: box.height, way: getComputedStyle(image).imageRendering };
})"""


def filled(page):
    """The modes whose markers are filled."""
    return [name for name, trace in page.evaluate(MARKERS).items() if not trace["symbol"].endswith("-open")]


def test_the_switch_moves_the_values_of_the_same_digits(server, new_page):
    page = new_page
    page.add_init_script(SHIFTS)
    visit(page, f"{server}/running?step=20")
    for key in ("batch", "stream"):
        page.wait_for_selector(f".st-key-{key} .nv-plot[data-drawn]")
    settle(page)
    digits = page.evaluate(DIGITS)
    assert len(digits) == 8
    assert {digit["way"] for digit in digits} == {"pixelated"}
    page.evaluate("() => { window.shifts = 0; }")
    before = page.evaluate(MARKERS)
    assert filled(page) == ["x̂ in training"]
    used = page.locator(".nv-pairs .used")
    expect(used).to_contain_text("This batch of 16")
    page.get_by_role("radio", name="Training", exact=True).focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    soon(page, lambda: filled(page) == ["x̂ in inference"])
    page.wait_for_url("**mode=inference**")
    settle(page)
    after = page.evaluate(MARKERS)
    assert sorted(before) == sorted(after) == ["x̂ in inference", "x̂ in training"]
    assert [np.isfinite(np.array(each["x̂ in inference"]["y"], float)).sum() for each in (before, after)] == [1, 8]
    assert after["x̂ in training"]["y"] == before["x̂ in training"]["y"]  # the same examples
    assert after["x̂ in inference"]["y"] != before["x̂ in training"]["y"]
    expect(used).to_contain_text("Running averages")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function("() => document.querySelector('.st-key-stream .js-plotly-plot').data[3].x[0] > 23")
    page.get_by_role("button", name="Pause", exact=True).click()
    settle(page)
    assert filled(page) == ["x̂ in inference"]
    assert page.evaluate("window.shifts") < 0.05


def test_a_link_hides_the_output_in_inference_with_the_numbers(server, new_page):
    page = new_page
    hollow = page.locator(f".st-key-batch .trace{ANSWER_UID}")
    for link, is_hidden in (("running?digit=2", False), ("running?digit=2&hide=answer", True)):
        visit(page, f"{server}/{link}")
        page.wait_for_selector(".st-key-batch .nv-plot[data-drawn]")
        settle(page)
        expect(hollow).to_have_count(1)
        assert (hollow.evaluate("each => getComputedStyle(each).display") == "none") == is_hidden


def test_a_finger_switches(server, phone):
    visit(phone, f"{server}/running?batch=8")
    phone.wait_for_selector(".st-key-batch .nv-plot[data-drawn]")
    settle(phone)
    phone.get_by_role("radio", name="Inference", exact=True).tap()
    soon(phone, lambda: filled(phone) == ["x̂ in inference"])
    phone.wait_for_url("**mode=inference**")
    digits = phone.evaluate(DIGITS)
    assert len(digits) == 8
    assert min(digit["width"] for digit in digits) > 24
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_first_screen_has_the_switch_and_the_values_that_it_changes(server, page):
    page.set_viewport_size(SIZE)
    visit(page, f"{server}/running")
    page.wait_for_selector(".st-key-batch .nv-plot[data-drawn]")
    settle(page)
    for part in (
        page.get_by_role("radio", name="Inference", exact=True),
        page.get_by_role("heading", level=3).first,
        page.locator(".st-key-batch .nv-graph"),
        page.locator(".nv-pairs"),
        page.get_by_role("button", name="Play", exact=True),
    ):
        expect(part).to_be_in_viewport(ratio=1)
    switch, digits, play = (
        page.locator(f".st-key-{key}").first.bounding_box()["y"]
        for key in ("mode", "batch", "running-step-alone-player")
    )
    assert switch < digits < play
    found = page.evaluate(CONTROLS)
    assert len(found) <= MOST, found


@pytest.mark.parametrize("size", [SIZE, {"width": 1920, "height": 1080}], ids=lambda size: str(size["width"]))
def test_digits_fill_a_presentation_and_their_player_is_whole(server, page, size):
    page.set_viewport_size(size)
    visit(page, f"{server}/running?present=1")
    page.wait_for_selector(".st-key-batch .nv-plot[data-drawn]")
    settle(page)
    play = page.get_by_role("button", name="Play", exact=True)
    expect(play).to_be_in_viewport(ratio=1)
    assert play.evaluate("each => each.scrollWidth <= each.clientWidth")
    digits = page.locator(".st-key-batch .nv-graph")
    expect(digits).to_be_in_viewport(ratio=1)
    assert digits.bounding_box()["height"] >= 0.6 * size["height"]
    expect(page.locator(".nv-pairs")).to_be_in_viewport(ratio=1)
