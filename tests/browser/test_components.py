"""The scripts of the components in a browser, without a page around them."""

from pathlib import Path

import pytest

from normviz.ui.components import component

LABEL = "what is shown"
DATA = {
    "drag": {"label": LABEL, "texts": ["1", "2"], "index": 0},
    "grid": {"label": LABEL, "corner": "", "colours": {"yes": "#000", "no": "#000"}, "columns": [], "rows": []},
    "plot": {
        "alt": LABEL,
        "figure": '{"data": [], "layout": {}}',
        "library": "data:text/javascript,window.Plotly = {react() {}}",
    },
}
MARKUP = {
    "drag": '<label class="nv-drag"><span></span><output></output><input type="range"></label>',
    "grid": '<div class="nv-grid"></div>',
    "plot": '<div class="nv-plot"><i class="nv-readout"></i><i class="nv-graph"></i><i class="nv-live"></i></div>',
}
SHOWN = """async ([script, markup, all]) => {
  const module = await import(URL.createObjectURL(new Blob([script], {type: "text/javascript"})));
  document.body.innerHTML = markup;
  const found = [];
  for (const data of all) {
    module.default({data, parentElement: document.body, setStateValue: () => {}});
    await new Promise((resolve) => setTimeout(resolve, 100));
    found.push(document.body.innerHTML);
  }
  return found;
}"""
"""What is on the page after each of these data."""


def test_every_component_is_tried():
    scripts = {path.stem for path in Path(component.__file__).parent.glob("*.js")}
    assert scripts - {"latest"} == DATA.keys() == MARKUP.keys()


@pytest.mark.parametrize("name", DATA)
def test_what_arrives_late_is_not_shown(page, name):
    data = [
        {key: f"{value} {turn}" if value == LABEL else value for key, value in DATA[name].items()} | {"turn": turn}
        for turn in (7, 8, 6, 9)
    ]
    now, new, late, newer = page.evaluate(SHOWN, [component.script(name), MARKUP[name], data])
    assert [f"{LABEL} {turn}" in text for turn, text in ((7, now), (8, new), (8, late), (9, newer))] == [True] * 4
