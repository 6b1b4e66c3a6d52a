"""What stands beside the cube: that it says of every element what Python says, and follows what the cube shows."""

import base64
import struct

import pytest
from elements import make_cases
from mounted import CALLED, MARKUP, open_modules
from playwright.sync_api import expect
from standing import cells_in
from test_cube import element_of, lit_cells

from normviz.charts.cube_layout import compute_layout
from normviz.charts.packing import pack_message
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES
from normviz.describe import wording

FRAMED = (".shapelayer path", ".heatmaplayer image")
"""The frame in a heat map, and the picture that is all its cells."""

SAID = """(() => { const words = [];
  for (const index of window.indices[found.length]) {
    document.dispatchEvent(new CustomEvent("nv-element", {detail: {index, by: "pointer"}}));
    words.push([...document.querySelectorAll(".nv-where p b:first-child, .nv-statistics > * > span:not([hidden]),"
      + " .nv-line span:not([hidden])")].map((part) => part.textContent.replace(/\\s/g, "")));
  }
  return words; })()"""


def test_the_words_and_numbers_of_an_element_stand_in_the_page(page):
    cases = list(make_cases(6))
    sent = [struct.pack("<d", turn) + pack_message(case.data) for turn, case in enumerate(cases)]
    open_modules(page)
    page.evaluate("indices => { window.indices = indices; }", [case.indices for case in cases])
    messages = [base64.b64encode(each).decode() for each in sent]
    found = page.evaluate(CALLED, ["element", MARKUP["element"], messages, SAID])
    for case, texts in zip(cases, found, strict=True):
        where = [["".join(each.split()) for each in fields or ["Nothing is shared:"]] for fields in case.fields]
        assert texts == [words + formulas for words, formulas in zip(where, case.formulas, strict=True)]


def test_it_follows_the_pointer_and_returns(lab):
    lab.open("?scheme=divisive&focus=1,2,1,3").open_below()
    beside = lab.page.locator(".nv-element")
    at_lock = beside.inner_text()
    lab.settle()
    sent, scheme, shape = len(lab.sent), SCHEMES["divisive"], (4, 4, 4, 6)
    for across, down in ((0.45, 0.55), (0.64, 0.62)):
        lab.point(across, down)
        index = element_of(lab.readout)
        assert index != (1, 2, 1, 3)
        words = wording.describe_field_box(scheme.field, index, shape, scheme.axes)
        expect(beside.locator(".nv-where b")).to_have_text(words)
        assert [int(beside.get_by_label(c, exact=True).input_value()) for c in "nhwc"] == list(index)
        said = lab.readout.split("x = ")[1].split()
        expect(beside.locator(".st-key-line-element")).to_contain_text(said[0])
        expect(beside.locator(".st-key-line-normalized")).to_contain_text(f"={said[-1]}")
        frame, cell = (lab.page.locator(f".st-key-statistics-map {of}").bounding_box() for of in FRAMED)
        columns, rows = 4 * 6, 4 * 4
        centre = [frame["x"] + frame["width"] / 2 - cell["x"], frame["y"] + frame["height"] / 2 - cell["y"]]
        place = [centre[0] / cell["width"] * columns - 0.5, centre[1] / cell["height"] * rows - 0.5]
        n, h, w, c = index
        assert place == pytest.approx([w * 6 + c, n * 4 + h], abs=0.2)
    assert len(lab.sent) == sent  # nobody was asked
    lab.page.mouse.move(5, 5)
    lab.soon(lambda: beside.inner_text() == at_lock)


def test_an_index_locks_at_once_and_a_statistic_lights_its_elements(lab):
    lab.open("?scheme=custom&apart=1&a_n=own&a_h=full&a_w=full&a_c=own&b_n=full&b_h=own&b_w=own&b_c=own&focus=1,2,1,3")
    page, beside = lab.page, lab.page.locator(".nv-element")
    page.evaluate("window.told = []; document.addEventListener('nv-element', (e) => window.told.push(e.detail))")
    beside.locator(".nv-choose").evaluate("(part) => { part.open = true; }")
    field = beside.get_by_label("c", exact=True)
    field.fill("99")
    page.keyboard.press("Enter")
    assert page.evaluate("window.told.some(({index, by}) => by === 'lock' && index.join() === '1,2,1,5')")
    page.wait_for_url("**focus=1%2C2%2C1%2C5**")
    lab.settle()
    layout, shape = compute_layout("folded", (4, 4, 4, 6)), (4, 4, 4, 6)
    fields = {"μ": Field.parse("own, full, full, own"), "σ": Field.parse("full, own, own, own")}
    for symbol, each in fields.items():
        button = beside.get_by_role("button", name=symbol)
        lit = cells_in(layout, each.find_box((1, 2, 1, 5), shape))
        button.hover()
        lab.soon(lambda lit=lit: lit_cells(lab) == lit)
        page.mouse.move(5, 5)
        lab.soon(lambda: lit_cells(lab) == cells_in(layout, fields["σ"].find_box((1, 2, 1, 5), shape)))
        button.click()
        page.mouse.move(5, 5)
        lab.soon(lambda lit=lit: lit_cells(lab) == lit)  # stays for a finger, until it is pressed again
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
    page.mouse.move(5, 5)
    page.locator(".nv-line [data-part=mean]").first.hover()
    lab.soon(lambda: lit_cells(lab) == cells_in(layout, fields["μ"].find_box((1, 2, 1, 5), shape)))
