"""The private members of Plotly, each called on a live figure.

After an upgrade of plotly this file says which of them has changed. Mend normviz/web/plotly_internals.js until it is
green, and add the version to HOLDS_FOR.
"""

from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from mounted import open_modules
from patience import TWO_FRAMES, drag, soon

HOLDS_FOR = {"7.1.0": "4.1.1"}
"""The versions of plotly, and the plotly.js in each, for which the adapter was tested."""

PLOTLY_JS = files("plotly").joinpath("package_data", "plotly.min.js")

SCENE = """async () => {
  Object.assign(globalThis, await import('/plotly_internals.js'), await import('/pointing.js'));
  document.body.innerHTML = '<div id="graph" style="width: 400px; height: 400px"></div>';
  globalThis.graph = document.querySelector('#graph');
  const axis = { range: [0, 2], autorange: false, visible: false };
  const cube = { x: [0, 2, 2, 0, 0, 2, 2, 0], y: [0, 0, 2, 2, 0, 0, 2, 2], z: [0, 0, 0, 0, 2, 2, 2, 2] };
  await Plotly.newPlot(graph, [
    { type: 'mesh3d', name: 'cells', ...cube, alphahull: 0, color: '#c00', hoverinfo: 'text', text: 'a cell' },
    { type: 'scatter3d', name: 'grid', mode: 'lines', x: [0, 2], y: [0, 0], z: [0, 0], line: { color: '#000' } },
  ], {
    width: 400, height: 400, margin: { l: 0, r: 0, t: 0, b: 0 }, showlegend: false,
    scene: {
      xaxis: axis, yaxis: axis, zaxis: axis, aspectmode: 'manual', aspectratio: { x: 0.5, y: 1, z: 0.75 },
      camera: { eye: { x: 0, y: -2, z: 0 }, projection: { type: 'orthographic' } },
    },
  });
}"""
"""A box in a scene without axes, seen along y."""

MESH = """async () => {
  const [i, j, k] = [Uint32Array.of(0, 0), Uint32Array.of(1, 2), Uint32Array.of(2, 3)];
  const [x, y, z] = [Float32Array.of(0, 2, 2, 0), Float32Array.of(1, 1, 1, 1), Float32Array.of(0, 0, 2, 2)];
  globalThis.mesh = { x, y, z, i, j, k, intensity: new Float32Array(4) };
  const look = { cmin: 0, cmax: 1, colorscale: [[0, '#00f'], [1, '#f00']], showscale: false, flatshading: true };
  await Plotly.react(graph, [{ type: 'mesh3d', name: 'cells', ...look, ...mesh }], graph.layout);
  const [drawn] = Object.values(graph._fullLayout.scene._scene.traces);
  const { update } = Object.getPrototypeOf(drawn);
  globalThis.updates = 0;
  drawn.update = (full) => { updates += 1; update.call(drawn, full); };
}"""
"""A rectangle of two triangles in place of the box, and a count of how often Plotly prepares it."""

CHART = """async () => {
  const { toPixels } = await import('/plotly_internals.js');
  document.body.innerHTML = '<div id="graph"></div>';
  const graph = document.querySelector('#graph');
  await Plotly.newPlot(graph, [{ x: [0, 10], y: [0, 5] }], {
    width: 600, height: 300, margin: { l: 100, r: 100, t: 50, b: 50 },
    xaxis: { range: [0, 10] }, yaxis: { range: [0, 5] },
  });
  return [['xaxis', 0], ['xaxis', 5], ['yaxis', 0], ['yaxis', 5]].map(([axis, at]) => toPixels(graph, axis, at));
}"""


@pytest.fixture
def figure(page):
    """The page with plotly.js and the modules, on which a figure is drawn."""
    open_modules(page)
    page.add_script_tag(path=str(PLOTLY_JS))
    return page


@pytest.fixture
def scene(figure):
    """The page with a scene, and the names of the adapter and of pointing.js."""
    figure.evaluate(SCENE)
    return figure


def count_frames(page) -> None:
    """Let the page count the frames that its scene draws from now on."""
    page.evaluate("() => { globalThis.frames = 0; callAfterFrames(graph, () => { frames += 1; }); }")


def test_the_adapter_was_tested_with_the_plotly_that_is_installed(figure):
    assert HOLDS_FOR.get(version("plotly")) == figure.evaluate("Plotly.version")


def test_every_function_of_the_adapter_is_tested_here(figure):
    names = figure.evaluate("async () => Object.keys(await import('/plotly_internals.js'))")
    text = Path(__file__).read_text()
    assert [name for name in names if f"{name}(graph" not in text] == []


def test_the_camera_is_where_it_was_set(scene):
    eye = {"x": 1.5, "y": -1, "z": 0.5}
    scene.evaluate("eye => Plotly.relayout(graph, { 'scene.camera.eye': eye })", eye)
    camera: dict[str, Any] = scene.evaluate("getCamera(graph)")
    assert camera["eye"] == pytest.approx(eye)
    assert camera["projection"] == {"type": "orthographic"}
    assert camera["up"] == pytest.approx({"x": 0, "y": 0, "z": 1})


