"""The compare page in a real browser: one scene, one highlight in every cube, links, themes, accessibility."""

import pytest
from looks import barriers, change_theme
from menus import go
from patience import drag, load, settle, soon, visit
from pills import named
from playwright.sync_api import expect
from test_first_screen_shown import CONTROLS, MOST, SIZE

from normviz.charts.cube_layout import compute_layout, count_gapless_boxes
from normviz.charts.palette import THEMES
from normviz.core.registry import SCHEMES

SIX = "batch,layer,layer-channels,instance,group,rms"
SHAPE = (4, 4, 4, 6)


def open_page(page, url, link=""):
    load(page, f"{url}/compare{link}")
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
    layout = compute_layout("folded", SHAPE)
    corners = lit(page, "field")
    for key in SIX.split(","):
        count = 24 * count_gapless_boxes(
            layout, SCHEMES[key].field.find_box((1, 2, 1, 4), SHAPE)
        )  # of a part, the corners of its faces
        here, corners = corners[:count], corners[count:]
        sizes = [round(max(p[d] for p in here) - min(p[d] for p in here) - 0.06) for d in range(3)]
        box = SCHEMES[key].field.find_box((1, 2, 1, 4), SHAPE)
        n, h, w, c = (stop - start for start, stop in box)
        assert (sizes[0], sizes[1]) == (c, n), key
        assert sizes[2] == ((h - 1) * 4 + w if w == 4 or h == 1 else sizes[2]), key
    assert len(lit(page, "element")) == 6 * 24


def test_hover_and_a_click_in_any_cube(page, server):
    open_page(page, server, f"?schemes={SIX}")
    readout = page.locator(".st-key-cubes .nv-readout")
    seen, before = set(), readout.inner_text()
    for left, right, top, bottom in ends(page, 6):
        page.mouse.move((left + right) / 2, top + 0.3 * (bottom - top))
        soon(page, lambda: readout.inner_text() != before)
        seen.add(readout.inner_text())
    assert len(seen) == 1  # alike places of alike cubes
    assert all(text.count("=") == 4 + 1 + 6 + 1 for text in seen)
    page.mouse.down()
    page.mouse.up()
    page.wait_for_url("**focus=**")
    settle(page)
    soon(page, lambda: readout.inner_text() in seen)


def test_the_camera_stays_when_a_scheme_or_a_colour_changes(page, server):
    open_page(page, server, "?schemes=batch,layer")
    camera = "() => document.querySelector('.st-key-cubes .js-plotly-plot')._fullLayout.scene._scene.getCamera().eye"
    box, before = page.locator(".st-key-cubes .nv-graph").bounding_box(), page.evaluate(camera)
    x, y, width, height = (box[side] for side in ("x", "y", "width", "height"))
    drag(page, (x + 0.1 * width, y + 0.5 * height), (x + 0.3 * width, y + 0.4 * height))
    soon(page, lambda: page.evaluate(camera) != before)
    page.wait_for_timeout(500)  # the camera glides to a stop
    turned = page.evaluate(camera)
    page.get_by_test_id("stSidebar").get_by_text("Advanced", exact=True).click()
    page.get_by_text("Statistic", exact=True).click()
    page.wait_for_url("**colour=statistic**")
    settle(page)
    named(page, "RMS").click()
    page.wait_for_url("**rms**")
    settle(page)
    kept = page.evaluate(camera)
    assert kept == pytest.approx(turned, abs=1e-6)


def test_a_link_restores_the_page_and_the_tensor_follows_to_the_lab(page, server):
    open_page(page, server, "?n=2&h=3&w=2&c=8&schemes=group,layer&groups=4&data=digits&focus=1,2,1,5")
    soon(page, lambda: page.locator("table th").all_text_contents()[1:3] == ["Group", "Layer"])
    soon(page, lambda: "n = 1  h = 2  w = 1  c = 5" in page.locator(".st-key-cubes .nv-readout").inner_text())
    go(page, "Tensor lab")
    page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    expect(page.get_by_label("C channels")).to_have_value("8")


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server)
    colour = "() => getComputedStyle(document.querySelector('.nv-heading')).fill.match(/\\d+/g).slice(0, 3).map(Number)"
    for theme in THEMES:
        change_theme(page, theme)
        soon(page, lambda theme=theme: (sum(page.evaluate(colour)) < 3 * 128) == (theme == "light"))
        assert barriers(page) == []


