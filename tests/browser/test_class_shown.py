"""A class from the lecturer's page to a phone and back: joining, answering, closing, revealing, a reload, the end."""

import re

from axe_playwright_python.sync_playwright import Axe
from looks import barriers
from patience import settle, visit
from playwright.sync_api import expect

MARKUP = "<img src=http://127.0.0.2:9/t.png onerror=document.title='bad'><b>bold</b>"


def test_a_lecturer_asks_and_a_phone_answers(page, phone, server):
    visit(page, f"{server}/class")
    settle(page)
    desk = page.locator(".nv-desk")
    expect(desk.get_by_role("button", name="Open a class")).to_be_in_viewport(ratio=1)
    expect(desk.locator(".phone")).to_contain_text("Batch norm, all images × 10")
    desk.get_by_role("button", name="Layer norm, one image of each batch 10 times as bright").click()
    expect(desk.locator("[data-part=examples] [aria-pressed=true]")).to_have_count(1)
    expect(desk.locator(".phone")).to_contain_text("Layer norm, one image of each batch × 10")
    desk.get_by_text("Answer (for you only)").click()
    expect(desk.locator("[data-part=preview-right]")).to_have_text("Yes, the same")
    expect(desk.locator("[data-part=preview-why]")).to_contain_text("share a standard deviation")
    desk.get_by_text("All cases of Table 1").click()
    expect(desk.get_by_role("button", name="Ask this case")).to_be_hidden()
    desk.locator(".nv-grid button").first.click()
    expect(desk.locator(".phone")).to_contain_text("No norm, all weights × 10")
    desk.get_by_text("All questions of the lessons").click()
    desk.locator("select").select_option("group-norm.1")
    expect(desk.locator(".phone li")).to_have_text(["○ 32", "○ 48", "○ 192"])
    expect(desk.locator("[data-part=preview-right]")).to_have_text("48")
    desk.get_by_role("button", name="Open a class").click()
    expect(desk.locator("[data-part=code]")).to_have_text(re.compile(r"\w{4} \w{4}"))
    code = desk.locator("[data-part=code]").inner_text()
    phone.goto(f"{server}/join/{code.lower().replace(' ', '-')}")
    expect(phone.locator("#said")).to_have_text("Waiting for the first question. Keep this page open.")
    desk.get_by_text("A question in your own words").click()
    desk.get_by_role("textbox", name="Question", exact=True).fill(MARKUP)
    for k, text in enumerate((MARKUP, "no")):
        desk.get_by_role("textbox", name=f"Answer {k + 1}").fill(text)
    desk.get_by_role("radio").nth(1).check()
    desk.get_by_role("textbox", name="Reason").fill("Because.")
    desk.get_by_role("button", name="Ask this question").last.click()
    expect(phone.get_by_role("heading", name="<img")).to_have_text(MARKUP)
    assert phone.locator("main :is(img, b)").count() == 0
    phone.get_by_role("button", name="<img").focus()
    phone.keyboard.press("Enter")
    expect(phone.locator("#said")).to_contain_text("Your answer is counted.")
    expect(desk.locator("[data-part=bars] b")).to_have_text(["1", "0"])
    assert desk.locator("[data-part=stage] img").count() == 0
    phone.reload()
    expect(phone.locator("#said")).to_contain_text("Your answer is counted.")
    phone.get_by_role("button", name="no").click()
    expect(desk.locator("[data-part=bars] b")).to_have_text(["0", "1"])
    desk.get_by_role("button", name="Close the question").click()
    expect(phone.locator("#said")).to_have_text("The question is closed. You chose: no")
    desk.get_by_role("button", name="Reveal the answer").click()
    expect(phone.locator("#said")).to_have_text("You were right.")
    expect(phone.locator("#why")).to_have_text("Because.")
    expect(phone.locator("#answers small")).to_have_text(["0 of 1", "✓ right answer · 1 of 1"])
    assert Axe().run(phone).response["violations"] == []
    assert barriers(page) == []
    link = desk.locator("[data-part=secret-link]").input_value()
    page.evaluate("localStorage.clear()")
    page.goto("about:blank")
    page.goto(link)  # as on a second device
    expect(desk.locator("[data-part=bars] b")).to_have_text(["0", "1"])
    assert page.url == f"{server}/class"
    page.reload()
    expect(desk.locator("[data-part=code]")).to_have_text(code)
    desk.get_by_role("button", name="End the class").click()
    desk.get_by_role("button", name="Really end it?").click()
    expect(phone.locator("#notice")).to_have_text("This class has ended. Your answers are deleted.")
    expect(desk.get_by_role("button", name="Open a class")).to_be_visible()
