"""On a phone: what is picked is in sight on every page with a choice, a finger changes it, and sees what came of it."""

import pytest
from patience import CONNECTED, settle
from pills import named
from playwright.sync_api import expect
from watching import watched


@pytest.fixture
def phone(context):
    place = context.browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    with watched(place) as page:
        yield page
    place.close()


def go(page, url):
    page.goto(url)
    page.wait_for_selector(CONNECTED)
    settle(page)


def test_a_finger_changes_what_is_picked_and_sees_it(phone, server):
    go(phone, server)
    bar = phone.locator(".nv-picked")
    expect(bar).to_contain_text("Batch on 4 × 4 × 4 × 6")
    expect(bar).to_be_in_viewport(ratio=1)
    assert bar.bounding_box()["height"] >= 44
    bar.tap()
    pill = named(phone.locator(".st-key-scheme"), "Instance")
    expect(pill).to_be_in_viewport(ratio=1)
    pill.tap()
    expect(bar).to_contain_text("Instance on 4 × 4 × 4 × 6")
    expect(pill).not_to_be_in_viewport()  # the sidebar has made way for the picture
    expect(phone.locator(".st-key-cube .nv-graph")).to_be_in_viewport()
    phone.wait_for_url("**scheme=instance**")
    settle(phone)
    bar.tap()  # once is enough the second time, too
    other = named(phone.locator(".st-key-scheme"), "Group")
    expect(other).to_be_in_viewport(ratio=1)  # the sidebar glides in
    other.tap()
    expect(bar).to_contain_text("Group, G = 2 on")
    expect(pill).not_to_be_in_viewport()
    phone.get_by_test_id("stMain").evaluate("main => main.scrollTo(0, 1e6)")
    expect(bar).to_be_in_viewport(ratio=1)
    ways = phone.locator(".st-key-takeaway a").last
    assert ways.bounding_box()["y"] + ways.bounding_box()["height"] <= bar.bounding_box()["y"]  # nothing is under it


def test_rows_and_schemes_are_said_where_several_are_picked(phone, server):
    for link, text in (
        ("/compare?schemes=batch,rms", "Batch, RMS on 4 × 4 × 4 × 6"),
        ("/identities?n=2", "Uneven noise of 2 × 4 × 4 × 6"),
    ):
        go(phone, server + link)
        bar = phone.locator(".nv-picked")
        expect(bar).to_contain_text(text)
        expect(bar).to_be_in_viewport(ratio=1)
    go(phone, f"{server}/compare?schemes=batch,rms")
    phone.locator(".nv-picked").tap()
    layer = named(phone.locator(".st-key-compare-schemes"), "Layer")
    expect(layer).to_be_in_viewport(ratio=1)
    layer.tap()
    expect(phone.locator(".nv-picked")).to_contain_text("Batch, RMS, Layer on")
    expect(layer).to_be_in_viewport()  # another may follow


def test_where_the_sidebar_is_open_there_is_no_bar(lab):
    lab.open("?scheme=layer")
    expect(lab.page.locator(".nv-picked")).to_be_hidden()
