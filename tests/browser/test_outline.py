"""The outline of the locked element is seen wherever it is, and only what can be seen is picked."""

from io import BytesIO

import pytest
from looks import change_theme
from PIL import Image

from normviz.charts.palette import THEMES

ALONG = """() => {
    const path = document.querySelector(".nv-outline path:last-child"), { a, d, e, f } = path.getScreenCTM();
    return Array.from({ length: 60 }, (_, n) => {
        const { x, y } = path.getPointAtLength(n / 60 * path.getTotalLength());
        return [a * x + e, d * y + f];
    });
}"""
"""Places in the window along the outline."""


def drawn(lab, colour: str) -> float:
    """The share of places along the outline that have its colour on the screen."""
    picture = Image.open(BytesIO(lab.page.screenshot())).convert("RGB")
    wanted = tuple(bytes.fromhex(colour[1:]))
    places = [picture.getpixel((int(x), int(y))) for x, y in lab.page.evaluate(ALONG)]
    return sum(max(abs(a - b) for a, b in zip(place, wanted, strict=True)) < 60 for place in places) / len(places)


@pytest.mark.parametrize(
    ("link", "role"),
    [
        ("?colour=value&focus=2,1,1,3", "ink"),  # the colours of values are those of the roles
        ("?scheme=spectral&focus=2,1,1,3", "element"),
        ("?scheme=layer&view=unfolded&focus=1,2,1,3", "element"),
    ],
)
def test_the_outline_of_the_locked_element_is_over_all_before_it(lab, link, role):
    lab.open(link)
    for theme, colours in THEMES.items():
        change_theme(lab.page, theme)
        lab.soon(lambda colours=colours: drawn(lab, getattr(colours, role)) > 0.9)


def test_the_outline_turns_with_the_cube(lab):
    lab.open("?colour=value&focus=2,1,1,3")
    before = lab.page.evaluate(ALONG)
    lab.graph("gd => window.Plotly.relayout(gd, {'scene.camera.eye': {x: -1.2, y: -1.2, z: 0.9}})")
    lab.soon(lambda: lab.page.evaluate(ALONG) != before)
    lab.soon(lambda: drawn(lab, THEMES["light"].ink) > 0.9)
