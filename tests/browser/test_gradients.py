"""Gradients in a real browser: steps by keyboard, homework that is sent, and a phone that shows all of it."""

import io

import numpy as np
import pytest
from looks import CONTROLS, barriers, change_theme, cut_off
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.charts.palette import THEMES
from normviz.topics.gradients.chain import STEPS
from normviz.topics.gradients.panels.graph import STEP_HEADINGS
from normviz.topics.gradients.state import SHOWN


def open_page(page, url, link=""):
    visit(page, f"{url}/gradients{link}")
    page.get_by_role("heading", level=1).wait_for()
    settle(page)


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server)
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []


def test_the_first_screen_shows_the_forward_pass_and_few_controls(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server)
    graph = page.locator(".st-key-chain .nv-graph")
    for shown in (
        page.get_by_role("heading", level=1),
        page.get_by_text("Try first:"),
        page.get_by_role("button", name="Play"),
        graph,
        page.get_by_role("heading", name="Forward: three paths from x to x̂"),
        page.locator(".st-key-said-of-step"),
    ):
        expect(shown).to_be_in_viewport(ratio=1)
    texts = graph.locator(".annotation-text").all_text_contents()
    assert len([text for text in texts if "=" in text or ": the" in text]) == 7  # boxes
    assert sum("∂L/∂" in text for text in texts) == 1  # the one that the loss gives
    found = page.evaluate(CONTROLS)
    assert 5 < len(found) <= 25, found


def test_presented_the_whole_graph_is_in_the_window(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server, "?present=1&back=6")
    for shown in (page.locator(".st-key-chain .nv-graph"), page.get_by_role("button", name="Play")):
        expect(shown).to_be_in_viewport(ratio=1)


def test_steps_are_made_by_keyboard(page, server):
    open_page(page, server, "?back=3")
    page.get_by_role("button", name="Step", exact=True).focus()
    for step in (4, 5):
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=STEP_HEADINGS[STEPS[step]]).wait_for()
    settle(page)
    soon(page, lambda: "back=5" in page.url)


def test_an_answer_is_sent_and_judged(page, server):
    open_page(page, server, "?show=answer")
    content = io.BytesIO()
    np.savez(content, out=np.ones((6, 6, 4, 5)))
    sent = {"name": "answer.npz", "mimeType": "application/octet-stream", "buffer": content.getvalue()}
    page.set_input_files("[data-testid=stFileUploader] input", [sent])
    page.get_by_text("out is wrong").wait_for()


@pytest.mark.parametrize("show", SHOWN)
def test_on_a_phone_nothing_is_cut(page, server, show):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, f"?show={show}&back=6")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert cut_off(page) == []
