"""The camera, once it is turned, stands in the link: without a redraw, and without a step in the browser's history."""

from urllib.parse import parse_qs, urlparse

import pytest
from patience import CONNECTED, drag, settle, soon, visit
from test_cube import eye
from test_inside import REACTS

SEEN = "gd => gd._fullLayout.scene._scene.glplot.getAspectratio().x"


def camera_of(url):
    return tuple(map(float, parse_qs(urlparse(url).query).get("camera", [""])[0].split(",")))


def turn(page, key="cube"):
    box = page.locator(f".st-key-{key} .nv-graph").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    drag(page, (x, y), (x + 120, y - 40))


def test_a_turned_camera_is_in_the_link_and_comes_back(lab):
    lab.open("?scheme=layer")
    page, home = lab.page, eye(lab)
    page.evaluate(REACTS)
    steps = page.evaluate("history.length")
    turn(page)
    page.wait_for_url("**camera=**")
    lab.settle()
    assert page.evaluate("window.reacts") == 0
    assert page.evaluate("history.length") == steps
    turned, zoom = eye(lab), lab.graph(SEEN)
    assert turned != pytest.approx(home, abs=0.1)
    assert len(camera_of(page.url)) == 3
    page.wait_for_timeout(700)  # and it stays where it is when the server has heard of it
    assert eye(lab) == pytest.approx(turned, abs=1e-6)

    page.reload()
    lab.settle()
    assert eye(lab) == pytest.approx(turned, abs=0.05)
    assert lab.graph(SEEN) == pytest.approx(zoom, rel=0.01)
    lab.pick("Instance")
    page.wait_for_url("**scheme=instance**")
    page.go_back()
    page.get_by_role("heading", name="Layer normalization", exact=True).wait_for()
    lab.settle()
    assert eye(lab) == pytest.approx(turned, abs=0.05)

    page.get_by_role("button", name="Reset view").click()
    page.wait_for_function("() => !location.search.includes('camera')")
    assert eye(lab) == pytest.approx(home, abs=1e-6)


def test_a_link_without_a_camera_shows_another_figure_as_at_first(lab):
    lab.open("?n=2&h=3&w=2&c=5&scheme=layer")
    home = eye(lab)
    lab.open("?scheme=layer&camera=20,10,1.5")
    lab.soon(lambda: eye(lab) != pytest.approx(home, abs=0.1))
    lab.open("?n=2&h=3&w=2&c=5&scheme=instance")
    lab.soon(lambda: eye(lab) == pytest.approx(home, abs=1e-3))


def test_it_does_in_compare_as_well(server, page):
    visit(page, f"{server}/compare?camera=20,10,1.5")
    page.wait_for_selector(CONNECTED)
    page.wait_for_selector(".st-key-cubes .nv-plot[data-drawn]")
    settle(page)
    at = "document.querySelector('.st-key-cubes .js-plotly-plot')._fullLayout.scene._scene.getCamera().eye"
    seen = page.evaluate(f"(({{x, y, z}}) => [y / x, z / Math.hypot(x, y)])({at})")
    assert seen == pytest.approx([0.364, 0.176], abs=0.01)  # the tangents of 20 and 10 degrees
    turn(page, "cubes")
    soon(page, lambda: camera_of(page.url)[:2] != (20, 10))
