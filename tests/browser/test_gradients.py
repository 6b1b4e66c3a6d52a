"""Gradients in a real browser: steps by keyboard, homework that is sent, and a phone that shows all of it."""

import io

import numpy as np
import pytest
from looks import cut_off
from patience import settle, soon, visit

from normviz.gradients.state import SHOWN


def open_page(page, url, link=""):
    visit(page, f"{url}/gradients{link}")
    page.wait_for_selector(".nv-plot[data-drawn]")
    settle(page)


def test_steps_are_made_by_keyboard(page, server):
    open_page(page, server, "?show=graph&step=11")
    page.get_by_role("button", name="Step", exact=True).focus()
    for step in (12, 13):
        page.keyboard.press("Enter")
        page.get_by_role("heading", name=f"Backward, step {step} of 14").wait_for()
    settle(page)
    soon(page, lambda: "step=13" in page.url)


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
    open_page(page, server, f"?show={show}&step=14")
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert cut_off(page) == []
