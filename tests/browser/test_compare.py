"""The compare page in a real browser: one scene, one highlight in every cube, links, themes, accessibility."""

import pytest
from looks import barriers, change_theme
from patience import settle, soon
from playwright.sync_api import expect

from normviz.core.schemes import SCHEMES
from normviz.cube.figure import ROW_RATIO
from normviz.cube.layout import layout_of, pitch
from normviz.ui.palette import THEMES

SIX = "batch,layer,layer-channels,instance,group,rms"
SHAPE = (4, 4, 4, 6)


def open_page(page, url, link=""):
    page.goto(f"{url}/compare{link}")
    page.wait_for_selector(".st-key-cubes .nv-plot[data-drawn]")
    settle(page)


def lit(page, name):
    """The corners of a highlight, as x, y, z."""
    return page.evaluate(
        "name => { const { _fullData } = document.querySelector('.st-key-cubes .js-plotly-plot');"
        " const t = _fullData.find((t) => t.name === name); return [...t.x].map((x, i) => [x, t.y[i], t.z[i]]) }",
        name,
    )


def test_six_cubes_are_one_scene_and_the_field_lights_in_each(page, server):
    open_page(page, server, f"?schemes={SIX}&focus=1,2,1,4")
    expect(page.locator(".st-key-cubes canvas")).to_have_count(1)
    layout = layout_of("folded", SHAPE)
    corners = lit(page, "field")
    for k, key in enumerate(SIX.split(",")):
        lo, hi = k * pitch(layout) - 0.5, k * pitch(layout) + layout.extent[0] + 0.5
        here = [point for point in corners if lo <= point[0] <= hi]
        sizes = [round(max(p[d] for p in here) - min(p[d] for p in here) - 0.06) for d in range(3)]
        box = SCHEMES[key].field.box((1, 2, 1, 4), SHAPE)
        n, h, w, c = (stop - start for start, stop in box)
        assert (sizes[0], sizes[1]) == (c, n), key
        assert sizes[2] == ((h - 1) * 4 + w if w == 4 or h == 1 else sizes[2]), key
    assert len(lit(page, "element")) == 6 * 24


def test_hover_and_a_click_in_any_cube(page, server):
    open_page(page, server, f"?schemes={SIX}")
    readout = page.locator(".st-key-cubes .nv-readout")
    first = readout.inner_text()
    box = page.locator(".st-key-cubes .nv-graph").bounding_box()
    seen = set()
    for across in (0.32, 0.42, 0.52, 0.62, 0.72):
        page.mouse.move(box["x"] + across * box["width"], box["y"] + 0.55 * box["height"])
        page.wait_for_timeout(400)
        seen.add(readout.inner_text())
    assert len(seen - {first}) >= 2
    assert all(text.count("=") == 4 + 1 + 6 for text in seen)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**focus=**")
    settle(page)
    soon(page, lambda: page.locator("table").first.inner_text().count("Field of n") == 1)
    soon(page, lambda: readout.inner_text() in seen)


def test_the_camera_stays_when_a_scheme_or_a_colour_changes(page, server):
    open_page(page, server, "?schemes=batch,layer")
    camera = "() => document.querySelector('.st-key-cubes .js-plotly-plot')._fullLayout.scene._scene.getCamera().eye"
    box, before = page.locator(".st-key-cubes .nv-graph").bounding_box(), page.evaluate(camera)
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.5 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 0.4 * box["height"], steps=4)
    page.mouse.up()
    soon(page, lambda: page.evaluate(camera) != before)
    page.wait_for_timeout(500)  # the camera glides to a stop
    turned = page.evaluate(camera)
    page.get_by_text("Statistic", exact=True).click()
    page.wait_for_url("**colour=statistic**")
    settle(page)
    page.get_by_text("RMS", exact=True).click()
    page.wait_for_url("**rms**")
    settle(page)
    kept = page.evaluate(camera)
    assert kept == pytest.approx(turned, abs=1e-6)


def test_a_link_restores_the_page_and_the_tensor_follows_to_the_lab(page, server):
    open_page(page, server, "?n=2&h=3&w=2&c=8&schemes=group,layer&groups=4&data=digits&focus=1,2,1,5")
    soon(page, lambda: page.locator("table th").all_inner_texts()[1:3] == ["Group", "Layer"])
    soon(page, lambda: "n = 1  h = 2  w = 1  c = 5" in page.locator(".st-key-cubes .nv-readout").inner_text())
    page.get_by_role("link", name="Tensor lab").click()
    page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    expect(page.get_by_label("C (channels)")).to_have_value("8")


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server)
    find = "_fullData.find((t) => t.name === 'blocks')"
    font = f"() => document.querySelector('.st-key-cubes .js-plotly-plot').{find}.textfont.color"
    for theme in THEMES:
        change_theme(page, theme)
        soon(page, lambda ink=THEMES[theme].ink: page.evaluate(font).lower() == ink.lower())
        assert barriers(page) == []


def test_on_a_phone_the_whole_row_is_in_the_picture(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server)
    box = page.locator(".st-key-cubes .nv-graph").bounding_box()
    assert box["width"] / box["height"] >= ROW_RATIO - 0.01  # the camera fits the row into such a frame
    size = (
        "() => document.querySelector('.st-key-cubes .js-plotly-plot').data.find((t) => t.name === 'blocks').textfont"
    )
    assert page.evaluate(size)["size"] < 11  # names of 17 pixels would lie over each other
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
