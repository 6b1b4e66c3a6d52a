"""A finger, a wheel and a fast click on the cube, and the way back to the view that it had at first."""

import pytest
from patience import TWO_FRAMES
from test_cube import element_of, eye, focus_of

ASPECT = "gd => gd._fullLayout.scene.aspectratio.x"


@pytest.fixture
def touched(phone, server):
    """The lab on a phone, with a finger."""
    from conftest import Lab

    lab = Lab(phone, server).open("?scheme=instance&colour=value")
    phone.locator(".st-key-cube").scroll_into_view_if_needed()
    return lab


def touch(lab, *steps):
    """Fingers on the cube: the type of each event, and the places of the fingers, as shares of its width and height."""
    box, session = lab.box, lab.page.context.new_cdp_session(lab.page)
    for kind, *fingers in steps:
        places = [{"x": box["x"] + a * box["width"], "y": box["y"] + b * box["height"]} for a, b in fingers]
        session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})
        lab.page.evaluate(TWO_FRAMES)


def test_a_tap_locks_the_element_under_it(touched):
    touch(touched, ("touchStart", (0.5, 0.55)), ("touchEnd",))
    touched.page.wait_for_url("**focus=**")
    touched.soon(lambda: element_of(touched.readout) == focus_of(touched.page.url))
    assert focus_of(touched.page.url) != (0, 0, 0, 0)


def test_one_finger_scrolls_the_page_and_two_turn_the_cube(touched):
    scrolled = "() => document.querySelector('.stMain').scrollTop"
    before, view = touched.page.evaluate(scrolled), eye(touched)
    touch(
        touched, ("touchStart", (0.5, 0.7)), *(("touchMove", (0.5, 0.7 - k / 20)) for k in range(1, 9)), ("touchEnd",)
    )
    touched.soon(lambda: touched.page.evaluate(scrolled) > before + 30)
    assert eye(touched) == pytest.approx(view, abs=1e-6)
    assert "focus=" not in touched.page.url
    touched.page.locator(".st-key-cube").scroll_into_view_if_needed()
    touched.page.evaluate(TWO_FRAMES)
    moves = (("touchMove", (0.3 + k / 20, 0.5), (0.5 + k / 20, 0.5)) for k in range(1, 7))
    touch(touched, ("touchStart", (0.3, 0.5), (0.5, 0.5)), *moves, ("touchEnd",))
    touched.soon(lambda: eye(touched) != pytest.approx(view, abs=0.05))


def test_a_fast_click_takes_what_is_under_the_pointer(lab):
    lab.open("?scheme=instance&colour=value")
    seen = set()
    for across, down in ((0.45, 0.5), (0.6, 0.6), (0.42, 0.7)):
        lab.point(across, down)
        there = element_of(lab.readout)
        lab.page.mouse.move(5, 5)
        lab.page.evaluate(TWO_FRAMES)
        before = lab.page.url
        x, y = lab.box["x"] + across * lab.box["width"], lab.box["y"] + down * lab.box["height"]
        lab.page.evaluate(  # all within one moment: nothing has looked under the pointer before it is pressed
            """([x, y]) => { const at = document.elementFromPoint(x, y);
            for (const type of ["pointerdown", "pointerup"]) at.dispatchEvent(
              new PointerEvent(type, {clientX: x, clientY: y, bubbles: true, isPrimary: true})); }""",
            [x, y],
        )
        lab.page.wait_for_function("before => location.href !== before", arg=before)
        assert focus_of(lab.page.url) == there
        seen.add(there)
        lab.settle()
    assert len(seen) == 3


def test_the_wheel_is_the_pages_until_the_cube_has_the_focus(lab):
    lab.open()
    zoom = lab.graph(ASPECT)
    lab.page.mouse.move(lab.box["x"] + lab.box["width"] / 2, lab.box["y"] + lab.box["height"] / 2)
    lab.page.mouse.wheel(0, 200)
    scrolled = "() => document.querySelector('.stMain').scrollTop"
    lab.soon(lambda: lab.page.evaluate(scrolled) > 50)
    assert lab.graph(ASPECT) == zoom
    lab.page.evaluate("() => document.querySelector('.stMain').scrollTo(0, 0)")
    lab.page.locator(".st-key-cube .nv-graph").focus()
    lab.page.mouse.move(lab.box["x"] + lab.box["width"] / 2, lab.box["y"] + lab.box["height"] / 2)
    lab.page.mouse.wheel(0, 200)
    lab.soon(lambda: lab.graph(ASPECT) != zoom)
    assert lab.page.evaluate(scrolled) == 0
    lab.page.get_by_role("button", name="Reset view").click()
    lab.soon(lambda: lab.graph(ASPECT) == pytest.approx(zoom))
