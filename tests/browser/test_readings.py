"""Which layer norm, in a real browser: a click lights three fields, a file is judged, and a phone shows it whole."""

import io

import numpy as np
import pytest
from looks import barriers, change_theme, cut_off
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.ui.palette import THEMES


def open_page(page, url, link=""):
    visit(page, f"{url}/readings{link}")
    page.wait_for_selector(".st-key-cubes .nv-plot[data-drawn]")
    settle(page)


def test_the_keyboard_locks_another_element_in_all_three(page, server):
    open_page(page, server)
    page.locator(".st-key-cubes .nv-graph").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    soon(page, lambda: "focus=" in page.url)
    settle(page)


def test_a_file_is_judged_and_a_wrong_one_refused(page, server):
    open_page(page, server, "?try=own")
    x = np.random.default_rng(0).standard_normal((4, 6, 5, 5))
    stream = io.BytesIO()
    np.savez(stream, x=x, y=(x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6))

    def send(name, content):
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        page.locator("input[type=file]").set_input_files(files=[file])

    send("bad.npz", b"nothing")
    expect(page.get_by_text("not a .npz file")).to_be_visible()
    page.get_by_role("button", name="Remove").first.click()
    send("arrays.npz", stream.getvalue())
    expect(page.get_by_text("It was layer normalization over channels.")).to_be_visible()


@pytest.mark.parametrize("link", ["", "?h=1&w=1&try=dense"])
def test_on_a_phone_nothing_is_cut(page, server, link):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, link)
    assert cut_off(page) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server, "?try=batch")
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
