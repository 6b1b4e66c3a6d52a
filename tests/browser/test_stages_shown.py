"""The cube collapses: what only a browser shows of the stages, played, stepped, scrubbed, and closed again."""

import numpy as np
import pytest
from conftest import Lab
from playwright.sync_api import expect

SHAPE = (4, 4, 4, 6)
MESH = "gd => ['x', 'y', 'z'].map(d => Array.from(gd.data.find(t => t.name === 'cells')[d]))"
LEVELS = "gd => Array.from(gd.data.find(t => t.name === 'cells').intensity)"


class Stages:
    """The controls below the cube."""

    def __init__(self, lab):
        self.lab, self.root = lab, lab.page.locator(".st-key-cube .nv-stages")
        self.sentence = lab.page.locator(".st-key-cube .nv-told p")
        close = self.root.get_by_role("button", name="Close")
        if close.is_visible():  # a test before this one has left the cube at a stage
            close.click()

    def press(self, name):
        self.root.get_by_role("button", name=name).click()

    def scrub(self, position):
        self.root.get_by_role("slider").evaluate(
            "(input, value) => { input.value = value; input.dispatchEvent(new Event('input')); }", position
        )

    @property
    def says(self):
        return self.sentence.inner_text()

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
    assert stages.says.endswith("Colour: μ.")
    assert lab.page.locator(".nv-chain li").all_inner_texts() == ["x", "μ", "x − μ", "σ²", "x̂", "y"]
    expect(lab.page.locator(".nv-chain [aria-current=step]")).to_have_text("μ")
    lab.soon(lambda: "μ = " in lab.readout)
    board = lab.page.locator(".st-key-cube .nv-board span")  # in large letters, below the cube
    assert [each.split() for each in board.all_inner_texts()] == [
        *([axis, "4", "→", "1", "averaged"] for axis in "NHW"),
        ["C", "6", "kept"],
    ]
    assert len(lab.graph("gd => gd.data.find(t => t.name === 'grid').x.filter(x => x !== null)")) == 24 * (1 + 6)
    assert "nv-lit" in lab.page.locator(".st-key-line-centred").get_attribute("class")
    stages.scrub(1.5)
    lab.soon(lambda: 1 < stages.extent()[2] < 16)
    stages.scrub(2)
    lab.soon(lambda: stages.extent() == before)
    assert [each.split("\n")[-1] for each in board.all_inner_texts()] == ["copied back"] * 3 + ["kept"]
    stages.scrub(7)
    lab.soon(lambda: "y = " in lab.readout)
    expect(stages.root.get_by_role("button", name="Step")).to_be_disabled()
    stages.press("Close")
    expect(board).to_have_count(0)
    expect(lab.page.locator(".nv-chain [aria-current]")).to_have_count(0)
    lab.soon(lambda: lab.graph(LEVELS) == levels)
    assert stages.extent() == before
    expect(lab.page.locator(".nv-lit")).to_have_count(0)
    assert "n = 0" in lab.readout


FOUR_TIMES_AS_FAST = """() => {
  const { requestAnimationFrame, performance } = window, now = performance.now.bind(performance);
  performance.now = () => 4 * now();
  window.requestAnimationFrame = (draw) => requestAnimationFrame((at) => draw(4 * at));
}"""


def test_it_plays_to_its_end_and_keeps_the_camera(new_page, server):
    lab = Lab(new_page, server).open("?colour=statistic")
    stages = Stages(lab)
    eye = "gd => gd._fullLayout.scene._scene.getCamera().eye"
    before = lab.graph(eye)
    lab.page.evaluate(FOUR_TIMES_AS_FAST)
    stages.press("Watch it happen")
    expect(stages.sentence).to_contain_text("2 / 8", timeout=20_000)
    lab.page.wait_for_function(
        "() => document.querySelector('.st-key-cube .nv-told p').textContent.startsWith('8 / 8')", timeout=60_000
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
    lab.number("C channels", "8")
    lab.soon(lambda: stages.extent() == pytest.approx([8, 4, 1], abs=1e-4))
    lab.point(0.5, 0.5)
    lab.soon(lambda: "μ = " in lab.readout)
    lab.open_select("More normalizations", "Without statistics: No norm")
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
    expect(stages.sentence).to_contain_text("3 / 8", timeout=30_000)
    assert set(lab.page.evaluate("window.seen")) <= set(range(8))
    lab.page.emulate_media(reduced_motion="no-preference")


def test_a_window_slides_and_nothing_collapses(lab):
    lab.open("?scheme=divisive&view=folded")
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
    expect(lab.page.locator(".st-key-cube .nv-stages button:visible")).to_have_count(0)


def test_a_field_of_many_elements_keeps_its_frame_when_it_has_collapsed(lab):
    lab.open("?n=1&h=1&w=1&c=12000&scheme=layer&colour=statistic")
    stages, edges = Stages(lab), "gd => Array.from(gd.data.find(t => t.name === 'edges').x.filter(x => x !== null))"
    stages.press("Watch it happen")
    stages.press("Pause")
    stages.scrub(1)
    lab.soon(lambda: "12,000 numbers become 1" in stages.says and stages.extent()[0] == pytest.approx(1, abs=1e-2))
    framed = lab.graph(edges)
    assert max(framed) - min(framed) == pytest.approx(1.08, abs=1e-2)


def test_the_field_of_the_stage_is_framed_where_mean_and_divisor_have_their_own(lab):
    lab.open("?scheme=custom&apart=1&a_n=own&a_h=full&a_w=full&a_c=own&b_n=full&b_h=own&b_w=own&b_c=own")
    stages, framed = Stages(lab), "gd => gd.data.find(t => t.name === 'edges').y.filter(y => y !== null)"
    stages.press("Watch it happen")
    stages.press("Pause")
    for position, depth in ((2, 1), (5, 4)):  # means are of one example, mean squares of all four
        stages.scrub(position)
        lab.soon(lambda depth=depth: np.ptp(lab.graph(framed)) == pytest.approx(depth, abs=0.1))
