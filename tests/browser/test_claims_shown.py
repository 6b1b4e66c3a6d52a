"""Claims in a real browser: the first screen; opened by mouse, finger, keyboard and link; measured on request."""

import re

import pytest
from looks import CONTROLS, barriers, change_theme, cut_off
from menus import go
from patience import settle, visit
from playwright.sync_api import expect

from normviz.charts.palette import THEMES
from normviz.topics.claims.claim_list import CLAIMS
from normviz.topics.claims.state import FIRST_CLAIMS

MEASURED = 300_000  # milliseconds that a check may take on a busy machine
OPENED = "?open=wrong"


def open_page(page, url, link=""):
    visit(page, f"{url}/claims{link}")
    page.get_by_role("heading", level=1).wait_for()
    settle(page)


def row(page, claim):
    return page.locator("details", has=page.locator("summary", has_text=CLAIMS[claim].summary))


def evidence(page, claim):
    return row(page, claim).get_by_role("columnheader", name="What was measured").first


def test_the_first_screen_has_claims_with_their_verdicts_and_few_controls(page, server):
    page.set_viewport_size({"width": 1280, "height": 800})
    open_page(page, server)
    for claim in FIRST_CLAIMS:
        summary = row(page, claim).locator("summary")
        expect(summary).to_be_in_viewport(ratio=1)
        expect(summary).to_contain_text(re.compile("✘\\sWrong|◐\\sIt\\sdepends"))
        expect(summary).to_contain_text(CLAIMS[claim].reason)
        assert summary.bounding_box()["height"] < 60  # one line
    expect(page.get_by_text(" claims:")).to_be_in_viewport(ratio=1)
    found = page.evaluate(CONTROLS)
    assert len(found) <= 25, found


def test_a_claim_is_measured_on_request_and_stays_open(page, server):
    open_page(page, server, "?claim=L04&seed=4321")
    evidence(page, "L04").wait_for()
    page.get_by_role("button", name="Measure it again on this server, from seed 4321").click()
    page.get_by_text("On this server, from seed 4321:").wait_for(timeout=MEASURED)
    expect(row(page, "L04")).to_have_attribute("open", "")
    expect(row(page, "L04").get_by_role("columnheader", name="What was measured")).to_have_count(2)


def test_a_row_opens_and_closes_and_the_link_says_so(page, server):
    open_page(page, server, OPENED)
    row(page, "L06").locator("summary").click()
    evidence(page, "L06").wait_for()
    page.wait_for_url("**/claims?claim=L06&open=wrong")
    row(page, "L04").locator("summary").focus()
    page.keyboard.press("Enter")
    evidence(page, "L04").wait_for()
    expect(evidence(page, "L06")).to_have_count(1)
    page.wait_for_url(re.compile("claim=L06(,|%2C)L04"))
    row(page, "L06").locator("summary").click()
    page.wait_for_url("**/claims?claim=L04&open=wrong")
    expect(evidence(page, "L06")).to_have_count(0)


def test_a_link_brings_its_claim_into_sight_and_goes_on_to_what_shows_it(new_page, server):
    page = new_page
    open_page(page, server, "?claim=L04")
    expect(row(page, "L04")).to_be_in_viewport()
    for _ in range(2):  # the second time, the other page has a view of its own already
        row(page, "L04").get_by_role("link", name="See it in").click()
        page.wait_for_url(re.compile(f"{re.escape(CLAIMS['L04'].see).replace(',', '(,|%2C)')}$"))
        seed = page.get_by_label("Seed", exact=True)
        expect(seed).to_have_value("0")
        settle(page)
        if not seed.is_visible():
            page.get_by_test_id("stSidebar").get_by_text("Advanced", exact=True).click()
        seed.fill("5")
        seed.press("Enter")
        page.wait_for_url("**seed=5**")
        settle(page)
        go(page, "Claims, tested")
        page.wait_for_url("**/claims?claim=L04")
        settle(page)


def test_on_a_phone_a_finger_opens_it_and_nothing_scrolls_sideways(phone, server):
    open_page(phone, server, OPENED)
    row(phone, "L04").locator("summary").tap()
    evidence(phone, "L04").wait_for()
    settle(phone)
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off(page, server, width):
    page.set_viewport_size({"width": width, "height": 844})
    open_page(page, server, "?claim=L04&topic=layer-norm")
    assert cut_off(page) == []


def test_both_themes_and_no_barriers(page, server):
    open_page(page, server, "?claim=L04&topic=layer-norm")
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
