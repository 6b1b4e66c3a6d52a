"""Every figure is saved as it is shown, as PNG and as SVG."""

from base64 import b64decode
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
import pytest
from pairs import mark_heavy_except
from patience import settle, visit
from PIL import Image, ImageColor

from normviz.charts.palette import THEMES


def saved(page, key, kind):
    """The bytes and the name of a figure's picture."""
    page.locator(f".st-key-{key} .nv-save summary").click()
    with page.expect_download() as download:
        page.locator(f".st-key-{key} .nv-save").get_by_role("button", name=kind).click()
    return download.value.path().read_bytes(), download.value.suggested_filename


def share(image, colour, tolerance=40):
    """Of the pixels, those that are close to a colour."""
    pixels = np.asarray(image.convert("RGB"), dtype=int)
    return (np.abs(pixels - ImageColor.getrgb(colour)).max(axis=-1) <= tolerance).mean()


@pytest.mark.parametrize("theme", mark_heavy_except(["dark"], THEMES))
def test_a_cube_is_saved_as_it_is_shown(new_page, server, theme):
    page = new_page
    page.emulate_media(color_scheme=theme)
    visit(page, f"{server}/?n=2&h=2&w=2&c=3")
    page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    settle(page)
    size = page.locator(".st-key-cube .nv-graph").evaluate("graph => [2 * graph.clientWidth, 2 * graph.clientHeight]")
    content, name = saved(page, "cube", "PNG")
    assert name == "normviz-cube.png"
    image = Image.open(BytesIO(content))
    assert list(image.size) == size
    background = page.evaluate("getComputedStyle(document.querySelector('.stApp')).backgroundColor")
    assert image.convert("RGB").getpixel((5, 5)) == ImageColor.getrgb(background)
    image.thumbnail((200, 200))
    assert share(image, THEMES[theme].field) > 0.01
    page.locator(".st-key-cube .js-plotly-plot").evaluate(
        "gd => Plotly.relayout(gd, {'scene.camera.eye': {x: 0, y: 0, z: 3}})"
    )
    turned, _ = saved(page, "cube", "PNG")
    assert turned != content  # the camera is that of the page
    assert not page.locator(".st-key-cube .nv-save").get_attribute("open")


def test_a_chart_is_saved_as_svg_with_its_words(page, server):
    visit(page, f"{server}/divisive")
    page.wait_for_selector(".st-key-response .nv-plot[data-drawn]")
    settle(page)
    content, name = saved(page, "response", "SVG")
    drawn = ElementTree.fromstring(content)
    assert name == "normviz-response.svg"
    assert drawn[0].tag.endswith("title")
    assert drawn[0].text == page.locator(".st-key-response .nv-graph").get_attribute("aria-label")
    assert "contrast" in "".join(drawn.itertext())


def test_a_chart_is_saved_as_a_web_page_that_fills_the_window(page, context, server, tmp_path):
    visit(page, f"{server}/divisive")
    page.wait_for_selector(".st-key-response .nv-plot[data-drawn]")
    settle(page)
    content, name = saved(page, "response", "Web page")
    path = tmp_path / name
    path.write_bytes(content)
    alone = context.browser.new_context(offline=True)
    copy = alone.new_page()
    copy.goto(path.as_uri())
    copy.wait_for_selector(".nv-plot[data-drawn]")
    label = page.locator(".st-key-response .nv-graph").get_attribute("aria-label")
    assert copy.locator(".nv-graph").get_attribute("aria-label") == label
    assert label.startswith(copy.title())
    sizes = copy.evaluate("[document.querySelector('.nv-graph').clientHeight, innerHeight]")
    assert sizes[0] > 0.7 * sizes[1]
    assert copy.locator(".scatterlayer path").count() > 3
    alone.close()


def test_pictures_are_saved_beside_each_other(page, server):
    visit(page, f"{server}/divisive?data=digits")
    page.wait_for_selector(".st-key-contrast .nv-picture[data-drawn]")
    settle(page)
    content, name = saved(page, "contrast", "PNG")
    assert name == "normviz-contrast.png"
    shown = np.asarray(Image.open(BytesIO(content)).convert("L"), dtype=int)
    assert shown.shape == (1024, 3 * 1024 + 2 * 32)
    greys = "(canvas) => [...canvas.getContext('2d').getImageData(0, 0, 1, 8).data].filter((_, k) => k % 4 === 0)"
    canvases = page.locator(".st-key-contrast canvas")
    for k in range(3):
        assert shown[64::128, k * (1024 + 32)].tolist() == canvases.nth(k).evaluate(greys)
    content, _ = saved(page, "contrast", "SVG")
    drawn = ElementTree.fromstring(content)
    assert drawn[0].text == page.locator(".st-key-contrast .view").get_attribute("aria-label")
    again = Image.open(BytesIO(b64decode(drawn[1].get("href").partition(",")[2]))).convert("L")
    np.testing.assert_array_equal(np.asarray(again, dtype=int), shown)


def test_a_cube_is_saved_as_a_web_page_as_it_is_shown(new_page, context, server, tmp_path):
    page = new_page
    page.emulate_media(color_scheme="dark")
    visit(page, f"{server}/?n=2&h=2&w=2&c=3&scheme=layer&focus=1,0,1,2&gaps=c")
    page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    settle(page)
    content, name = saved(page, "cube", "Web page")
    assert name == "normviz-cube.html"
    path = tmp_path / name
    path.write_bytes(content)
    shown = page.locator(".st-key-cube .nv-readout").inner_text()
    alone = context.browser.new_context(offline=True, color_scheme="light")
    copy, asked = alone.new_page(), []
    copy.on("request", lambda request: asked.append(request.url))
    copy.goto(path.as_uri())
    copy.wait_for_selector(".nv-plot[data-drawn]")
    assert asked == [path.as_uri()]
    assert copy.title() == "Layer normalization, N × H × W × C = 2 × 2 × 2 × 3"
    assert copy.locator(".nv-readout").inner_text() == shown
    assert copy.locator("[data-part=c]").get_attribute("aria-pressed") == "true"
    assert copy.evaluate("getComputedStyle(document.body).backgroundColor") == page.evaluate(
        "getComputedStyle(document.querySelector('.stApp')).backgroundColor"
    )
    assert copy.locator(".nv-save button").all_text_contents() == ["PNG", "SVG"]
    alone.close()
