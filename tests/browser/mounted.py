"""A component without a page around it: its script is called with what the server would send, turn by turn."""

import base64
import struct
from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Page, Route

from normviz.charts.packing import pack_message
from normviz.web.components import copying, element, grid, picked, picture, toolbar, twins
from normviz.web.modules import MODULE_SOURCES

MARKUP = {
    "copying": copying.HTML,
    "drag": '<label class="nv-drag"><span></span><output></output><input type="range"></label>',
    "grid": grid.HTML,
    "element": element.HTML,
    "picture": picture.HTML,
    "plot": '<div class="nv-plot"><i class="nv-readout"></i><div class="nv-graph" style="min-height: 9px"></div>'
    '<i class="nv-live"></i>'
    '<svg class="nv-labels"></svg><i class="nv-stages"></i><i class="nv-home"></i>'
    '<i class="nv-told"><i class="nv-board"></i><p></p></i><i class="nv-legend"></i>'
    '<details class="nv-fold"><i class="nv-inside"></i><i class="nv-hidden"></i></details></div>',
    "picked": picked.HTML,
    "toolbar": toolbar.HTML,
    "twins": twins.HTML,
}
ORIGIN = "http://modules.test"
"""Where a page finds the modules; nothing is served there, the browser's requests are answered in place."""

CALLED = """async ([name, markup, messages, expression]) => {
  const module = await import(`/${name}.js`);
  document.body.innerHTML = markup;
  const found = [];
  for (const message of messages) {
    const data = Uint8Array.from(atob(message), (c) => c.charCodeAt(0));
    module.default({data, parentElement: document.body, setStateValue: () => {}});
    do await new Promise((resolve) => setTimeout(resolve, 100));
    while (document.querySelector("[data-drawing]"));
    found.push(eval(expression));
  }
  return found;
}"""


def open_modules(page: Page) -> None:
    """Open an empty page that imports the modules of normviz/web."""

    def answer(route: Route) -> None:
        name = route.request.url.removeprefix(f"{ORIGIN}/")
        if name in MODULE_SOURCES:
            route.fulfill(body=MODULE_SOURCES[name], content_type="text/javascript")
        else:
            route.fulfill(body="<!doctype html>", content_type="text/html")

    page.route(f"{ORIGIN}/**", answer)
    page.goto(ORIGIN)


def called(page: Page, name: str, turns: Sequence[tuple[int, dict[str, Any]]], expression: str) -> list[Any]:
    """What an expression is after each of these data, which are sent with the number of their turn."""
    sent = [base64.b64encode(struct.pack("<d", turn) + pack_message(data)).decode() for turn, data in turns]
    open_modules(page)
    return page.evaluate(CALLED, [name, MARKUP[name], sent, expression])
