"""The scripts of the components in a browser, without a page around them."""

import pytest
from mounted import MARKUP, called

from normviz.charts.packing import pack_message
from normviz.web.modules import MODULE_SOURCES

LABEL = "what is shown"
DATA = {
    "copying": {"label": LABEL, "text": "a", "rows": 1},
    "drag": {"label": LABEL, "texts": ["1", "2"], "index": 0},
    "element": {
        "says": LABEL,
        "focus": [0] * 4,
        "shape": [1] * 4,
        "axes": [["n", 0], ["h", 0], ["w", 0], ["c", 0]],
        "fields": [],
        "statistics": [],
        "lines": [],
        "numbers": {},
        "pictures": [],
        "colours": {},
    },
    "grid": {"label": LABEL, "colours": {}, "small": False, "groups": {}, "columns": [], "rows": []},
    "picture": {
        "alt": LABEL,
        "names": ["a", "b"],
        "notes": ["", ""],
        "images": [[0], [255]],
        "shape": [1, 1],
        "focus": [0, 0],
        "reach": [0, 0],
        "colour": "#000",
    },
    "plot": {
        "alt": LABEL,
        "figure": pack_message({"data": [], "layout": {}}),
        "library": "data:text/javascript,window.Plotly = {react() {}}",
    },
    "picked": {"text": LABEL},
    "twins": {"alt": LABEL, "x": "", "y": "", "count": 1, "low": 0, "high": 1, "first": [], "second": [], "plays": True}
    | {"names": ["a", "b"], "colours": ["#000", "#000"]},
    "toolbar": {"label": LABEL, "presenting": False},
}


def test_every_component_is_tried():
    components = {name.removesuffix(".js") for name, text in MODULE_SOURCES.items() if b"export default" in text}
    # Nothing is sent to "sight", and always the same to "desk", which asks the routes of a class itself.
    assert components - {"sight", "desk"} == DATA.keys() == MARKUP.keys()


@pytest.mark.parametrize("name", DATA)
def test_what_arrives_late_is_not_shown(page, name):
    turns = [
        (turn, {key: f"{value} {turn}" if value == LABEL else value for key, value in DATA[name].items()})
        for turn in (7, 8, 6, 9)
    ]
    now, new, late, newer = called(page, name, turns, "document.body.innerHTML")
    assert [f"{LABEL} {turn}" in text for turn, text in ((7, now), (8, new), (8, late), (9, newer))] == [True] * 4


def test_what_is_shown_already_is_not_drawn_again(page):
    data = DATA["grid"] | {"open": ""}
    count = "document.querySelector('[data-drawn]').dataset.drawn"
    assert called(page, "grid", [(7, data), (7, data), (8, data)], count) == ["1", "1", "2"]