def test_the_sides_are_as_long_as_they_were_set_and_grow_with_the_wheel(scene):
    before = {"x": 0.5, "y": 1, "z": 0.75}
    assert scene.evaluate("getSides(graph)") == pytest.approx(before)
    scene.evaluate("Object.assign(getSides(graph), { x: 7 })")
    assert scene.evaluate("getSides(graph)") == pytest.approx(before)  # a copy
    scene.mouse.move(200, 200)
    scene.mouse.wheel(0, -200)
    soon(scene, lambda: scene.evaluate("getSides(graph).x") > 1.05 * before["x"])
    after = scene.evaluate("getSides(graph)")
    assert after["y"] / before["y"] == pytest.approx(after["x"] / before["x"])


def test_the_projection_puts_the_box_where_it_is_drawn(scene):
    left, right, top, middle, front, back = scene.evaluate(
        "[[0, 1, 1], [2, 1, 1], [1, 1, 2], [1, 1, 1], [1, 0, 1], [1, 2, 1]]"
        ".map((place) => createProjection(readProjection(graph))(...place))"
    )
    assert middle[:2] == pytest.approx([0, 0], abs=1e-6)
    assert left[:2] == pytest.approx([-right[0], 0], abs=1e-6)
    assert top[0] == pytest.approx(0, abs=1e-6)
    assert right[0] > 0
    assert top[1] / right[0] == pytest.approx(0.75 / 0.5)  # the window is a square
    assert front[2] < back[2]
    size = "{{ const {{ width, height }} = readProjection(graph).{}.getBoundingClientRect(); [width, height] }}"
    assert scene.evaluate(size.format("container")) == [400, 400]
    assert scene.evaluate(size.format("overlay")) == [400, 400]
    assert scene.evaluate("readProjection(graph).overlay.namespaceURI") == "http://www.w3.org/2000/svg"


def test_a_call_follows_every_frame_once(scene):
    count_frames(scene)
    scene.evaluate("callAfterFrames(graph, () => { frames += 1000; })")
    scene.evaluate("Plotly.relayout(graph, { 'scene.camera.eye': { x: 1, y: -2, z: 1 } })")
    soon(scene, lambda: scene.evaluate("frames") > 0)
    assert scene.evaluate("frames") < 1000


def test_plotly_does_not_look_up_what_is_under_the_pointer(scene):
    scene.evaluate("() => { globalThis.hovers = 0; graph.on('plotly_hover', () => { hovers += 1; }); }")
    scene.mouse.move(190, 200)
    soon(scene, lambda: scene.evaluate("hovers") > 0)
    scene.mouse.move(5, 5)
    scene.evaluate(TWO_FRAMES)
    scene.evaluate("() => { disablePicking(graph); hovers = 0; }")
    for across in (180, 200, 220):
        scene.mouse.move(across, 200)
        scene.evaluate(TWO_FRAMES)
    assert scene.evaluate("hovers") == 0
    drag(scene, (220, 200), (300, 250))  # the camera still turns
    soon(scene, lambda: abs(scene.evaluate("getCamera(graph).eye.x")) > 0.1)


def test_other_numbers_are_drawn(scene):
    count_frames(scene)
    graph = scene.locator("#graph")
    before = graph.screenshot()
    scene.evaluate("updateTraces(graph, { cells: { x: graph.data[0].x.map((x) => x / 2) } })")
    soon(scene, lambda: scene.evaluate("frames") > 0)
    assert scene.evaluate("graph.data[0].x") == [0, 1, 1, 0, 0, 1, 1, 0]
    soon(scene, lambda: graph.screenshot() != before)


def test_a_mesh_of_the_same_triangles_moves_as_one_that_is_drawn_anew(scene):
    scene.evaluate(MESH)
    graph = scene.locator("#graph")
    before = graph.screenshot()
    scene.evaluate("() => { mesh.x.set([0.5, 2, 1, 0]); mesh.intensity.fill(1); }")
    scene.evaluate("updateTraces(graph, { cells: mesh })")
    moved = graph.screenshot()
    assert moved != before
    assert scene.evaluate("updates") == 0
    scene.evaluate("updateTraces(graph, { cells: { ...mesh, i: mesh.i.slice() } })")
    assert scene.evaluate("updates") == 1
    assert graph.screenshot() == moved


def test_a_trace_that_stays_is_not_sent_again(scene):
    scene.evaluate(MESH)
    scene.evaluate("updateTraces(graph, { cells: { x: mesh.x.slice(), name: 'cells' } })")
    assert scene.evaluate("updates") == 0
    scene.evaluate("updateTraces(graph, { cells: { x: mesh.x.map((x) => x / 2) } })")
    assert scene.evaluate("updates") == 1


def test_a_value_has_its_place_along_an_axis(figure):
    assert figure.evaluate(CHART) == pytest.approx([0, 200, 200, 0])  # y runs upwards
