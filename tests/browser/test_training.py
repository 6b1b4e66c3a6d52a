"""Training is seen to happen: what only a browser shows of Table 1's player, of the open cell, and of a phone."""

import pytest
from normviz.table1.playback import Curve, playback
from patience import load, settle, soon
from playwright.sync_api import Page, expect

from normviz.core.schemes import SCHEMES
from normviz.core.transformations import PAPER, TRANSFORMATIONS
from normviz.describe.wording import gap_text
from normviz.networks.setting import Setting
from normviz.table1 import state
from normviz.table1.results import Results

SETTING = Setting(steps=20, batch=8, width=8)
SMALL = "steps=20&batch=8&width=8"


class Played:
    """The grid, its player and the open cell."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.bar, self.grid = page.locator(".nv-grid .nv-bar"), page.locator(".nv-grid")
        self.says, self.slider = self.bar.locator("output"), self.bar.get_by_role("slider")
        self.opened = page.locator(".st-key-opened h2")

    def open(self, link: str = SMALL) -> "Played":
        load(self.page, f"{self.url}/invariance?{link}")
        self.page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
        self.page.locator(".st-key-cancel").wait_for(state="detached")
        self.page.locator(".nv-grid .wait").first.wait_for(state="detached")
        settle(self.page)
        return self

    def cell(self, key: str):
        return self.page.locator(f'.nv-grid [data-cell="{key}"]')

    def scrub(self, step: int) -> None:
        self.slider.evaluate(f"input => {{ input.value = {step}; input.dispatchEvent(new Event('input')); }}")

    def trained(self) -> list[str]:
        return self.grid.locator(".counts b").all_inner_texts()

    def hidden(self) -> float:
        """The share of the curves that is not shown."""
        return float(self.grid.evaluate("grid => parseFloat(getComputedStyle(grid).getPropertyValue('--hidden'))"))


@pytest.fixture
def played(server: str, page: Page) -> Played:
    return Played(page, server)


def test_the_training_is_played_in_the_browser(played):
    played.open()
    at_the_end = played.trained()
    results = Results()
    schemes = [SCHEMES[key] for key in PAPER]
    results.fill(schemes, SETTING)
    expect(played.says).to_have_text("step 20 of 20")
    assert played.hidden() == 0
    played.scrub(0)
    assert set(played.trained()) == {""}
    played.scrub(5)
    curves = {
        f"{scheme.key}.{change}": Curve(row, 1 + column, "")
        for row, scheme in enumerate(schemes)
        for column, change in enumerate(TRANSFORMATIONS)
    }
    gaps = playback([results.losses(scheme, SETTING) for scheme in schemes], 20, curves)["gaps"]
    assert played.trained() == [gap_text(float(gap)) for gap in gaps[:, 4]]
    assert played.hidden() == pytest.approx(75)
    expect(played.grid.locator(".counts svg:visible").first).to_be_visible()
    played.slider.focus()
    played.page.keyboard.press("ArrowRight")
    expect(played.says).to_have_text("step 6 of 20")
    played.bar.get_by_role("button", name="Back").click()
    expect(played.says).to_have_text("step 5 of 20")
    played.bar.get_by_label("Speed").select_option("4")
    played.bar.get_by_role("button", name="Play").click()
    expect(played.says).to_have_text("step 20 of 20")
    assert played.trained() == at_the_end
    again = played.bar.get_by_role("button", name="Watch it train")
    played.page.emulate_media(reduced_motion="reduce")
    played.page.evaluate(
        """() => { window.seen = new Set(); const output = [...document.querySelectorAll(".st-key-grid *")]
        .find((e) => e.shadowRoot).shadowRoot.querySelector("output");
        const look = () => { window.seen.add(output.textContent); requestAnimationFrame(look); }; look(); }"""
    )
    again.click()
    expect(again).to_be_visible()
    seen = set(played.page.evaluate("() => [...window.seen]"))
    assert seen == {f"step {step} of 20" for step in range(0, 21, 2)}


def test_playing_asks_nothing_of_the_server(server, page):
    frames: list[int] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: frames.append(len(frame))))
    played = Played(page, server).open()
    before = len(frames)
    played.bar.get_by_label("Speed").select_option("4")
    played.bar.get_by_role("button", name="Watch it train").click()
    soon(page, lambda: 0 < played.hidden() < 100)
    expect(played.says).to_have_text("step 20 of 20")
    assert len(frames) == before


@pytest.mark.parametrize("rows", ["batch,weight,layer", ",".join(state.ORDER)])
def test_the_open_cell_stands_beside_the_grid_in_sight(played, rows):
    played.open(f"schemes={rows}&steps=5&batch=8&width=8&cell=batch.dataset-rescaling")
    last = played.grid.locator("td button").last
    for width, height in ((1280, 900), (1920, 1080)):
        played.page.set_viewport_size({"width": width, "height": height})
        for cell in (played.grid.locator("td button").first, last):
            cell.scroll_into_view_if_needed()
            settle(played.page)
            beside, panel = cell.bounding_box(), played.page.locator(".st-key-opened").bounding_box()
            assert panel["x"] >= beside["x"] + beside["width"]
            seen = min(panel["y"] + panel["height"], height) - max(panel["y"], 0)
            assert seen > 0.4 * height
            assert played.grid.evaluate("grid => { const scroll = grid.querySelector('.nv-scroll');"
                                        "return scroll.scrollWidth <= scroll.clientWidth; }")  # fmt: skip


def test_on_a_phone_a_tapped_cell_comes_into_sight_with_a_way_back_and_delta_is_dragged_beside_the_table(played):
    played.page.set_viewport_size({"width": 390, "height": 844})
    played.open()
    page, cell = played.page, played.cell("layer.weight-matrix-rescaling")
    cell.click()
    expect(played.opened).to_contain_text("Layer normalization: weight matrix re-scaling")
    bar = page.locator(".st-key-dragged")
    soon(page, lambda: bar.bounding_box()["y"] >= 0 and played.opened.bounding_box()["y"] < 500)
    settle(page)
    soon(page, lambda: bar.bounding_box()["y"] + bar.bounding_box()["height"] <= played.opened.bounding_box()["y"])
    back = page.get_by_role("button", name="Back to the table")
    assert back.bounding_box()["height"] >= 44
    back.click()
    soon(page, lambda: 150 < cell.bounding_box()["y"] < 700)
    expect(back).to_be_hidden()
    delta = page.locator(".st-key-delta input")
    before = played.cell("layer.weight-vector-rescaling").inner_text()
    delta.press("ArrowRight")
    soon(page, lambda: played.cell("layer.weight-vector-rescaling").inner_text() != before)
    assert 0 < delta.bounding_box()["y"] < cell.bounding_box()["y"] < 700  # both in sight


def test_predicting_first_is_the_way_in(played):
    played.open()
    page = played.page
    page.get_by_role("button", name="Predict first").click()
    expect(played.grid.locator(".covered")).to_have_count(18)
    assert played.grid.locator(".curves").count() == 0
    expect(played.bar).to_be_hidden()  # there is nothing to play
    page.get_by_role("button", name="Invariant", exact=True).click()
    page.get_by_text("The class said: invariant. Right.").wait_for()
    assert played.grid.locator(".curves").count() == 1
    page.get_by_role("button", name="Next cell").click()
    page.get_by_role("heading", name="Is batch normalization invariant to weight matrix re-centring?").wait_for()
    page.get_by_role("button", name="Stop predicting").click()
    expect(played.grid.locator(".covered")).to_have_count(0)
    expect(page.get_by_role("button", name="Predict first")).to_have_count(1)
