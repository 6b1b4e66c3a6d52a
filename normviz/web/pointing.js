// Pointers on a cube: the cell under them, and gestures that belong to the page instead.

import { isSameList } from "./indices.js";

/** @import {Corners} from "./surface.js" */
/** @import {Hover} from "./messages.d.ts" */

/**
 * Where a scene draws the data: the box that it fills in the window, matrices by columns, as WebGL has them, and a factor for each
 * axis of the data.
 * @typedef {object} ProjectedScene
 * @property {{left: number, top: number, width: number, height: number}} box
 * @property {Record<"projection" | "view" | "model", ArrayLike<number>>} matrices
 * @property {number[]} scale
 *
 * What pointers do to a cube: `over` has the place of a mouse in the window, `pressed` of a click or a tap; `left`: the
 * mouse has gone; `reset` shows the cube as at first.
 * @typedef {object} PointerActions
 * @property {(x: number, y: number) => void} over
 * @property {() => void} left
 * @property {(x: number, y: number) => void} pressed
 * @property {() => void} reset
 */

const CLICK = 4;
const TAP = 12; // most pixels that a pointer may move during a tap

/**
 * Return the matrix product a b.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
const multiplyMatrices = (a, b) =>
  Array.from({ length: 16 }, (_, n) =>
    [0, 1, 2, 3].reduce((sum, k) => sum + a[4 * k + (n % 4)] * b[4 * (n >> 2) + k], 0),
  );

/**
 * Return the function that projects a place of the data to -1 to 1 across and up the container, and its depth.
 * @param {Pick<ProjectedScene, "matrices" | "scale">} scene
 */
export function createProjection({ matrices: { projection, view, model }, scale: [sx, sy, sz] }) {
  const m = multiplyMatrices(projection, multiplyMatrices(view, model));
  return (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ z) => {
    const [a, b, depth, w] = [0, 1, 2, 3].map(
      (row) => m[row] * x * sx + m[4 + row] * y * sy + m[8 + row] * z * sz + m[12 + row],
    );
    return [a / w, b / w, depth / w];
  };
}

/**
 * Return the index of the nearest face at a point of the window, or -1. Faces are rectangles, and the projection
 * keeps parallels: a place of a face is its first corner, and shares u and v of the sides that meet there.
 * @param {ProjectedScene} scene
 * @param {Corners} corners
 * @param {number} clientX
 * @param {number} clientY
 */
export function findFace(scene, { x, y, z }, clientX, clientY) {
  const { box } = scene;
  const at = createProjection(scene);
  const across = ((clientX - box.left) / box.width) * 2 - 1;
  const up = 1 - ((clientY - box.top) / box.height) * 2;
  const [a0, b0, d0] = at(0, 0, 0); // the projection is affine: three directions determine it
  const [[ax, bx, dx], [ay, by, dy], [az, bz, dz]] = [at(1, 0, 0), at(0, 1, 0), at(0, 0, 1)].map(([a, b, d]) => [
    a - a0,
    b - b0,
    d - d0,
  ]);
  let found = -1;
  let nearest = Infinity;
  for (let face = 0, n = 0; n < x.length; face++, n += 4) {
    const ux = x[n + 1] - x[n];
    const uy = y[n + 1] - y[n];
    const uz = z[n + 1] - z[n];
    const vx = x[n + 3] - x[n];
    const vy = y[n + 3] - y[n];
    const vz = z[n + 3] - z[n];
    const ua = ux * ax + uy * ay + uz * az;
    const ub = ux * bx + uy * by + uz * bz;
    const va = vx * ax + vy * ay + vz * az;
    const vb = vx * bx + vy * by + vz * bz;
    const pa = across - a0 - x[n] * ax - y[n] * ay - z[n] * az;
    const pb = up - b0 - x[n] * bx - y[n] * by - z[n] * bz;
    const area = ua * vb - ub * va;
    const u = (pa * vb - pb * va) / area;
    const v = (ua * pb - ub * pa) / area;
    if (!(u >= 0 && u <= 1 && v >= 0 && v <= 1)) continue;
    const depth = (x[n] + u * ux + v * vx) * dx + (y[n] + u * uy + v * vy) * dy + (z[n] + u * uz + v * vz) * dz;
    if (depth < nearest) [found, nearest] = [face, depth];
  }
  return found;
}

