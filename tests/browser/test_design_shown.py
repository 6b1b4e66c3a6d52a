"""Find a scheme in a real browser: the first screen, a question by finger, by link and Back, and former links."""

import numpy as np
from looks import CONTROLS, barriers, change_theme, cut_off
from patience import settle, visit
from playwright.sync_api import expect

from normviz.charts.palette import THEMES
from normviz.topics.design.questions import BEST_KNOWN, QUESTIONS

DIM = """img => {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [img.naturalWidth, img.naturalHeight];
  const context = canvas.getContext("2d");
  context.drawImage(img, 0, 0);
  const bytes = context.getImageData(0, 0, canvas.width, canvas.height).data;
  return bytes.reduce((sum, each) => sum + each, 0) / bytes.length;
}"""
"""The mean of all bytes of a picture."""


def open_page(page, url, link=""):
    visit(page, f"{url}/design{link}")
    page.get_by_role("heading", level=1).wait_for()
    settle(page)


def shown(page):
    """All that the page says."""
    return page.locator(".stMain").inner_text()


def question(page, number):
    return page.get_by_role("radio", name=QUESTIONS[number].name)


def test_the_first_screen_has_an_answered_question_and_its_pictures(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server)
    heading = page.get_by_role("heading", name="Which normalizations ignore a picture’s brightness?")
    expect(heading).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("Layer, Instance, Group and RMS norm do. Batch norm does not.")).to_be_in_viewport(ratio=1)
    images = page.locator(".nv-answers img")
    expect(images).to_have_count(4 * (1 + len(BEST_KNOWN)))
    for number in range(images.count()):
        expect(images.nth(number)).to_be_in_viewport(ratio=1)
        assert images.nth(number).bounding_box()["width"] >= 120
    expect(page.locator(".nv-answers b")).to_have_text(
        ["≠ changed", "≠ changed", *["= the same"] * 5, "≠ changed", *["= the same"] * 4]
    )
    for number in range(len(QUESTIONS)):
        expect(page.get_by_text(QUESTIONS[number].name, exact=True).first).to_be_in_viewport(ratio=1)
    expect(page.get_by_text("Why?")).to_be_in_viewport(ratio=1)
    found = page.evaluate(CONTROLS)
    assert len(found) <= 25, found


def test_a_changed_picture_looks_changed_and_the_same_looks_the_same(page, server):
    open_page(page, server)
    images = page.locator(".nv-answers img")
    levels = [images.nth(number).evaluate(DIM) for number in range(images.count())]
    before, after, other, untouched = np.split(np.array(levels), 4)
    plain, batch, *others = after - before
    assert plain > 8
    assert batch > 8
    assert max(map(abs, others)) < 0.5
    plain, batch, *others = untouched - other
    assert batch < -2  # the bright picture makes the one beside it darker
    assert max(map(abs, [plain, *others])) < 0.5


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server)
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []


def test_on_a_phone_nothing_is_cut(phone, server):
    open_page(phone, server)
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
    assert phone.locator(".nv-answers img").first.bounding_box()["width"] >= 160
    assert cut_off(phone) == []
