"""Claims in a real browser: measured while one looks, and opened by mouse, finger, keyboard and link."""

import re

import pytest
from looks import barriers, change_theme, cut_off
from menus import go
from patience import settle, visit
from playwright.sync_api import expect
from watching import watched

from normviz.claims.ledger import CLAIMS
from normviz.ui.palette import THEMES

MEASURED = 300_000  # milliseconds that all quick checks may take on a busy machine


def open_page(page, url, link=""):
    visit(page, f"{url}/claims{link}")
    page.get_by_role("heading", level=1).wait_for()
    settle(page)


def measured(page, url, link=""):
    open_page(page, url, link)
    page.get_by_text("Measured on this server").wait_for(timeout=MEASURED)
    settle(page)


def row(page, claim):
    return page.locator("details", has=page.get_by_text(claim, exact=True))


def evidence(page, claim):
    return row(page, claim).get_by_role("columnheader", name="What was measured")


@pytest.fixture(scope="module", autouse=True)
def _measured_once(server, context):
    """Measure all claims before the first test, which would wait for them."""
    with watched(context) as page:
        measured(page, server)


@pytest.mark.heavy
def test_verdicts_come_in_place_and_what_is_open_stays_so(page, server):
    open_page(page, server, "?claim=L04&seed=4321")
    expect(row(page, "L04")).to_have_attribute("open", "")
    page.get_by_role("button", name="Measure from seed 4321").click()
    evidence(page, "L04").wait_for(timeout=MEASURED)
    page.get_by_text("Measured on this server").wait_for(timeout=MEASURED)
    expect(row(page, "L04")).to_have_attribute("open", "")
    expect(row(page, "L04").locator("summary")).to_contain_text("✘")
    expect(page.get_by_text("Check failed")).to_have_count(1)  # the filter


def test_a_row_opens_and_closes_and_the_link_says_so(page, server):
    measured(page, server)
    row(page, "L06").locator("summary").click()
    evidence(page, "L06").wait_for()
    page.wait_for_url("**/claims?claim=L06")
    row(page, "L04").locator("summary").focus()
    page.keyboard.press("Enter")
    evidence(page, "L04").wait_for()
    expect(evidence(page, "L06")).to_have_count(1)
    page.wait_for_url(re.compile("claim=L06(,|%2C)L04"))
    row(page, "L06").locator("summary").click()
    page.wait_for_url("**/claims?claim=L04")
    expect(evidence(page, "L06")).to_have_count(0)


def test_a_link_brings_its_claim_into_sight_and_goes_on_to_what_shows_it(new_page, server):
    page = new_page
    measured(page, server, "?claim=L04")
    expect(row(page, "L04")).to_be_in_viewport()
    for _ in range(2):  # the second time, the other page has a view of its own already
        row(page, "L04").get_by_role("link", name="See it in").click()
        page.wait_for_url(re.compile(f"{re.escape(CLAIMS['L04'].see).replace(',', '(,|%2C)')}$"))
        seed = page.get_by_label("Seed", exact=True)
        expect(seed).to_have_value("0")
        settle(page)
        seed.fill("5")
        seed.press("Enter")
        page.wait_for_url("**seed=5**")
        settle(page)
        go(page, "Claims, tested")
        page.wait_for_url("**/claims?claim=L04")
        settle(page)


def test_filters_leave_what_was_asked_for(page, server):
    measured(page, server)
    every = page.locator("details").count()
    page.get_by_role("button", name="Wrong").click()
    page.wait_for_url("**/claims?verdict=wrong")
    settle(page)
    expect(page.locator("summary")).to_have_text([re.compile("✘.*Wrong")] * page.locator("summary").count())
    assert 0 < page.locator("summary").count() < every


def test_on_a_phone_a_finger_opens_it_and_nothing_scrolls_sideways(phone, server):
    measured(phone, server)
    row(phone, "L04").locator("summary").tap()
    evidence(phone, "L04").wait_for()
    settle(phone)
    assert phone.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_cut_off(page, server, width):
    page.set_viewport_size({"width": width, "height": 844})
    measured(page, server, "?claim=L04&topic=layer-norm")
    assert cut_off(page) == []


def test_both_themes_and_no_barriers(page, server):
    measured(page, server, "?claim=L04&topic=layer-norm")
    for theme in THEMES:
        change_theme(page, theme)
        assert barriers(page) == []
