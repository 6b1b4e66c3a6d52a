"""What is written around the cube, in a real browser: nothing lies over anything, however the cube is turned.

tests/web/test_placed_labels.py tries other shapes, without a browser.
"""

import pytest
from patience import TWO_FRAMES

EYES = ((1.1, -1.5, 0.8), (-1.3, -1.2, 0.9), (0.6, 1.6, 0.3), (0.2, -0.6, 1.8), (1.8, -0.2, -0.6))
COLLISIONS = """() => {
  const graph = document.querySelector('.st-key-cube .js-plotly-plot');
  const { container, glplot, dataScale } = graph._fullLayout.scene._scene;
  const box = container.getBoundingClientRect(), { x, y, z } = graph._fullData.find((t) => t.name === "cells");
  const times = (m, v) => [0, 1, 2, 3].map((row) => v.reduce((sum, part, k) => sum + m[4 * k + row] * part, 0));
  const { projection, view, model } = glplot.cameraParams;
  const at = [...x].map((v, i) => {
    const here = [v, y[i], z[i]].map((p, d) => p * dataScale[d]).concat(1);
    const [a, b, , w] = times(projection, times(view, times(model, here)));
    return [box.left + (1 + a / w) / 2 * box.width, box.top + (1 - b / w) / 2 * box.height];
  });
  const inside = (px, py, face) => {
    const turns = [0, 1, 2, 3].map((n) => {
      const [a, b] = at[4 * face + n], [c, d] = at[4 * face + (n + 1) % 4];
      return (a - px) * (d - py) - (b - py) * (c - px);
    });
    return turns.every((turn) => turn > 1) || turns.every((turn) => turn < -1);
  };
  const texts = [...document.querySelectorAll('.nv-labels text')].map((text) => {
    const { left, right, top, bottom } = text.getBoundingClientRect(), air = (bottom - top) * 0.15;  // around letters
    return { text: text.textContent, left, right, top: top + air, bottom: bottom - air };
  });
  const bar = document.querySelector('.infolayer .cbcoords, .infolayer .colorbar')?.getBoundingClientRect();
  const found = [];
  texts.forEach((one, n) => {
    for (const other of texts.slice(n + 1)) {
      if (one.left < other.right && other.left < one.right && one.top < other.bottom && other.top < one.bottom) {
        found.push(`${one.text} on ${other.text}`);
      }
    }
    for (const px of [one.left, (one.left + one.right) / 2, one.right]) for (const py of [one.top, one.bottom]) {
      for (let face = 0; face < at.length / 4; face++) if (inside(px, py, face)) found.push(`${one.text} on a cell`);
    }
  });
  if (bar && Math.max(...at.map(([px]) => px)) > bar.left) found.push("a cell on the colour bar");
  return [texts.map(({ text }) => text), [...new Set(found)]];
}"""
TURN = "(gd, eye) => Plotly.relayout(gd, {'scene.camera': {...gd.layout.scene.camera, eye}})"
ACROSS = "gd => gd._fullLayout.scene._scene.getCamera().eye.x"


def test_nothing_lies_over_anything_however_the_cube_is_turned(lab):
    lab.open("?n=9&h=3&w=5&c=4&view=unfolded&colour=value")
    for eye in EYES:
        lab.graph(TURN, dict(zip("xyz", eye, strict=True)))
        lab.soon(lambda eye=eye: lab.graph(ACROSS) == pytest.approx(eye[0]))
        lab.page.evaluate(TWO_FRAMES)
        texts, found = lab.page.evaluate(COLLISIONS)
        assert (eye, found) == (eye, [])
        assert len(texts) >= 2
    lab.page.get_by_role("button", name="Reset view").click()  # a redraw for the next test's link keeps the camera
    lab.soon(lambda: lab.graph(ACROSS) == pytest.approx(EYES[0][0]))


@pytest.mark.parametrize(("width", "height"), [(390, 844), (1280, 900), (1920, 1080)])
def test_every_title_is_in_the_picture_at_first(lab, width, height):
    lab.page.set_viewport_size({"width": width, "height": height})
    for link, titles in (
        ("", {"C (channels) kept", "N (batch) averaged", "H and W (positions) averaged"}),
        ("?view=unfolded&colour=value", {"C (channels) kept", "W (width) averaged", "H (height) averaged"}),
    ):
        lab.open(link)
        texts, found = lab.page.evaluate(COLLISIONS)
        assert found == []
        assert all(title in " ".join(texts) for title in titles)
        frame = lab.page.locator(".st-key-cube .nv-frame").bounding_box()
        for box in (text.bounding_box() for text in lab.page.locator(".st-key-cube .nv-labels text").all()):
            assert frame["x"] - 1 <= box["x"]
            assert box["x"] + box["width"] <= frame["x"] + frame["width"] + 1
        if "unfolded" in link and width > 640:
            assert {"example 0", "example 3"} <= set(texts) or {"n = 0", "n = 3"} <= set(texts)


def test_a_dense_layer_says_nothing_of_rows_and_columns(lab):
    lab.open("?n=8&h=1&w=1&c=12")
    cube = lab.page.locator(".st-key-cube")
    said = cube.inner_text() + cube.locator(".nv-labels").text_content()
    assert "H and W" not in said
    assert "N (batch)" in said
