"""What only a browser shows: the cube draws, the camera stays, hover and lock light the core's field."""

import re
from urllib.parse import parse_qs, urlparse

import pytest
from patience import load
from playwright.sync_api import expect
from standing import cells_in

from normviz.charts.cube_layout import compute_layout
from normviz.core.fields import Index, Shape
from normviz.core.registry import SCHEMES
from normviz.ui.tensor import VIEW_NAMES

SHAPE: Shape = (4, 4, 4, 6)


def lit_cells(lab, trace: str = "field") -> set[tuple[float, float, float]]:
    """The unit cells inside the boxes of a highlight, from the vertices that were handed to WebGL."""
    x, y, z = (lab.graph(f"gd => Array.from(gd.data.find(t => t.name === '{trace}').{d})") for d in "xyz")
    cells = set()
    for first in range(0, len(x), 24):  # six sides of four corners a box
        lows, highs = zip(
            *((round(min(a), 0), round(max(a), 0)) for a in (v[first : first + 24] for v in (x, y, z))), strict=True
        )
        spans = [[lo + step for step in range(int(hi - lo))] for lo, hi in zip(lows, highs, strict=True)]
        cells |= {(a, b, c) for a in spans[0] for b in spans[1] for c in spans[2]}
    return cells


def element_of(readout: str) -> Index:
    return tuple(map(int, re.findall(r"= (\d+)", readout)[:4]))


def eye(lab) -> dict[str, float]:
    return lab.graph("gd => gd._fullLayout.scene._scene.getCamera().eye")


def focus_of(url: str) -> Index:
    return tuple(map(int, parse_qs(urlparse(url).query).get("focus", ["0,0,0,0"])[0].split(",")))


def test_draws(lab):
    lab.open()
    box = lab.box
    assert box["width"] > 400
    assert box["height"] > 300
    shot = lab.page.locator(".st-key-cube .nv-graph").screenshot()
    colours = set(_pixels(shot))
    assert len(colours) > 50  # a drawn scene, not an empty frame
    assert lab.page.locator(".st-key-cube .nv-graph").get_attribute("aria-label").startswith("A tensor with N = 4")


def test_other_values_are_drawn(lab):
    lab.open("?colour=value&seed=1")  # the seed is in sight
    intensity = "gd => JSON.stringify(Array.from(gd.data.find(t => t.type === 'mesh3d' && t.intensity).intensity))"
    before = lab.graph(intensity)
    lab.number("Seed", "3")
    lab.soon(lambda: lab.graph(intensity) != before)


def open_advanced(lab):
    """Open the settings under "Advanced", which the test before may have left open."""
    if not lab.page.get_by_label("Seed", exact=True).is_visible():
        lab.page.get_by_text("Advanced", exact=True).click()


CONTROLS = {
    "scheme": lambda lab: lab.pick("Instance"),
    "groups": lambda lab: lab.open_select("Groups", "3"),
    "advanced": open_advanced,
    "epsilon": lambda lab: lab.slide("ε"),
    "gain": lambda lab: lab.number("γ (gain)", "2"),
    "channels": lambda lab: lab.number("C channels", "8"),
    "cases": lambda lab: lab.number("N batch", "3"),
    "data": lambda lab: lab.open_select("Data", "Normal noise"),
    "seed": lambda lab: lab.number("Seed", "3"),
    "below": lambda lab: lab.open_below(),
    "colour": lambda lab: lab.look("x"),
    "view": lambda lab: lab.look("Several blocks"),
    "focus": lambda lab: lab.index("c", "2"),
    "tab": lambda lab: lab.do(lambda page: page.locator(".st-key-below button", has_text="Code").click()),
}


