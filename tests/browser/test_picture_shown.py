"""The page "Contrast" in a real browser: its first screen, ε that is dragged, and a pixel that is picked."""

from patience import settle, soon, visit
from playwright.sync_api import expect
from test_first_screen_shown import CONTROLS, MOST, SIZE


def open_page(page, url, link=""):
    visit(page, f"{url}/divisive{link}")
    page.wait_for_selector(".st-key-contrast .nv-picture[data-drawn]")
    settle(page)
    return page.locator(".st-key-contrast")


def test_the_first_screen_holds_pictures_formula_and_eps_and_few_controls(page, server):
    page.set_viewport_size(SIZE)
    picture = open_page(page, server)
    for part in (
        page.get_by_role("heading", level=1), page.get_by_text("Try first:"), *picture.locator("figure").all(),
        page.locator('[data-testid="stMain"] .katex').first, page.locator(".st-key-eps input"),
        page.get_by_text("Mean of v² nearby:"), page.get_by_text("(the square)"),
    ):  # fmt: skip
        expect(part).to_be_in_viewport(ratio=1)
    square = picture.locator(".window:visible")
    expect(square).to_have_count(1)  # in the picture that is normalized
    assert square.evaluate("square => square.closest('figure').innerText").startswith("darkened")
    found = page.evaluate(CONTROLS)
    assert len(found) <= MOST, found


def test_presented_two_pictures_are_large_and_eps_is_dragged_and_the_headline_follows(page, server):
    page.set_viewport_size(SIZE)
    figures = open_page(page, server, "?present=1").locator("figure:visible")
    expect(figures).to_have_count(2)
    assert all(figure.bounding_box()["height"] >= 0.59 * SIZE["height"] for figure in figures.all())
    for part in (*figures.all(), page.locator(".st-key-eps input")):
        expect(part).to_be_in_viewport(ratio=1)
    headline = page.get_by_role("heading", level=3).first
    before = headline.inner_text()
    page.locator(".st-key-eps input").press("End")
    expect(headline).not_to_have_text(before)
    page.wait_for_url("**eps=1*")


def test_a_click_and_the_arrow_keys_pick_a_pixel(page, server):
    picture = open_page(page, server, "?data=digits")
    box = picture.locator("canvas").last.bounding_box()
    page.mouse.click(box["x"] + 4.5 / 8 * box["width"], box["y"] + 2.5 / 8 * box["height"])
    page.wait_for_url("**row=2&column=4")
    rings = picture.locator(".ring:visible")
    expect(rings).to_have_count(1)
    places = "view => ['--row-at', '--column-at'].map((name) => view.style.getPropertyValue(name))"
    soon(page, lambda: picture.locator(".view").evaluate(places) == ["31.25%", "56.25%"])
    picture.locator(".view").focus()
    for _ in range(4):
        page.keyboard.press("ArrowUp")  # to the edge, and no further
    page.wait_for_url("**row=0&column=4")
    settle(page)
    assert picture.locator(".view").evaluate(places) == ["6.25%", "56.25%"]


def test_a_finger_picks_and_scrolls(phone, server):
    picture = open_page(phone, server, "?data=digits")
    picture.scroll_into_view_if_needed()
    session = phone.context.new_cdp_session(phone)
    box = picture.locator("canvas").first.bounding_box()
    phone.touchscreen.tap(box["x"] + 2.5 / 8 * box["width"], box["y"] + 3.5 / 8 * box["height"])
    phone.wait_for_url("**row=3&column=2")
    settle(phone)
    main, box = phone.locator('[data-testid="stMain"]'), picture.locator("canvas").first.bounding_box()
    before, middle = main.evaluate("main => main.scrollTop"), box["x"] + box["width"] / 2
    swipe = [{"x": middle, "y": box["y"] + 0.6 * box["height"] - step * 15} for step in range(8)]
    for kind, at in (("touchStart", swipe[:1]), *(("touchMove", [place]) for place in swipe[1:]), ("touchEnd", [])):
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": at})
    soon(phone, lambda: main.evaluate("main => main.scrollTop") > before + 40)
    assert "row=3&column=2" in phone.url  # a swipe picks nothing
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
