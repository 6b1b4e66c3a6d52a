"""Experiments in a real browser: started, watched, cancelled, reloaded in the middle, and shared when they are done."""

import pytest
from looks import barriers, change_theme, cut_off
from patience import load, settle, soon, visit
from playwright.sync_api import expect
from watching import open_watched

from normviz.charts.palette import THEMES
from normviz.topics.experiments.catalogue import TOPICS

SMALL = (
    "?show=batch-size&batch_size_steps=20&batch_size_equal=steps&batch_size_seeds=2&batch_size_schemes=layer"
    "&batch_size_seed="
)
LONG = "?show=batch-size&batch_size_steps=500&batch_size_seeds=8&batch_size_seed="
STARTED = 180_000  # milliseconds: a worker imports torch, which a busy machine with a slow disk reads in a minute


def open_page(page, url, link=""):
    load(page, f"{url}/experiments{link}")
    page.get_by_role("heading", level=1).wait_for()
    settle(page)


def button(page, name):
    return page.get_by_role("button", name=name)


def run(page):
    button(page, "Run · about").click()


def share(page):
    """How much is done, as the bar shows it."""
    return float(page.get_by_role("progressbar").get_attribute("aria-valuenow"))


def test_a_run_is_watched_and_its_link_shows_the_result(page, server):
    open_page(page, server, SMALL + "1")
    run(page)
    page.locator(".st-key-curves .nv-plot[data-drawn]").wait_for(timeout=STARTED)
    page.get_by_text("The result is cached").wait_for(timeout=STARTED)
    settle(page)
    headline = page.locator(".st-key-work h3").first.inner_text()
    graphs = page.locator(".nv-graph").count()
    link = page.url
    with page.context.browser.new_context() as elsewhere:
        other = open_watched(elsewhere).page
        visit(other, link)
        other.get_by_text("The result is cached").wait_for()
        settle(other)
        assert other.locator(".st-key-work h3").first.inner_text() == headline
        expect(other.locator(".nv-graph")).to_have_count(graphs)
        expect(button(other, "Run · about")).to_have_count(0)


def test_a_run_goes_on_when_the_page_is_reloaded_and_ends_when_cancelled(page, server):
    open_page(page, server, LONG + "1")
    run(page)
    page.locator(".st-key-curves .nv-plot[data-drawn]").wait_for(timeout=STARTED)
    soon(page, lambda: share(page) > 0)
    page.reload()
    button(page, "Cancel").wait_for()
    soon(page, lambda: share(page) > 0)  # not from the beginning, nor at rest
    button(page, "Cancel").click()
    page.get_by_role("button", name="Run").wait_for()
    expect(page.get_by_role("progressbar")).to_have_count(0)


IN_SIGHT = """(selector) => [...document.querySelectorAll(selector)].every((each) => {
    const { top, bottom, left, right } = each.getBoundingClientRect();
    return top >= 0 && left >= 0 && bottom <= innerHeight && right <= innerWidth && bottom > top;
})"""

CONTROLS = """() => [...document.querySelectorAll(
    'button, a[href], input:not([type=radio]), [role=slider], [role=radiogroup], [role=combobox], summary'
)].filter((each) => {
    const { top, bottom, width, height } = each.getBoundingClientRect();
    return each.checkVisibility({ visibilityProperty: true, opacityProperty: true }) && width > 1 && height > 1
      && top < innerHeight && bottom > 0;
}).map((each) => each.innerText || each.getAttribute('aria-label'))"""
"""The controls of the first screen; a list of which one entry is chosen is one."""


def test_run_progress_and_curve_are_in_sight_while_it_trains_and_the_curve_grows_in_place(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server, LONG + "3")
    assert page.evaluate(IN_SIGHT, ".st-key-start-run")
    run(page)
    page.locator(".st-key-curves .nv-plot[data-drawn]").wait_for(timeout=STARTED)
    soon(page, lambda: share(page) > 0)
    assert page.evaluate("document.querySelector('.stMain').scrollTop") == 0
    for selector in ("[role=progressbar]", ".st-key-cancel-run button", ".st-key-work h3", ".st-key-curves .nv-graph"):
        assert page.evaluate(IN_SIGHT, selector), selector
    graph = page.locator(".st-key-curves .nv-plot[data-drawn] .nv-graph")
    graph.evaluate("graph => { graph.mark = 'the same' }")
    length = "graph => graph.data[0].x.length"
    before = graph.evaluate(length)
    soon(page, lambda: graph.evaluate(length) > before)
    assert graph.evaluate("graph => graph.mark") == "the same"
    button(page, "Cancel").click()
    page.get_by_role("button", name="Run").wait_for()


def test_the_first_screen_has_a_result_and_few_controls(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server)
    button(page, "Run it yourself · about").wait_for()
    assert page.evaluate(IN_SIGHT, ".st-key-lead .nv-graph")
    for words in ("Data and network:", "The claim"):
        expect(page.get_by_text(words)).to_be_in_viewport(ratio=1)
    assert len(page.evaluate(CONTROLS)) <= 25
    for topic, experiments in TOPICS.items():
        group = page.locator(".st-key-experiments-show details").filter(has=page.get_by_text(topic, exact=True))
        if group.get_attribute("open") is None:
            group.locator("summary").click()
        for each in experiments:
            line, edge = group.get_by_text(each.question).bounding_box(), group.bounding_box()
            assert line["x"] + line["width"] <= edge["x"] + edge["width"], each.question
            assert line["height"] < 30, each.question


def test_a_phone_shows_claim_run_and_figure(phone, server):
    open_page(phone, server)
    for selector in (".st-key-question", ".st-key-start-run", ".st-key-work h3"):
        assert phone.evaluate(IN_SIGHT, selector), selector
    assert phone.locator(".st-key-lead .nv-graph").first.bounding_box()["y"] < 700
    phone.get_by_role("button", name="Change").click()
    phone.locator(".st-key-experiments-show summary").filter(has_text="Training").click()
    phone.locator(".st-key-experiments-show").get_by_text("Which schemes allow high learning rates?").click()
    phone.get_by_role("heading", level=1, name="Which schemes allow high learning rates?").wait_for()
    soon(phone, lambda: phone.locator(".stSidebar").bounding_box()["x"] < -300)  # and does not cover it


def test_a_presentation_has_room_for_the_figure(page, server):
    page.set_viewport_size({"width": 1920, "height": 1080})
    open_page(page, server, "?present=1")
    soon(page, lambda: page.locator(".st-key-lead .nv-graph").first.bounding_box()["height"] >= 0.6 * 1080)
    settle(page)
    for selector in (".st-key-question", ".st-key-start-run", ".st-key-lead .nv-graph"):
        assert page.evaluate(IN_SIGHT, selector), selector


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off(page, server, width):
    page.set_viewport_size({"width": width, "height": 844})
    open_page(page, server)
    assert cut_off(page) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= width


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server, SMALL + "1")
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
