"""Training is seen to happen: what only a browser shows of the player of Table 1's plot."""

import pytest
from patience import load, settle, soon
from playwright.sync_api import Page, expect

from normviz.core.registry import SCHEMES
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.table1.results import TableResultCache
from normviz.train.problem import ORIGINAL, find_network_index
from normviz.train.setting import Setting

SETTING = Setting(steps=20, batch=8, width=8)
LINK = "steps=20&batch=8&width=8&delta=3&shift=0.5&cell=batch.case-rescaling&reveal=1"


class Played:
    """The plot of a case and its player."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.plot, self.bar = page.locator(".nv-twins"), page.locator(".nv-twins .nv-bar")
        self.says, self.slider = self.plot.locator("output"), self.bar.get_by_role("slider")

    def open(self) -> "Played":
        load(self.page, f"{self.url}/invariance?{LINK}")
        self.page.locator(".st-key-training", has_text="Trained on").wait_for()
        settle(self.page)
        return self

    def press(self, name: str) -> None:
        self.bar.get_by_role("button", name=name).click()

    def scrub(self, step: int) -> None:
        self.slider.evaluate(f"input => {{ input.value = {step}; input.dispatchEvent(new Event('input')); }}")

    def hidden(self) -> float:
        """The share of the curves that is not shown."""
        return float(self.plot.evaluate("plot => parseFloat(getComputedStyle(plot).getPropertyValue('--hidden'))"))


@pytest.fixture
def played(server: str, page: Page) -> Played:
    return Played(page, server)


def test_the_training_is_played_in_the_browser(played):
    played.open()
    results, scheme = TableResultCache(), SCHEMES["batch"]
    results.compute_missing([scheme], SETTING)
    losses = results.get_losses(scheme, SETTING)[:, [ORIGINAL, find_network_index(TRANSFORMATIONS["case-rescaling"])]]
    expect(played.says).to_be_hidden()
    assert played.hidden() == 0
    assert f"Final loss: {losses[-1, 0]:.3g} (network), {losses[-1, 1]:.3g} (twin)." in played.page.inner_text("body")
    played.press("Watch them train")
    soon(played.page, lambda: 0 < played.hidden() < 100)
    played.press("Pause")
    played.scrub(5)
    expect(played.says).to_have_text(f"step 5 of 20: network {losses[4, 0]:.3g}, twin {losses[4, 1]:.3g}")
    assert played.hidden() == pytest.approx(75)
    played.slider.focus()
    played.page.keyboard.press("ArrowRight")
    expect(played.says).to_contain_text("step 6 of 20")
    played.press("Back")
    expect(played.says).to_contain_text("step 5 of 20")
    played.press("Play")
    expect(played.says).to_be_hidden()
    assert played.hidden() == 0


def test_with_less_motion_it_goes_in_ten_steps(played):
    played.open()
    played.page.emulate_media(reduced_motion="reduce")
    played.plot.evaluate(
        """plot => { window.seen = new Set(); const output = plot.querySelector("output");
        const look = () => { window.seen.add(output.textContent.split(":")[0]); requestAnimationFrame(look); };
        look(); }"""
    )
    again = played.bar.get_by_role("button", name="Watch them train")
    again.click()
    expect(again).to_be_hidden()
    expect(again).to_be_visible()
    seen = set(played.page.evaluate("() => [...window.seen]"))
    played.page.emulate_media(reduced_motion="no-preference")
    assert seen == {f"step {step} of 20" for step in range(0, 21, 2)}


def test_playing_asks_nothing_of_the_server(server, page):
    frames: list[int] = []
    page.on("websocket", lambda socket: socket.on("framesent", lambda frame: frames.append(len(frame))))
    played = Played(page, server).open()
    before = len(frames)
    played.press("Watch them train")
    soon(page, lambda: 0 < played.hidden() < 100)
    expect(played.says).to_be_hidden()
    assert len(frames) == before
