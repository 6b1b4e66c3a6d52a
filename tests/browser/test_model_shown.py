"""Your model: its first screen, and the way of a layer to the tensor lab and back."""

import re

from looks import CONTROLS, barriers
from patience import settle, soon, visit
from playwright.sync_api import expect


def test_problems_and_layers_are_in_sight_and_a_layer_opens_in_the_lab(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    visit(page, f"{server}/model")
    settle(page)
    table = page.get_by_test_id("stDataFrame")
    for part in ("3 problems found", "Select a row", "eval() changes 6 of 7"):
        expect(page.get_by_text(part)).to_be_in_viewport(ratio=1)
    expect(page.locator(".st-key-channels")).to_be_in_viewport(ratio=1)
    expect(table).to_be_in_viewport(ratio=1)
    assert len(page.evaluate(CONTROLS)) <= 25
    assert barriers(page) == []
    box = table.bounding_box()
    page.mouse.click(box["x"] + 16, box["y"] + box["height"] * 7.5 / 9)  # the seventh of eight rows below the head
    expect(page.get_by_role("heading", name="norm: group norm")).to_be_visible()
    page.get_by_text("Details, and").click()
    page.get_by_role("link", name="Its activations in Tensor lab").click()
    expect(page.get_by_text("norm, Example: a ResNet")).to_be_attached()
    expect(page.get_by_role("heading", name="Group normalization")).to_be_visible()
    settle(page)
    page.go_back()
    expect(page).to_have_url(re.compile(r"/model\?layer=norm$"))
    expect(page.get_by_role("heading", name="norm: group norm")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 844})
    soon(page, lambda: page.evaluate("() => document.documentElement.scrollWidth") <= 390)
