"""The texts around a cube, placed in JavaScript: nothing lies over anything, and at first all is in the frame."""

from itertools import combinations

import numpy as np
import pytest
from node import evaluate

from normviz.charts import cube
from normviz.charts.cube_layout import LAYOUT_FUNCTIONS, compute_layout

EYES = (cube.INITIAL_CAMERA_EYE, (-1.3, -1.2, 0.9), (0.6, 1.6, 0.3), (0.2, -0.6, 1.8), (1.8, -0.2, -0.6))
PLAIN, WEIGHTS = (0, 1, 2, 3), (2, 0, 1, 3)
CUBES = {
    "folded": ("folded", (4, 4, 4, 6), PLAIN),
    "unfolded": ("unfolded", (4, 4, 4, 6), PLAIN),
    "nine examples": ("unfolded", (9, 3, 5, 4), PLAIN),
    "tokens": ("folded", (4, 8, 1, 6), PLAIN),
    "weights": ("unfolded", (3, 3, 4, 8), WEIGHTS),
    "windows": ("folded", (2, 9, 9, 3), PLAIN),
    "flat examples": ("unfolded", (40, 2, 2, 1), PLAIN),
    "three schemes": ("folded", (4, 4, 4, 6), PLAIN),
}
TITLES = {"folded": ["C kept", "N averaged", "H and W averaged"], "unfolded": ["W averaged", "C kept", "H averaged"]}
BRIEF = {"folded": ["C", "N", "H and W"], "unfolded": ["W", "C", "H"]}
HEADINGS = {"three schemes": ["Batch", "Layer", "Instance"]}
BAR = 76
AIR = 0.15
"""The share of a line's height above its letters, and below them."""

PLACED = """({listCellStarts, fitScene, pullCellsApart, buildSurface, layOutTexts}, hover, scene, eye, container) => {
  const measure = (text, size) => 0.55 * size * text.length;
  const { places, unit, style } = fitScene(hover, scene, { ...container, family: "any", measure });
  const at = pullCellsApart(hover, []);
  const { extent, each } = hover.labels;
  const [x, y, z] = eye;
  const [far, all] = [Math.hypot(x, y), Math.hypot(x, y, z)];
  const [right, up] = [[-y / far, x / far, 0], [(-z * x) / far / all, (-z * y) / far / all, far / all]];
  const middle = (range) => (range[0] + range[1]) / 2;
  const project = (place, [across, down]) => {
    const v = place.map((p, d) => (p - extent[d] / 2) * unit[d] * (d === 2 ? -1 : 1));
    const seen = (direction) => direction.reduce((sum, part, d) => sum + part * v[d], 0);
    return [
      middle(scene.domain.x) * container.width + seen(right) + across,
      (1 - middle(scene.domain.y)) * container.height - seen(up) + down,
    ];
  };
  const { mesh } = buildSurface({ ...hover, copies: [{}] }, at, [0, 0, 0, 0], new Float32Array(hover.x.length));
  const [texts, corners] = [[], []];
  each.forEach((one, k) => {
    const middles = one.ticks.map((lengths, d) =>
      (lengths.length ? listCellStarts(hover, at, d).map((v) => v + at.size[d] / 2) : []));
    const words = { ...one, extent, middles, overhang: hover.overhang, result: one.heading && "x̂ = −0.03711" };
    texts.push(...layOutTexts(words, (place) => project(place, places[k]), style, texts));
    corners.push(...Array.from(mesh.x, (v, n) => project([v, mesh.y[n], mesh.z[n]], places[k])));
  });
  return { texts, corners };
}"""


def compute_frame_height(name, width, height):
    """The height of a frame of this width; as high as `computeHeight` has copies below each other."""
    copies = len(HEADINGS.get(name, [""]))
    return copies * 200 + 38 if copies > 1 and width - BAR < 300 else height


