// Everything that this project needs of Plotly beyond its documented interface. No other module names a private member
// of Plotly: tests/ui/test_private_members.py checks that, tests/browser/test_plotly_internals.py calls each function
// on a live figure and names the version that they hold for.

import { isSameList } from "./indices.js";

/** @import {Camera, Place} from "./messages.d.ts" */
/** @import {Graph, Trace} from "./plotly.d.ts" */

/**
 * How a scene is projected. `container`: the element that it fills; `box`: its place in the window, measured before
 * anything is written, since a later look would lay out the page again; `overlay`: the SVG element that Plotly keeps over
 * it; `matrices`: by columns; `scale`: the factors by which the data are multiplied first.
 * @typedef {object} SceneProjection
 * @property {HTMLElement} container
 * @property {DOMRect} box
 * @property {SVGElement} overlay
 * @property {Record<"projection" | "view" | "model", ArrayLike<number>>} matrices
 * @property {number[]} scale
 *
 * The objects that draw a scene.
 * @typedef {object} Drawing
 * @property {{pickSlots: number}[]} objects
 * @property {Record<"projection" | "view" | "model", ArrayLike<number>>} cameraParams
 * @property {{enabled: boolean}} mouseListener
 * @property {() => Place} getAspectratio
 * @property {(object: {pickSlots: number}) => void} add
 * @property {(object: {pickSlots: number}) => void} remove
 * @property {() => void} redraw
 * @typedef {object} PrivateScene
 * @property {HTMLElement} container
 * @property {SVGElement} svgContainer
 * @property {number[]} dataScale
 * @property {Drawing} glplot
 * @property {Record<string, DrawnTrace>} traces
 * @property {() => Camera} getCamera
 * @property {() => void} render
 *
 * A trace with all of its defaults.
 * @typedef {Trace & {index: number, uid: string}} FullTrace
 *
 * A mesh whose corners have levels between `cmin` and `cmax`.
 * @typedef {Record<"x" | "y" | "z" | "i" | "j" | "k" | "intensity", ArrayLike<number>>} Corners
 * @typedef {Corners & {cmin: number, cmax: number}} FullMesh
 *
 * What the graphics card has of a trace; of a mesh the corners of its triangles one after the other, and their places
 * along the scale of colours.
 * @typedef {{update: (trace: FullTrace) => void, mesh?: Record<"trianglePositions" | "triangleUVs", Buffer>}} DrawnTrace
 * @typedef {{update: (numbers: Float32Array) => void}} Buffer
 * @typedef {{l2p: (value: number) => number}} PrivateAxis
 * @typedef {{scene: {_scene: PrivateScene}, xaxis: PrivateAxis, yaxis: PrivateAxis}} FullLayout
 * @typedef {Graph & {_fullLayout: FullLayout, _fullData: FullTrace[]}} PrivateGraph
 */

/**
 * Return a graph with its private members.
 * @param {Graph} graph
 */
const asPrivate = (graph) => /** @type {PrivateGraph} */ (graph);

/**
 * Return the private scene of a graph.
 * @param {Graph} graph
 */
const getScene = (graph) => asPrivate(graph)._fullLayout.scene._scene;

/**
 * Return the current camera.
 * @param {Graph} graph
 */
export const getCamera = (graph) => getScene(graph).getCamera();

/**
 * Return the current lengths of the scene's sides. Scrolling an orthographic scene scales them.
 * @param {Graph} graph
 */
export const getSides = (graph) => ({ ...getScene(graph).glplot.getAspectratio() });

/**
 * Return the current projection of the scene.
 * @param {Graph} graph
 * @returns {SceneProjection}
 */
export function readProjection(graph) {
  const { container, svgContainer: overlay, glplot, dataScale: scale } = getScene(graph);
  const { projection, view, model } = glplot.cameraParams;
  const box = container.getBoundingClientRect();
  return { container, box, overlay, matrices: { projection, view, model }, scale };
}