PLACES = """() => {
  const { _fullData, _fullLayout } = document.querySelector('.st-key-cubes .js-plotly-plot');
  const { container, glplot, dataScale } = _fullLayout.scene._scene, box = container.getBoundingClientRect();
  const times = (m, v) => [0, 1, 2, 3].map((row) => v.reduce((sum, part, k) => sum + m[4 * k + row] * part, 0));
  const { projection, view, model } = glplot.cameraParams, { x, y, z } = _fullData.find((t) => t.name === "cells");
  return [...x].map((v, i) => {
    const here = [v, y[i], z[i]].map((p, d) => p * dataScale[d]).concat(1);
    const [a, b, , w] = times(projection, times(view, times(model, here)));
    return [box.left + (1 + a / w) / 2 * box.width, box.top + (1 - b / w) / 2 * box.height];
  });
}"""
TURN = "eye => Plotly.relayout(document.querySelector('.st-key-cubes .js-plotly-plot'), {'scene.camera.eye': eye})"


def ends(page, copies):
    """Where each cube ends on the screen: left, right, top and bottom."""
    places = page.evaluate(PLACES)
    size = len(places) // copies
    found = []
    for k in range(copies):
        across, down = zip(*places[k * size : (k + 1) * size], strict=True)
        found.append((min(across), max(across), min(down), max(down)))
    return found


def in_a_row(cubes):
    left, right, top, bottom = zip(*cubes, strict=True)
    level = max(top) - min(top) < 1 and max(bottom) - min(bottom) < 1
    return level and all(b < a for b, a in zip(right, left[1:], strict=False))


def test_cubes_stand_on_one_baseline_over_the_width_however_they_are_turned(page, server):
    open_page(page, server)
    frame = page.locator(".st-key-cubes .nv-graph").bounding_box()
    cubes = ends(page, 4)
    assert in_a_row(cubes)
    assert cubes[-1][1] - cubes[0][0] > 0.75 * frame["width"]
    for eye in ({"x": -1.4, "y": -1.2, "z": 0.4}, {"x": 0.4, "y": 1.9, "z": -0.5}):
        page.evaluate(TURN, eye)
        soon(page, lambda: in_a_row(ends(page, 4)))
    names = page.locator(".st-key-cubes .nv-heading").all_text_contents()
    assert names == ["Batch", "Layer", "Instance", "Group, G = 2"]
    titles = page.locator(".st-key-cubes .nv-title").all_text_contents()
    assert sum(title.startswith("H and W") for title in titles) == 4


def test_on_a_phone_all_cubes_are_in_the_picture_in_rows(page, server):
    page.set_viewport_size({"width": 390, "height": 844})
    open_page(page, server, f"?schemes={SIX}")
    box = page.locator(".st-key-cubes .nv-graph").bounding_box()
    cubes = ends(page, 6)
    for left, right, top, bottom in cubes:
        assert box["x"] < left < right < box["x"] + box["width"]
        assert box["y"] < top < bottom < box["y"] + box["height"]
        assert right - left > 60
    assert all(in_a_row(cubes[k : k + 2]) for k in (0, 2, 4))
    assert min(text.bounding_box()["height"] for text in page.locator(".st-key-cubes .nv-labels text").all()) > 11
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390


def test_the_first_screen_has_the_cubes_with_a_sentence_each_and_few_controls(page, server):
    page.set_viewport_size(SIZE)
    visit(page, f"{server}/compare")
    page.wait_for_selector(".st-key-cubes .nv-plot[data-drawn]")
    settle(page)
    expect(page.locator(".st-key-cubes .nv-graph")).to_be_in_viewport(ratio=1)
    sentences = page.get_by_text("Works with N = 1:")
    expect(sentences).to_have_count(4)
    for place in range(4):
        expect(sentences.nth(place)).to_be_in_viewport(ratio=1)
    page.mouse.move(1000, 130)  # over the sidebar or a figure, it would show more
    found = page.evaluate(CONTROLS)
    assert len(found) <= MOST, found
