"""The variants of layer norm and the detector in a real browser: keys, files, a phone, and links of before."""

import io

import numpy as np
import pytest
from looks import barriers, change_theme, cut_off
from patience import settle, soon, visit
from playwright.sync_api import expect
from test_first_screen_shown import CONTROLS, MOST, SIZE

from normviz.charts.palette import THEMES


def open_page(page, url, panel="variants", link=""):
    visit(page, f"{url}/identities?panel={panel}{link}")
    if panel == "variants":
        page.wait_for_selector(".st-key-cubes .nv-plot[data-drawn]")
    settle(page)


def test_a_link_of_before_opens_its_panel(page, server):
    page.goto(f"{server}/readings?try=blog")
    soon(page, lambda: page.url.endswith("/identities?try=blog&panel=detect"))
    settle(page)


def test_the_keyboard_locks_another_element_in_all_three(page, server):
    open_page(page, server)
    page.locator(".st-key-cubes .nv-graph").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    soon(page, lambda: "focus=" in page.url)
    settle(page)


def test_a_file_is_judged_and_a_wrong_one_refused(page, server):
    open_page(page, server, "detect", "&try=own")
    x = np.random.default_rng(0).standard_normal((4, 6, 5, 5))
    stream = io.BytesIO()
    np.savez(stream, x=x, y=(x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6))

    def send(name, content):
        file = {"name": name, "mimeType": "application/octet-stream", "buffer": content}
        page.locator("input[type=file]").set_input_files(files=[file])

    send("bad.npz", b"nothing")
    expect(page.get_by_text("not a .npz file")).to_be_visible()
    page.get_by_role("button", name="Remove").first.click()
    expect(page.get_by_text("not a .npz file")).to_be_hidden()  # a file sent before that is removed, too
    send("arrays.npz", stream.getvalue())
    expect(page.get_by_text("It was layer normalization over channels.")).to_be_visible()


@pytest.mark.parametrize(("panel", "link"), [("same", "&reveal=1"), ("variants", "&h=1&w=1"), ("detect", "&try=dense")])
def test_on_a_phone_nothing_is_cut(page, server, panel, link):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, panel, link)
    assert cut_off(page) == []
    assert page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390


@pytest.mark.parametrize("panel", ["same", "variants", "detect"])
def test_both_themes_and_no_barriers(page, server, panel):
    open_page(page, server, panel)
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []


def test_the_first_screen_has_a_question_then_its_answer_and_few_controls(page, server):
    page.set_viewport_size(SIZE)
    open_page(page, server, "same")
    graph = page.locator(".st-key-cubes .nv-graph")
    page.wait_for_selector(".st-key-cubes .nv-plot[data-drawn]")
    for part in (
        page.get_by_text("Hint"),
        *(page.get_by_role("button", name=name) for name in ("= Same", "≠ Different")),
        graph,
    ):
        expect(part).to_be_in_viewport(ratio=1)
    found = page.evaluate(CONTROLS)
    assert len(found) <= MOST, found
    page.get_by_role("button", name="≠ Different").click()
    answer = page.get_by_role("heading", name="= Same x̂")
    for part in (answer, page.get_by_text("γ and β differ:"), page.get_by_role("button", name="Next pair"), graph):
        expect(part).to_be_in_viewport(ratio=1)
    settle(page)
