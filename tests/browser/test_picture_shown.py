"""The page "Contrast" in a real browser: its first screen, a handle that wipes, and a pixel that is picked."""

import pytest
from patience import settle, soon, visit
from playwright.sync_api import expect
from test_first_screen_shown import CONTROLS, MOST, SIZE


def open_page(page, url, link=""):
    visit(page, f"{url}/divisive{link}")
    page.wait_for_selector(".st-key-contrast .nv-picture[data-drawn]")
    settle(page)
    return page.locator(".st-key-contrast")


def split(picture):
    """Where the picture of after begins, in percent of the width."""
    return float(picture.locator(".grip").get_attribute("aria-valuenow"))


def seen(picture, across):
    """The grey that is seen at a share of the width, in the middle row of pixels."""
    return picture.locator(".nv-picture").evaluate(
        """(root, across) => {
            const [before, after] = root.querySelectorAll('canvas');
            const at = parseFloat(after.style.clipPath.match(/([\\d.]+)%/)[1]) / 100;
            const shown = across < at ? before : after;
            const place = [Math.floor(across * shown.width), Math.floor(shown.height / 2)];
            return shown.getContext('2d').getImageData(...place, 1, 1).data[0];
        }""",
        across,
    )


def test_the_first_screen_holds_photo_handle_formula_and_eps_and_few_controls(page, server):
    page.set_viewport_size(SIZE)
    picture = open_page(page, server)
    slider = page.locator(".st-key-eps input")
    for part in (
        page.get_by_role("heading", level=1), page.get_by_text("Try first:"), picture.locator(".frame"),
        picture.locator(".grip"), page.locator('[data-testid="stMain"] .katex').first, slider,
        page.get_by_text("“Nearby”"), page.locator(".nv-darkened img").last,
        picture.locator(".grip").get_by_text("darkened"),
    ):  # fmt: skip
        expect(part).to_be_in_viewport(ratio=1)
    found = page.evaluate(CONTROLS)
    assert len(found) <= MOST, found


def test_eps_is_dragged_and_the_headline_follows(page, server):
    open_page(page, server)
    headline = page.get_by_role("heading", level=3).first
    before = headline.inner_text()
    page.locator(".st-key-eps input").press("End")
    expect(headline).not_to_have_text(before)
    page.wait_for_url("**eps=1")


def test_a_wipe_by_mouse_and_keys_without_the_server(page, server):
    picture = open_page(page, server)
    sent = []
    page.on("websocket", lambda socket: sent.append("new"))
    turns = page.locator(".st-key-contrast .nv-picture").get_attribute("data-drawn")
    assert split(picture) == 75
    before = seen(picture, 0.8)
    grip, frame = picture.locator(".grip").bounding_box(), picture.locator(".frame").bounding_box()
    page.mouse.move(grip["x"] + grip["width"] / 2, grip["y"] + grip["height"] / 2)
    page.mouse.down()
    page.mouse.move(frame["x"] + 0.9 * frame["width"], grip["y"])
    assert split(picture) == pytest.approx(90, abs=1)
    assert seen(picture, 0.8) != before  # of x now, no longer of x̂
    page.mouse.up()
    page.mouse.move(frame["x"] + 0.2 * frame["width"], grip["y"])
    assert split(picture) == pytest.approx(90, abs=1)
    picture.locator(".grip").focus()
    for key, there in (("End", 100), ("ArrowLeft", 98), ("PageDown", 88), ("Home", 0), ("ArrowRight", 2)):
        page.keyboard.press(key)
        assert split(picture) == there
    assert "2 % darkened, the rest normalized" in picture.locator(".grip").get_attribute("aria-valuetext")
    assert page.locator(".st-key-contrast .nv-picture").get_attribute("data-drawn") == turns
    assert not sent
    assert page.url.endswith("/divisive")


def test_a_click_and_the_arrow_keys_pick_a_pixel(page, server):
    picture = open_page(page, server, "?data=digits")
    box = picture.locator(".view").bounding_box()
    page.mouse.click(box["x"] + 5.5 / 8 * box["width"], box["y"] + 2.5 / 8 * box["height"])
    page.wait_for_url("**row=2&column=5")
    ring = picture.locator(".ring")
    soon(page, lambda: ring.evaluate("ring => [ring.style.top, ring.style.left]") == ["31.25%", "68.75%"])
    picture.locator(".view").focus()
    for _ in range(4):
        page.keyboard.press("ArrowUp")  # to the edge, and no further
    page.wait_for_url("**row=0&column=5")
    settle(page)
    assert picture.locator(".ring").evaluate("ring => ring.style.top") == "6.25%"


def test_a_finger_wipes_picks_and_scrolls(phone, server):
    picture = open_page(phone, server, "?data=digits")
    picture.scroll_into_view_if_needed()
    session = phone.context.new_cdp_session(phone)

    def touch(*places):
        for kind, at in (
            ("touchStart", places[:1]),
            *(("touchMove", [place]) for place in places[1:]),
            ("touchEnd", []),
        ):
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in at]})

    grip, frame = picture.locator(".grip").bounding_box(), picture.locator(".frame").bounding_box()
    assert min(grip["width"], grip["height"]) >= 44
    phone.touchscreen.tap(frame["x"] + 2.5 / 8 * frame["width"], frame["y"] + 3.5 / 8 * frame["height"])
    phone.wait_for_url("**row=3&column=2")
    settle(phone)
    across = grip["x"] + grip["width"] / 2
    touch(*((across - step * 0.06 * frame["width"], grip["y"] + 22) for step in range(6)))
    soon(phone, lambda: split(picture) == pytest.approx(45, abs=4))
    main = phone.locator('[data-testid="stMain"]')
    before, box = main.evaluate("main => main.scrollTop"), picture.locator(".frame").bounding_box()
    middle = box["x"] + box["width"] / 2
    touch(*((middle, box["y"] + 0.6 * box["height"] - step * 15) for step in range(8)))
    soon(phone, lambda: main.evaluate("main => main.scrollTop") > before + 40)
    assert "row=3&column=2" in phone.url  # a swipe picks nothing
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
