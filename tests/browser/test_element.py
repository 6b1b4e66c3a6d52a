"""What stands beside the cube: that it says of every element what Python says, and follows what the cube shows."""

import base64
import random
import struct

import numpy as np
import pytest
import written
from mounted import CALLED, MARKUP, open_modules
from playwright.sync_api import expect
from test_cube import element_of, lit_cells

from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES, get_scheme
from normviz.cube.figure import cells_in
from normviz.cube.layout import layout_of
from normviz.data.samples import SAMPLES
from normviz.describe import live, wording
from normviz.describe.mathml import mathml
from normviz.lab.beside import beside_data, short
from normviz.lab.picture import PLAIN, ROLES
from normviz.ui.packed import packed

SHAPES = [(4, 4, 4, 6), (1, 1, 1, 1), (2, 3, 2, 1), (3, 8, 1, 4), (5, 1, 1, 12)]
SPOILT = (np.nan, np.inf, -np.inf, 1e300, -1e-300, 0.0)
FRAMED = (".shapelayer path", ".heatmaplayer image")
"""The frame in a heat map, and the picture that is all its cells."""

SAID = """(() => { const words = [];
  for (const index of window.indices[found.length]) {
    document.dispatchEvent(new CustomEvent("nv-element", {detail: {index, by: "pointer"}}));
    words.push([...document.querySelectorAll(".nv-where p b:first-child, .nv-statistics button span:not([hidden]),"
      + " .nv-line span:not([hidden])")].map((part) => part.textContent.replace(/\\s/g, "")));
  }
  return words; })()"""


def cases(count):
    """Schemes on tensors, some with fields made up, some with what is not finite, and elements of them."""
    rng = random.Random(5)
    for number in range(count):
        shape = SHAPES[(number + number // len(SCHEMES)) % len(SHAPES)]
        scheme = get_scheme(list(SCHEMES)[number % len(SCHEMES)], groups=1 if shape[3] % 2 else 2)
        if number % 3 == 0:
            rules = ["own", "full", "window(1)", "window(2)", "groups(1)"]
            a, b = (Field.parse(",".join(rng.choices(rules, k=4))) for _ in "ab")
            scheme = SCHEMES["custom"].with_fields(a, rng.choice([a, b, None]))
        x = SAMPLES["uneven"].make(shape, number) * rng.choice([1.0, 1e-7, 1e6])
        if number % 4 == 1:
            x.flat[rng.randrange(x.size)] = rng.choice(SPOILT)
        scheme.check(shape)
        yield scheme, x, [tuple(map(rng.randrange, shape)) for _ in range(6)]


def python_says(scheme, x, result, index, eps, gain, bias):
    numbers = live.numbers(scheme, x, result, eps, gain, bias)
    form = int(numbers["form"].of(index, x.shape)) if "form" in numbers else 0
    own = {name: each._replace(values=short(each.values)).of(index, x.shape) for name, each in numbers.items()}
    own |= dict(zip("nhwc", index, strict=True))
    lines = [*live.statistics(scheme), *live.lines(scheme, x.shape)]
    words = [box.where for box in wording.boxes(scheme, index, x.shape)] or ["Nothing is shared:"]
    said = words + [written.said(mathml(line.forms[form % len(line.forms)]), own.__getitem__) for line in lines]
    return ["".join(each.split()) for each in said]


def test_of_every_element_it_says_what_python_says(page):
    sent, indices, expected = [], [], []
    for turn, (scheme, x, looked_at) in enumerate(cases(40)):
        eps = 1e-3 if scheme.eps is not None and scheme.suppression is not None else 0.0
        gain, bias = (1.5 if scheme.gain is not None else 1.0), (-0.25 if scheme.bias is not None else 0.0)
        result = normalize(x, scheme, eps, gain, bias)
        roles = ROLES.get(scheme.acts_on, PLAIN)
        data = beside_data({"focus": (0, 0, 0, 0)}, scheme, x, result, (eps, gain, bias), roles, "light")
        sent.append(base64.b64encode(struct.pack("<d", turn) + packed(data)).decode())
        indices.append(looked_at)
        expected.append([python_says(scheme, x, result, index, eps, gain, bias) for index in looked_at])
    open_modules(page)
    page.evaluate("indices => { window.indices = indices; }", indices)
    assert page.evaluate(CALLED, ["element", MARKUP["element"], sent, SAID]) == expected


def test_it_follows_the_pointer_and_returns(lab):
    lab.open("?scheme=divisive&focus=1,2,1,3")
    beside = lab.page.locator(".nv-element")
    at_lock = beside.inner_text()
    lab.settle()
    sent, scheme, shape = len(lab.sent), SCHEMES["divisive"], (4, 4, 4, 6)
    for across, down in ((0.45, 0.55), (0.64, 0.62)):
        lab.point(across, down)
        index = element_of(lab.readout)
        assert index != (1, 2, 1, 3)
        words = wording.field_words(scheme.field, index, shape, scheme.axes)
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
    field = beside.get_by_label("c", exact=True)
    field.fill("99")
    page.keyboard.press("Enter")
    assert page.evaluate("window.told.some(({index, by}) => by === 'lock' && index.join() === '1,2,1,5')")
    page.wait_for_url("**focus=1%2C2%2C1%2C5**")
    lab.settle()
    layout, shape = layout_of("folded", (4, 4, 4, 6)), (4, 4, 4, 6)
    fields = {"μ": Field.parse("own, full, full, own"), "σ": Field.parse("full, own, own, own")}
    for symbol, each in fields.items():
        button = beside.get_by_role("button", name=symbol)
        lit = cells_in(layout, each.box((1, 2, 1, 5), shape))
        button.hover()
        lab.soon(lambda lit=lit: lit_cells(lab) == lit)
        page.mouse.move(5, 5)
        lab.soon(lambda: lit_cells(lab) == cells_in(layout, fields["σ"].box((1, 2, 1, 5), shape)))
        button.click()
        page.mouse.move(5, 5)
        lab.soon(lambda lit=lit: lit_cells(lab) == lit)  # stays for a finger, until it is pressed again
        assert button.get_attribute("aria-pressed") == "true"
        button.click()
    page.mouse.move(5, 5)
    page.locator(".nv-line [data-part=mean]").first.hover()
    lab.soon(lambda: lit_cells(lab) == cells_in(layout, fields["μ"].box((1, 2, 1, 5), shape)))