/**
 * Call `draw` after each frame of the scene, while the graph has this scene. Further calls change nothing.
 * @param {Graph} graph
 * @param {() => void} draw
 */
export function callAfterFrames(graph, draw) {
  const scene = getScene(graph);
  if (Object.hasOwn(scene, "render")) return;
  scene.render = () => {
    Object.getPrototypeOf(scene).render.call(scene);
    draw();
  };
}

/**
 * Keep Plotly from looking up what is under the pointer: it would draw another picture, of numbers, and the scene once
 * more where that changes. `findFace` of pointing.js finds it without.
 * @param {Graph} graph
 */
export function disablePicking(graph) {
  const { glplot } = getScene(graph);
  const last = glplot.objects.at(-1);
  if (!last || glplot.objects.every((object) => object.pickSlots === 0)) return;
  for (const object of glplot.objects) object.pickSlots = 0;
  glplot.remove(last);
  glplot.add(last); // adding an object recounts the picking slots
  glplot.mouseListener.enabled = false;
}

/**
 * Return true if a trace already has these properties. Numbers may have changed within the same array.
 * @param {FullTrace} full
 * @param {Record<string, any>} change
 */
const isShown = (full, change) =>
  Object.entries(change).every(([name, value]) =>
    typeof value === "object"
      ? value !== full[name] && isSameList(value, /** @type {unknown[]} */ (full[name]))
      : value === full[name],
  );

/**
 * Send the corners and levels of a mesh, whose triangles are the same as before, to the graphics card. Plotly would
 * compute the normals and the colours anew, which takes longer than drawing.
 * @param {NonNullable<DrawnTrace["mesh"]>} mesh
 * @param {FullMesh} full
 * @param {number[]} scale
 */
function updateMesh(mesh, { x, y, z, i, j, k, intensity, cmin, cmax }, [sx, sy, sz]) {
  const places = new Float32Array(9 * i.length);
  const levels = new Float32Array(6 * i.length); // each beside a 0
  let at = 0;
  for (let triangle = 0; triangle < i.length; triangle++) {
    for (let nth = 0; nth < 3; nth++, at++) {
      const corner = (nth === 0 ? k : nth === 1 ? j : i)[triangle]; // Plotly begins with the last one
      places[3 * at] = x[corner] * sx;
      places[3 * at + 1] = y[corner] * sy;
      places[3 * at + 2] = z[corner] * sz;
      levels[2 * at] = (intensity[corner] - cmin) / (cmax - cmin);
    }
  }
  mesh.trianglePositions.update(places);
  mesh.triangleUVs.update(levels);
}

/**
 * Change properties of the scene's traces, by name, and draw. Only what has changed goes to the
 * graphics card; Plotly.restyle would send every trace.
 * @param {Graph} graph
 * @param {Record<string, Record<string, any>>} changes
 */
export function updateTraces(graph, changes) {
  const scene = getScene(graph);
  for (const full of asPrivate(graph)._fullData) {
    const change = changes[full.name ?? ""];
    if (!change || isShown(full, change)) continue;
    const drawn = scene.traces[full.uid];
    const isMove = full.intensity && change.intensity && change.i === full.i;
    Object.assign(full, change);
    Object.assign(graph.data[full.index], change);
    if (isMove && drawn.mesh)
      updateMesh(drawn.mesh, /** @type {FullMesh} */ (/** @type {unknown} */ (full)), scene.dataScale);
    else drawn.update(full);
  }
  disablePicking(graph); // a trace may have got its first lines
  scene.glplot.redraw();
}

/**
 * Return the distance of a value from the start of an axis, in pixels.
 * @param {Graph} graph
 * @param {"xaxis" | "yaxis"} axis
 * @param {number} value
 */
export const toPixels = (graph, axis, value) => asPrivate(graph)._fullLayout[axis].l2p(value);