def test_camera_stays_through_every_control(lab):
    lab.open("?scheme=group")
    before = eye(lab)
    lab.drag((0.5, 0.5), (0.7, 0.4))
    lab.soon(lambda: eye(lab) != pytest.approx(before, abs=0.1))
    lab.settle()
    lab.page.wait_for_timeout(500)  # the camera glides to a stop
    eye_before = eye(lab)
    for name, change in CONTROLS.items():
        url, drawn = lab.page.url, lab.page.locator(".st-key-cube .nv-plot").get_attribute("data-drawn")
        change(lab)
        if name not in ("below", "tab", "advanced"):  # something moves: on a busy machine only after a while
            lab.page.wait_for_function(
                "([url, drawn]) => location.href !== url"
                " || document.querySelector('.st-key-cube .nv-plot').dataset.drawn !== drawn",
                arg=[url, drawn],
            )
            lab.settle()
        assert eye(lab) == pytest.approx(eye_before, abs=1e-6), f"{name} moved the camera"
        if name == "scheme":
            lab.pick("Group")
    load(lab.page, lab.url)  # the next test begins with a cube that nobody has turned


@pytest.mark.parametrize("view", VIEW_NAMES)
@pytest.mark.parametrize("key", ["batch", "layer", "group", "divisive", "layer-channels", "custom"])
def test_hover_lights_exactly_the_field_and_asks_nobody(lab, key, view):
    scheme = SCHEMES[key]
    lab.open(f"?scheme={key}&view={view}")
    layout = compute_layout(view, SHAPE)
    sent, seen = len(lab.sent), set()
    places = ((0.42, 0.45), (0.5, 0.55), (0.6, 0.5), (0.45, 0.7), (0.62, 0.6), (0.38, 0.3), (0.3, 0.65), (0.58, 0.32))
    for across, down in places:
        lab.point(across, down)
        index = element_of(lab.readout)
        seen.add(index)
        assert lit_cells(lab) == cells_in(layout, scheme.field.find_box(index, SHAPE)), index
        assert lit_cells(lab, "element") == cells_in(layout, tuple((i, i + 1) for i in index))
    assert len(seen) >= 3  # the pointer was over different cells
    assert len(lab.sent) == sent
    legend = lab.page.locator(".nv-legend")
    expect(legend.get_by_text("the element under the pointer")).to_be_visible()
    expect(legend.get_by_text("the chosen element")).to_be_hidden()
    lab.page.mouse.move(5, 5)
    lab.soon(lambda: element_of(lab.readout) == (0, 0, 0, 0))  # back to the lock
    expect(legend.get_by_text("the chosen element")).to_be_visible()
    expect(legend.get_by_text("the element under the pointer")).to_be_hidden()


def test_click_locks_and_a_drag_does_not(lab):
    lab.open("?scheme=instance")
    lab.point(0.5, 0.5)
    hovered = element_of(lab.readout)
    lab.do(lambda page: (page.mouse.down(), page.mouse.up()))
    lab.page.wait_for_url("**focus=**")
    assert focus_of(lab.page.url) == hovered
    lab.page.mouse.move(5, 5)
    expect(lab.page.get_by_label("c", exact=True)).to_have_value(str(hovered[3]))
    lab.settle()
    assert element_of(lab.readout) == hovered

    lab.drag((0.45, 0.6), (0.6, 0.5))
    lab.page.wait_for_url("**camera=**")  # it is sent late, and would meet what the next test asks for
    lab.settle()
    assert focus_of(lab.page.url) == hovered


def test_keyboard_walks_and_locks(lab):
    lab.open("?scheme=batch")
    lab.page.locator(".st-key-cube .nv-graph").focus()
    for key in ("ArrowRight", "ArrowRight", "PageDown", "ArrowDown"):
        lab.page.keyboard.press(key)
    lab.soon(lambda: element_of(lab.readout) == (1, 0, 1, 2))
    lab.page.wait_for_url("**focus=1%2C0%2C1%2C2**")
    lab.settle()
    layout = compute_layout("folded", SHAPE)
    assert lit_cells(lab) == cells_in(layout, SCHEMES["batch"].field.find_box((1, 0, 1, 2), SHAPE))
    expect(lab.page.locator(".st-key-cube .nv-live")).to_contain_text("c = 2")


def test_numbers_lock(lab):
    lab.open("?scheme=layer")
    lab.index("n", "2")
    lab.soon(lambda: focus_of(lab.page.url) == element_of(lab.readout) == (2, 0, 0, 0))


def _pixels(png: bytes):
    from io import BytesIO

    from PIL import Image

    return Image.open(BytesIO(png)).convert("RGB").get_flattened_data()
