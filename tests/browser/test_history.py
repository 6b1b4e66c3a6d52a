"""The browser's history: each step back undoes one thing that was done, on every page, and what was set stays."""

import pytest
import visitors
from menus import go
from pairs import mark_heavy_except
from patience import settle, soon, visit
from playwright.sync_api import Page, expect

from normviz.ui.page_texts import PAGE_TEXTS

NAMES = {"" if story is PAGE_TEXTS[0] else story.page: story.title for story in PAGE_TEXTS}
"""What the navigation calls a page, by its address."""

SET = {
    "design": ("dataset-rescaling=need", "All pictures get brighter", "One picture gets brighter"),
    "experiments": ("show=leak", "Can labels leak through the batch?", "Who needs large batches?"),
    "geometry": ("stage=gradient", "2 Gradient", "1 Normalize"),
    "gradients": ("show=formula", "Formula", "Step by step"),
    "invariance": ("panel=delta", "Effect of δ", "The case only"),
    "model": ("source=llama", "Example: a Llama block", "Example: a ResNet after 5 batches"),
    "running": ("panel=wrong", "What goes wrong", "Outputs"),
    "weights": ("show=spectral", "Spectral norm: how far can a layer stretch?", "Weight norm: faster training?"),
    "why": ("show=whitening", "Whitening", "Learning"),
}
"""What is chosen on a page: as the link has it, its name, and that of what was chosen before."""

SEED = "seed=5"
"""What is set on the other pages."""

SEEDS = {"claims": "First seed"}
"""What the control of that is called, by default "Seed"."""


LIGHT = ("", "experiments")
"""The pages of `make test`: one on which a number is set, and one on which a panel is chosen."""

UNSET = ("class", "lessons")
"""Pages that have no settings to change: they lead to others."""


class Walk:
    """A walk through the pages, by the menu."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url

    def open(self, address: str) -> None:
        visit(self.page, f"{self.url}/{address}")
        self.at(address)

    def go(self, name: str) -> None:
        go(self.page, NAMES[name])

    def back(self) -> None:
        self.page.evaluate("() => history.back()")

    def at(self, address: str) -> None:
        """It comes to this address, and stays there."""
        soon(self.page, lambda: self.page.url == f"{self.url}/{address}")
        settle(self.page)
        assert self.page.url == f"{self.url}/{address}"

    def set(self, name: str) -> None:
        """Set what SET and SEED say of the page."""
        if name in SET:
            self.page.get_by_role("radio", name=SET[name][1], exact=True).press("Space")  # some have a label over them
        else:
            seed = self.page.get_by_label(SEEDS.get(name, "Seed"), exact=True)
            if not seed.is_visible():
                self.page.get_by_test_id("stSidebar").get_by_text("Advanced", exact=True).click()
            seed.fill(SEED.partition("=")[2])
            seed.press("Enter")

    def shows(self, name: str, is_set: bool) -> None:
        """The page shows what is set there, or what was there before."""
        if name in SET:
            chosen = self.page.get_by_role("radio", name=SET[name][1 if is_set else 2], exact=True)
            expect(chosen).to_be_checked()
        else:
            seed = self.page.get_by_label(SEEDS.get(name, "Seed"), exact=True)
            expect(seed).to_have_value("5" if is_set else "0")


@pytest.mark.parametrize("name", mark_heavy_except(LIGHT, [page for page in visitors.PAGES if page not in UNSET]))
def test_each_step_back_undoes_one_thing(server, page, name):
    walk, other = Walk(page, server), "divisive?light=1" if name != "divisive" else "running?step=9"
    changed = f"{name}?{SET.get(name, (SEED,))[0]}"
    walk.open(other)
    walk.go(name)
    walk.at(name)
    walk.set(name)
    walk.at(changed)
    walk.go(other.partition("?")[0])  # where something is set as well
    walk.at(other)
    for address, is_set in ((changed, True), (name, False)):
        walk.back()
        walk.at(address)
        walk.shows(name, is_set)
    walk.back()
    walk.at(other)


def test_a_link_that_is_mended_is_no_step_of_its_own(server, page):
    walk = Walk(page, server)
    walk.open("divisive")
    visit(page, f"{server}/compare?n=0&seed=5")
    walk.at("compare?n=1&seed=5")
    walk.back()
    walk.at("divisive")
