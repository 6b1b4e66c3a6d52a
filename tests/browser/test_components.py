"""The scripts of the components in a browser, without a page around them."""

from pathlib import Path

import pytest
from mounted import MARKUP, called

from normviz.ui.components import component, plot
from normviz.ui.packed import packed

LABEL = "what is shown"
DATA = {
    "drag": {"label": LABEL, "texts": ["1", "2"], "index": 0},
    "grid": {"label": LABEL, "corner": "", "colours": {"yes": "#000", "no": "#000"}, "columns": [], "rows": []},
    "plot": {
        "alt": LABEL,
        "figure": packed({"data": [], "layout": {}}),
        "library": "data:text/javascript,window.Plotly = {react() {}}",
    },
}


def test_every_component_is_tried():
    scripts = {path.stem for path in Path(component.__file__).parent.glob("*.js")}
    assert scripts - {"data", *plot.PARTS} == DATA.keys() == MARKUP.keys()


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