def placed(name, eye, width, height):
    """The texts around a cube that is fitted into its frame and then turned, and the corners of its faces in pixels."""
    view, shape, roles = CUBES[name]
    x = np.zeros(shape)
    headings = HEADINGS.get(name, [""])
    copies = len(headings)
    layout = compute_layout(view, shape, roles)
    labels = cube.build_labels_data(layout, [TITLES[view]] * copies, headings, short_titles=BRIEF[view])
    hover = cube.build_hover_data(layout, [(None, None)] * copies, x, [x] * copies, labels=labels)
    scene = cube.draw_cube(layout, np.zeros(shape), {"kind": "plain"}).layout["scene"]
    container = {"width": width, "height": compute_frame_height(name, width, height), "bar": BAR}
    found = evaluate("cells surface framing labels", PLACED, hover, scene, eye, container)
    return found["texts"], np.reshape(found["corners"], (-1, 4, 2))


def box(text, air=0.0):
    """Left, right, top and bottom of a text, without this share of its height above and below the letters."""
    half = text["h"] * (0.5 - air)
    return text["x"] - text["w"] / 2, text["x"] + text["w"] / 2, text["y"] - half, text["y"] + half


def lies_on_a_face(place, faces):
    """Whether a place is inside one of these convex faces."""
    to = faces - place
    after = np.roll(to, -1, axis=1)
    turns = to[..., 0] * after[..., 1] - to[..., 1] * after[..., 0]
    return bool(((turns > 1).all(axis=1) | (turns < -1).all(axis=1)).any())


@pytest.mark.parametrize(("width", "height"), [(519, 415), (260, 208)])
@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("name", CUBES)
def test_nothing_lies_over_anything_however_the_cube_is_turned(name, eye, width, height):
    texts, faces = placed(name, eye, width, height)
    assert len(texts) >= 2
    assert [text["lines"] for text in texts if text["kind"] == "heading"] == [[text] for text in HEADINGS.get(name, [])]
    assert sum(text["kind"] == "note" for text in texts) == len(HEADINGS.get(name, []))
    for one, other in combinations(texts, 2):
        (left, right, top, bottom), (a, b, c, d) = box(one, AIR), box(other, AIR)
        assert right <= a or b <= left or bottom <= c or d <= top, (one["lines"], other["lines"])
    for text in texts:
        left, right, top, bottom = box(text, AIR)
        for place in ((x, y) for x in (left, (left + right) / 2, right) for y in (top, bottom)):
            assert not lies_on_a_face(place, faces), text["lines"]


@pytest.mark.parametrize(("width", "height"), [(356, 285), (519, 415), (903, 713)])
@pytest.mark.parametrize("name", CUBES)
def test_every_title_is_in_the_frame_at_first_and_the_cube_beside_its_bar(name, width, height):
    texts, faces = placed(name, cube.INITIAL_CAMERA_EYE, width, height)
    if name not in HEADINGS:  # several copies have no room for all
        assert {" ".join(text["lines"]) for text in texts if text["kind"] == "title"} == set(TITLES[CUBES[name][0]])
    for left, right, top, bottom in map(box, texts):
        assert left >= -1
        assert right <= width + 1
        assert top >= -1
        assert bottom <= compute_frame_height(name, width, height) + 1
    assert faces[..., 0].min() >= 0
    assert faces[..., 0].max() <= width - BAR


@pytest.mark.parametrize(
    ("name", "width", "height", "step"),
    [("folded", 903, 713, 1), ("folded", 519, 208, 4), ("windows", 903, 713, 9)],
)
def test_both_indices_of_a_shared_side_are_written_of_every_element_or_of_whole_rows(name, width, height, step):
    _, (_, h, w, _), _ = CUBES[name]
    texts, _ = placed(name, cube.INITIAL_CAMERA_EYE, width, height)
    written = [text["lines"][0] for text in texts if "," in text["lines"][0]]
    assert written == [f"{i // w}, {i % w}" for i in range(0, h * w, step)]


def test_every_view_is_tried():
    assert {view for view, _, _ in CUBES.values()} == LAYOUT_FUNCTIONS.keys() == TITLES.keys()
