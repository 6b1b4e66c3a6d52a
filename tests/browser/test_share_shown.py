"""The Share dialog in a browser: copying, the QR code, a phone."""

from base64 import b64decode

import pytest
from patience import run_by, settle, soon, visit
from playwright.sync_api import expect

from normviz.web.qr_code import make_qr_code


def read_svg(source):
    """The markup of a picture whose address holds it."""
    kind, _, content = source.partition(",")
    assert kind == "data:image/svg+xml;base64"
    return b64decode(content).decode()


@pytest.fixture
def shared(page, server):
    """A page with its dialog open; the browser has no clipboard, as without https."""
    page.add_init_script("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    visit(page, f"{server}/compare?n=2")
    settle(page)
    run_by(page, lambda page: page.get_by_role("button", name="Share", exact=True).click())
    return page


def test_the_dialog_makes_a_link_copies_it_and_shows_its_qr_code(shared, server):
    page, field = shared, shared.get_by_role("textbox", name="Link")
    expect(field).to_have_value(f"{server}/compare?n=2")
    run_by(page, lambda page: page.get_by_role("dialog").get_by_text("Sidebar", exact=True).click())
    link = f"{server}/compare?n=2&hide=sidebar"
    expect(field).to_have_value(link)
    image = page.get_by_role("dialog").get_by_role("img", name="QR code")
    soon(page, lambda: read_svg(image.get_attribute("src")) == make_qr_code(link))
    page.evaluate("document.addEventListener('copy', () => { window.copied = String(getSelection()); })")
    copy = page.get_by_role("button", name="Copy", exact=True).first
    copy.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    page.evaluate("document.execCommand = () => false")  # nor lets the browser copy
    expect(copy).to_be_visible()
    field.evaluate("field => field.setSelectionRange(0, 0)")
    copy.click()
    assert field.evaluate("field => field.value.slice(field.selectionStart, field.selectionEnd)") == link


def test_a_phone_opens_a_link_that_locks_and_covers(phone, server):
    page = phone
    visit(page, f"{server}/?lock=shape,scheme&cover=1")
    settle(page)
    expect(page.get_by_text("Locked by this link: Shape, Normalization.")).to_be_in_viewport()
    for control in (page.get_by_label("N batch", exact=True), page.get_by_role("radio", name="Layer", exact=True)):
        expect(control).to_be_disabled()
    figure, cover = page.locator(".st-key-cube"), page.locator(".st-key-cover")
    expect(figure.locator(".nv-graph")).to_be_hidden()
    there, over = figure.bounding_box(), cover.bounding_box()
    assert [over[side] for side in there] == pytest.approx([there[side] for side in there], abs=2)
    run_by(page, lambda page: page.get_by_role("button", name="Show", exact=True).tap())
    expect(figure.locator(".nv-graph")).to_be_visible()
    expect(cover).to_have_count(0)
    run_by(page, lambda page: page.get_by_role("button", name="Share", exact=True).tap())
    for part in (page.get_by_role("textbox", name="Link"), page.get_by_role("img", name="QR code")):
        box = part.bounding_box()
        assert 0 <= box["x"] <= box["x"] + box["width"] <= 390
    expect(page.get_by_text("The link of this page hides or locks parts of it.")).to_be_visible()
