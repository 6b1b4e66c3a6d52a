// Everything that this project needs of Plotly beyond its documented interface. No other module names a private member
// of Plotly: tests/ui/test_private_members.py checks that, tests/browser/test_plotly_internals.py calls each function
// on a live figure and names the version that they hold for.

/** @import {Camera, Place} from "./messages.d.ts" */
/** @import {Graph, Trace} from "./plotly.d.ts" */

/**
 * How a scene is projected. `container`: the element that it fills; `overlay`: the SVG element that Plotly keeps over it;
 * `matrices`: by columns; `scale`: the factors by which the data are multiplied first.
 * @typedef {object} SceneProjection
 * @property {HTMLElement} container
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
 *
 * @typedef {object} PrivateScene
 * @property {HTMLElement} container
 * @property {SVGElement} svgContainer
 * @property {number[]} dataScale
 * @property {Drawing} glplot
 * @property {Record<string, {update: (trace: FullTrace) => void}>} traces
 * @property {() => Camera} getCamera
 * @property {() => void} render
 *
 * A trace with all of its defaults.
 * @typedef {Trace & {index: number, uid: string}} FullTrace
 *
 * @typedef {{l2p: (value: number) => number}} PrivateAxis
 * @typedef {{scene: {_scene: PrivateScene}, xaxis: PrivateAxis, yaxis: PrivateAxis}} FullLayout
 * @typedef {Graph & {_fullLayout: FullLayout, _fullData: FullTrace[]}} PrivateGraph
 */

/**
 * Return a graph with its private members.
 * @param {Graph} graph
 */
const open = (graph) => /** @type {PrivateGraph} */ (graph);

/**
 * Return the private scene of a graph.
 * @param {Graph} graph
 */
const sceneOf = (graph) => open(graph)._fullLayout.scene._scene;

/**
 * Return where the camera is now.
 * @param {Graph} graph
 */
export const getCamera = (graph) => sceneOf(graph).getCamera();

/**
 * Return the lengths of the scene's sides now. Scrolling an orthographic scene scales them.
 * @param {Graph} graph
 */
export const getSides = (graph) => ({ ...sceneOf(graph).glplot.getAspectratio() });

/**
 * Return how the scene is projected now.
 * @param {Graph} graph
 * @returns {SceneProjection}
 */
export function readProjection(graph) {
  const { container, svgContainer: overlay, glplot, dataScale: scale } = sceneOf(graph);
  const { projection, view, model } = glplot.cameraParams;
  return { container, overlay, matrices: { projection, view, model }, scale };
}

/**
 * Call `draw` after each frame of the scene, for as long as the graph has this scene. Further calls change nothing.
 * @param {Graph} graph
 * @param {() => void} draw
 */
export function callAfterFrames(graph, draw) {
  const scene = sceneOf(graph);
  if (Object.hasOwn(scene, "render")) return;
  scene.render = () => {
    Object.getPrototypeOf(scene).render.call(scene);
    draw();
  };
}

/**
 * Keep Plotly from looking up what is under the pointer: it would draw another picture, of numbers, and the scene once
 * more where that changes. `faceAt` of pointing.js finds it without.
 * @param {Graph} graph
 */
export function disablePicking(graph) {
  const { glplot } = sceneOf(graph);
  const last = glplot.objects.at(-1);
  if (!last || glplot.objects.every((object) => object.pickSlots === 0)) return;
  for (const object of glplot.objects) object.pickSlots = 0;
  glplot.remove(last);
  glplot.add(last); // it only counts them then
  glplot.mouseListener.enabled = false;
}

/**
 * Give traces of the scene other properties, by the names of the traces, and draw. Plotly.restyle would send every trace
 * to the graphics card.
 * @param {Graph} graph
 * @param {Record<string, object>} changes
 */
export function updateTraces(graph, changes) {
  const scene = sceneOf(graph);
  for (const full of open(graph)._fullData) {
    const change = changes[full.name ?? ""];
    if (!change) continue;
    Object.assign(full, change);
    Object.assign(graph.data[full.index], change);
    scene.traces[full.uid].update(full);
  }
  disablePicking(graph); // a trace may have got its first lines
  scene.glplot.redraw();
}

/**
 * Return how many pixels a value is from the start of an axis.
 * @param {Graph} graph
 * @param {"xaxis" | "yaxis"} axis
 * @param {number} value
 */
export const toPixels = (graph, axis, value) => open(graph)._fullLayout[axis].l2p(value);
