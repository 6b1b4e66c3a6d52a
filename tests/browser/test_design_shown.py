"""The page on design in a real browser: every panel in both themes, on a phone under a finger, and by link and Back."""

import re

import pytest
from looks import barriers, change_theme, cut_off
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.design.state import SHOWN
from normviz.ui.palette import THEMES

BATCH = "weight-matrix-rescaling,weight-vector-rescaling,dataset-rescaling,dataset-recentering"
"""The changes that batch norm ignores on a dense layer."""

CHOICES = {
    "find": (
        "case-rescaling=need",
        lambda page: page.get_by_role("button", name="Ignores the scale of one example"),
    ),
    "map": ("weight-vector-rescaling", lambda page: page.locator(f'.st-key-map .card[data-code="{BATCH}"]')),
    "pointwise": ("function=dynamic-erf", lambda page: page.get_by_role("radio", name="Dynamic erf")),
    "conditional": ("source=normalized", lambda page: page.get_by_role("radio", name="A gate: x̂")),
}
"""By panel, a choice on it: as the link has it, and what to press."""


def open_page(page, url, link):
    visit(page, f"{url}/design{link}")
    page.get_by_role("heading", level=1).wait_for()
    settle(page)


def shown(page):
    """All that the page says."""
    return page.locator(".stMain").inner_text()


def wide(page):
    """How far the page reaches to the right, pixels."""
    return page.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth")


@pytest.mark.parametrize("show", SHOWN)
def test_both_themes_and_no_barriers(page, server, show):
    open_page(page, server, f"?show={show}")
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []


@pytest.mark.parametrize("show", SHOWN)
def test_on_a_phone_a_finger_comes_to_every_panel_and_nothing_is_cut(phone, server, show):
    open_page(phone, server, "?show=pointwise" if show == "find" else "")
    phone.get_by_role("radio", name=SHOWN[show], exact=True).tap()
    soon(phone, lambda: phone.url.endswith("/design" if show == "find" else f"?show={show}"))
    settle(phone)
    assert wide(phone) <= 390
    assert cut_off(phone) == []


@pytest.mark.parametrize(
    "show", sorted(CHOICES.keys() - {"pointwise"})
)  # whose choices are in the sidebar, folded on a phone
def test_a_choice_is_made_by_a_finger(phone, server, show):
    link, choice = CHOICES[show]
    open_page(phone, server, f"?show={show}")
    choice(phone).tap()
    phone.wait_for_url(f"**{link}**")


@pytest.mark.parametrize("show", CHOICES)
def test_back_undoes_a_choice_and_its_link_opens_it(page, server, show):
    link, choice = CHOICES[show]
    open_page(page, server, f"?show={show}")
    before = shown(page)
    choice(page).click()
    page.wait_for_url(f"**{link}**")
    settle(page)
    chosen, address = shown(page), page.url
    assert chosen != before
    page.evaluate("() => history.back()")
    soon(page, lambda: link not in page.url)
    soon(page, lambda: shown(page) == before)
    visit(page, address)
    soon(page, lambda: shown(page) == chosen)


def test_the_button_for_more_stays_under_the_finger(phone, server):
    open_page(phone, server, "?weights=any")
    more = phone.get_by_test_id("stMain").get_by_role("button", name="More")
    more.scroll_into_view_if_needed()
    before = more.bounding_box()["y"]
    for number in (2, 3):
        more.tap()
        phone.wait_for_url(f"**page={number}**")
        settle(phone)
        assert more.bounding_box()["y"] == before


def test_from_γ_and_β_to_photographs(page, server):
    open_page(page, server, "?show=conditional")
    page.get_by_role("link", name="on photographs").click()
    page.wait_for_url(re.compile("/why.show=style$"))
    expect(page.get_by_role("heading", level=1)).to_have_text("What does instance norm remove from a picture?")
