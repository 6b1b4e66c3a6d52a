"""The cube collapses: what only a browser shows of the stages, played, stepped, scrubbed, and closed again."""

import numpy as np
import pytest
from playwright.sync_api import expect

SHAPE = (4, 4, 4, 6)
MESH = "gd => ['x', 'y', 'z'].map(d => Array.from(gd.data.find(t => t.name === 'cells')[d]))"
LEVELS = "gd => Array.from(gd.data.find(t => t.name === 'cells').intensity)"


class Stages:
    """The controls below the cube."""

    def __init__(self, lab):
        self.lab, self.root = lab, lab.page.locator(".st-key-cube .nv-stages")

    def press(self, name):
        self.root.get_by_role("button", name=name).click()

    def scrub(self, position):
        self.root.get_by_role("slider").evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", position
        )

    @property
    def says(self):
        return self.root.locator("p").inner_text()

    def extent(self):
        """How far the cells reach along x, y and z."""
        return [max(along) - min(along) for along in self.lab.graph(MESH)]


@pytest.fixture
def stages(lab):
    lab.open("?colour=statistic")
    return Stages(lab)


def test_the_cells_of_a_field_come_together_and_go_back(stages):
    lab, before, levels = stages.lab, stages.extent(), stages.lab.graph(LEVELS)
    assert before == [6, 4, 16]
    stages.press("Watch it happen")
    stages.press("Pause")
    stages.scrub(1)
    lab.soon(lambda: stages.extent() == pytest.approx([6, 1, 1], abs=1e-4))  # N, H and W averaged, C kept
    assert "384 numbers become 6" in stages.says
    lab.soon(lambda: "μ = " in lab.readout)
    assert "nv-lit" in lab.page.locator(".st-key-line-centred").get_attribute("class")
    stages.scrub(1.5)
    lab.soon(lambda: 1 < stages.extent()[2] < 16)
    stages.scrub(2)
    lab.soon(lambda: stages.extent() == before)
    stages.scrub(7)
    lab.soon(lambda: "y = " in lab.readout)
    expect(stages.root.get_by_role("button", name="Step")).to_be_disabled()
    stages.press("Close")
    lab.soon(lambda: lab.graph(LEVELS) == levels)
    assert stages.extent() == before
    assert lab.page.locator(".nv-lit").count() == 0
    assert "n = 0" in lab.readout


def test_it_plays_to_its_end_and_keeps_the_camera(stages):
    lab = stages.lab
    eye = "gd => gd._fullLayout.scene._scene.getCamera().eye"
    before = lab.graph(eye)
    stages.press("Watch it happen")
    expect(stages.root.locator("p")).to_contain_text("2 / 8", timeout=20_000)
    lab.page.wait_for_function(
        "() => document.querySelector('.st-key-cube .nv-stages p').textContent.startsWith('8 / 8')", timeout=60_000
    )
    expect(stages.root.get_by_role("button", name="Play")).to_be_visible(timeout=20_000)
    assert lab.graph(eye) == pytest.approx(before, abs=1e-6)
    stages.press("Back")
    lab.soon(lambda: stages.says.startswith("7 / 8"))


def test_other_numbers_and_another_scheme_while_it_stands_at_a_stage(stages):
    lab = stages.lab
    stages.press("Watch it happen")
    stages.press("Pause")
    stages.scrub(1)
    lab.soon(lambda: stages.extent()[2] == pytest.approx(1, abs=1e-4))
    lab.pick("Instance")
    lab.soon(lambda: stages.extent() == pytest.approx([6, 4, 1], abs=1e-4))
    lab.number("C (channels)", "8")
    lab.soon(lambda: stages.extent() == pytest.approx([8, 4, 1], abs=1e-4))
    lab.point(0.5, 0.5)
    lab.soon(lambda: "μ = " in lab.readout)
    lab.pick("None")
    expect(stages.root).to_be_hidden()
    lab.soon(lambda: stages.extent() == [8, 4, 16])


def test_steps_without_a_movement_where_motion_is_reduced(stages):
    lab = stages.lab
    lab.page.emulate_media(reduced_motion="reduce")
    lab.page.evaluate(
        """() => { window.seen = [];
        const slider = document.querySelector(".st-key-cube .nv-stages input");
        const look = () => { window.seen.push(Number(slider.value)); requestAnimationFrame(look); }; look(); }"""
    )
    stages.press("Watch it happen")
    expect(stages.root.locator("p")).to_contain_text("3 / 8", timeout=30_000)
    assert set(lab.page.evaluate("window.seen")) <= set(range(8))
    lab.page.emulate_media(reduced_motion="no-preference")


def test_a_window_slides_and_nothing_collapses(lab):
    lab.open("?scheme=divisive")
    stages = Stages(lab)
    stages.press("Watch it happen")
    stages.press("Pause")
    stages.scrub(0.5)
    lab.soon(lambda: "Each element has its own window" in stages.says)
    assert stages.extent() == [6, 4, 16]
    levels = np.array(lab.graph(LEVELS))
    stages.scrub(1)
    lab.soon(lambda: not np.array_equal(lab.graph(LEVELS), levels))


def test_what_is_too_large_to_move_says_so(lab):
    lab.open("?n=16&h=8&w=8&c=64")
    expect(lab.page.locator(".st-key-cube .nv-stages")).to_contain_text("Up to 16,384 elements")
    assert lab.page.locator(".st-key-cube .nv-stages button:visible").count() == 0
