"""The map of all schemes in a real browser: pointer, keyboard, touch, link, files, a phone, accessibility."""

from io import BytesIO
from xml.etree import ElementTree

import pytest
from looks import barriers, change_theme
from patience import settle, soon, visit
from PIL import Image
from playwright.sync_api import expect

from normviz.ui.palette import THEMES

NOTHING = ""
PLAIN = "weight-matrix-rescaling,dataset-rescaling"
BATCH = "weight-matrix-rescaling,weight-vector-rescaling,dataset-rescaling,dataset-recentering"

OUTSIDE = """drawing => [...drawing.querySelectorAll('.card')].flatMap((card) => {
  const box = card.querySelector('rect').getBoundingClientRect();
  const texts = [...card.querySelectorAll(':scope > text')].map((text) => [
    text.textContent, text.getBoundingClientRect()]);
  const count = card.querySelector('.count').getBoundingClientRect();
  const marks = [...card.querySelectorAll('.mark rect')].map((mark) => mark.getBoundingClientRect());
  return [...texts.filter(([, text]) => text.left < box.left || text.right > box.right || text.bottom > box.bottom + 2),
    ...marks.filter((mark) => mark.right > count.left).map(() => ['a mark under a number', card.dataset.code])];
})"""


def opened(page, url, link=""):
    visit(page, f"{url}/design?show=map{link}")
    page.wait_for_selector(".st-key-map .nv-diagram[data-drawn]")
    settle(page)
    return page.locator(".st-key-map svg[role=group]")


def card(page, code):
    return page.locator(f'.st-key-map .card[data-code="{code}"]')


def focused(page):
    return page.locator(".nv-diagram").evaluate("root => root.getRootNode().activeElement?.dataset.code")


def test_a_click_chooses_a_set_and_the_link_has_it(page, server):
    opened(page, server)
    card(page, BATCH).click()
    page.wait_for_url(lambda url: "weight-vector-rescaling" in url)
    expect(page.get_by_text("batch normalization").first).to_be_visible()
    settle(page)
    expect(card(page, BATCH)).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".nv-diagram .card.down")).to_have_count(5)
    expect(page.locator(".nv-diagram .card.up")).to_have_count(0)


def test_the_arrow_keys_go_along_the_lines_and_enter_chooses(page, server):
    opened(page, server, f"&set={PLAIN}")
    card(page, PLAIN).focus()
    page.keyboard.press("ArrowUp")
    above = focused(page)
    page.keyboard.press("ArrowRight")
    assert focused(page) not in (above, PLAIN)
    page.keyboard.press("ArrowLeft")
    assert focused(page) == above
    page.keyboard.press("ArrowDown")
    assert focused(page) == PLAIN
    page.keyboard.press("ArrowDown")
    assert focused(page) == NOTHING
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="The chosen set: 0 of 6 ignored")).to_be_visible()
    settle(page)
    assert focused(page) == NOTHING  # the focus stays where it was while the page changes
    expect(card(page, NOTHING)).to_have_attribute("aria-pressed", "true")


def test_on_a_phone_the_map_scrolls_in_its_box_and_a_tap_chooses(phone, server):
    opened(phone, server, "&layer=conv")
    wide, inner, outer = phone.locator(".nv-diagram .nv-scroll").evaluate(
        "box => [box.scrollWidth, box.clientWidth, document.documentElement.scrollWidth]"
    )
    assert wide > inner
    assert outer <= 390
    chosen = phone.locator(".card[aria-pressed=true]")
    box = chosen.bounding_box()
    assert 0 <= box["x"] <= box["x"] + box["width"] <= 390  # where the link leads is in sight
    card(phone, PLAIN).tap()
    expect(phone.get_by_role("heading", name="The chosen set: 2 of 6 ignored")).to_be_visible()


@pytest.mark.parametrize("link", ["", "&layer=conv&weights=any"])
def test_words_stay_on_their_cards(page, server, link):
    assert opened(page, server, link).evaluate(OUTSIDE) == []


def test_both_themes_no_barriers_and_the_picture_as_files(page, server):
    drawing = opened(page, server)
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
    files = {}
    for kind in ("PNG", "SVG"):
        page.locator(".st-key-map .nv-save summary").click()
        with page.expect_download() as download:
            page.locator(".st-key-map .nv-save").get_by_role("button", name=kind).click()
        files[kind] = download.value.path().read_bytes()
        assert download.value.suggested_filename == f"normviz-map.{kind.lower()}"
    saved = ElementTree.fromstring(files["SVG"])
    assert saved[0].text == drawing.get_attribute("aria-label")
    assert "Layer = Layer (channels)," in "".join(saved.itertext())
    image = Image.open(BytesIO(files["PNG"])).convert("L")
    ground = image.getpixel((3, 3))
    assert ground < 60  # that of the dark theme, which was the last
    assert sum(image.histogram()[200:]) > 1000  # the words on it
    soon(page, lambda: not page.locator(".st-key-map .nv-save").get_attribute("open"))