/**
 * The dimension and the direction that a key moves along: arrows along the picture's x and z, Page keys along its depth,
 * Home and End from block to block, or to the ends of a row where there is one block.
 * @type {Record<string, number[]>}
 */
export const KEYS = {
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
  ArrowUp: [2, -1],
  ArrowDown: [2, 1],
  PageUp: [1, -1],
  PageDown: [1, 1],
  Home: [3, -1],
  End: [3, 1],
};

/**
 * Return the neighbour of an index in the direction of a key, or null. From an element that is cut away, return the
 * nearest visible one.
 * @param {number[]} from
 * @param {number[]} key of `KEYS`
 * @param {Pick<Hover, "shape" | "dimensions">} hover
 * @param {number[]} cut
 */
export function stepIndex(from, [dimension, step], { shape, dimensions }, cut) {
  const index = from.map((v, axis) => Math.max(v, cut[axis]));
  const axes = dimensions[dimension];
  if (!isSameList(from, index)) return index;
  if (!axes.length) {
    // without blocks: to the first, or the last, along x
    for (const axis of dimensions[0]) index[axis] = step > 0 ? shape[axis] - 1 : cut[axis];
    return index;
  }
  for (const axis of [...axes].reverse()) {
    // the last axis runs fastest and carries over
    index[axis] += step;
    if (index[axis] >= cut[axis] && index[axis] < shape[axis]) return index;
    index[axis] = step > 0 ? cut[axis] : shape[axis] - 1;
  }
  return null;
}

/**
 * Call these actions for the pointers over a graph. One finger scrolls the page and taps, two turn the cube; the wheel
 * scrolls the page until the cube has the focus.
 * @param {HTMLElement} graph
 * @param {PointerActions} actions
 */
export function listenToPointers(graph, { over, left, pressed, reset }) {
  /** @type {number[] | null} */
  let start = null;
  /** @type {(event: PointerEvent, most: number) => boolean} */
  const near = (event, most) => start !== null && Math.hypot(event.clientX - start[0], event.clientY - start[1]) < most;
  graph.addEventListener(
    "pointermove",
    (event) => {
      if (event.pointerType !== "touch" && !event.buttons) over(event.clientX, event.clientY);
    },
    true,
  );
  graph.addEventListener("pointerleave", left);
  graph.addEventListener(
    "pointerdown",
    (event) => {
      start = [event.clientX, event.clientY];
    },
    true,
  );
  graph.addEventListener(
    "pointerup",
    (event) => {
      // a click, not the end of a turn of the camera
      if (!event.isPrimary || !near(event, event.pointerType === "touch" ? TAP : CLICK)) return;
      pressed(event.clientX, event.clientY);
    },
    true,
  );
  graph.addEventListener("dblclick", reset);
  graph.addEventListener(
    "wheel",
    (event) => {
      if (!graph.contains(document.activeElement)) event.stopPropagation();
    },
    true,
  );

  // Plotly would turn the cube with one finger, and keep the page from being scrolled.
  /** @type {(type: string, event: TouchEvent, buttons: number) => void} */
  const turn = (type, { touches: [a, b] }, buttons) => {
    const [clientX, clientY] = [(a.clientX + b.clientX) / 2, (a.clientY + b.clientY) / 2];
    const made = new MouseEvent(type, { clientX, clientY, buttons, bubbles: true });
    graph.querySelector("canvas")?.dispatchEvent(made);
  };
  let turning = false;
  for (const type of /** @type {const} */ (["touchstart", "touchmove", "touchend", "touchcancel"])) {
    graph.addEventListener(
      type,
      (event) => {
        event.stopPropagation();
        if (event.touches.length !== 2) {
          turning = false;
          return;
        }
        event.preventDefault();
        if (!turning) turn("mousemove", event, 0);
        turn(turning ? "mousemove" : "mousedown", event, 1);
        turning = true;
      },
      { capture: true, passive: false },
    );
  }
}

/**
 * Call these actions for the keys of `KEYS` and for Enter on a graph, which keep what they do on a page from happening.
 * @param {HTMLElement} graph
 * @param {{moved: (key: number[]) => void, entered: () => void}} actions
 */
export function listenToKeys(graph, { moved, entered }) {
  graph.addEventListener("keydown", (event) => {
    const key = KEYS[event.key];
    if (!key && event.key !== "Enter") return;
    event.preventDefault();
    if (key) moved(key);
    else entered();
  });
}
