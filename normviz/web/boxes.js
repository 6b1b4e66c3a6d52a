// Boxes of cells that touch, such as a field or an element, and the meshes and lines that show them.

import { addVectors, DIMENSIONS, ORIGIN, trimRange } from "./cells.js";

/** @import {Standing} from "./cells.js" */
/** @import {Numbers} from "./component.d.ts" */
/** @import {Bounds, Copy, Hover} from "./messages.d.ts" */

/**
 * A box of cells: its lowest corner and its size along x, y and z.
 * @typedef {{origin: number[], size: number[]}} Box
 *
 * Corners and triangles, three corners each, as Plotly takes them.
 * @typedef {{x: number[], y: number[], z: number[], i: number[], j: number[], k: number[]}} Mesh
 *
 * Lines in Plotly's way: null ends a line.
 * @typedef {{x: (number | null)[], y: (number | null)[], z: (number | null)[]}} Lines
 */

const ABOVE = 0.01; // cells between a surface and the lines on it, which it would cover here and there
const SEEN = 300; // most boxes with edges of their own
const XYZ = /** @type {const} */ (["x", "y", "z"]);
export const BOX_CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [n & 1, (n >> 1) & 1, (n >> 2) & 1]);
export const BOX_SIDES = [
  [0, 1, 3, 2],
  [4, 5, 7, 6],
  [0, 1, 5, 4],
  [2, 3, 7, 6],
  [0, 2, 6, 4],
  [1, 3, 7, 5],
];
const EDGES = BOX_CORNERS.flatMap((_, n) => [1, 2, 4].filter((bit) => !(n & bit)).map((bit) => [n, n | bit]));

/** @type {Box[]} */
export const POINT_BOX = [{ origin: ORIGIN, size: ORIGIN }];

/**
 * Return the boxes of the first copy, shifted to another copy.
 * @param {Pick<Copy, "shift">} copy
 * @param {Box[]} found
 * @returns {Box[]}
 */
export const shiftBoxes = ({ shift = ORIGIN }, found) =>
  found.map(({ origin, size }) => ({ origin: addVectors(origin, shift), size }));

/**
 * Return the boxes that make up a field, with touching cells merged.
 * @param {Standing} standing
 * @param {number[]} order the axes, finest steps first
 * @param {Numbers[]} range of the indices along each axis
 */
export function findBoxes({ offsets, size }, order, range) {
  /** @type {Box[]} */
  let found = [{ origin: ORIGIN, size: [...size] }];
  /** @type {(a: number, b: number, d: number) => boolean} */
  const near = (a, b, d) => Math.abs(a - b) < 1e-3 * size[d]; // cells that have collapsed are thin
  for (const axis of order) {
    const [lo, hi] = range[axis];
    /** @type {Box[]} */
    const grown = [];
    for (const box of found) {
      /** @type {Box | null} */
      let run = null;
      for (let i = lo; i < hi; i++) {
        const step = run && DIMENSIONS.map((d) => offsets[axis][i][d] - offsets[axis][i - 1][d]);
        const d = step ? step.findIndex((v, e) => !near(v, 0, e)) : -1;
        if (run && step && d >= 0 && step.every((v, e) => near(v, e === d ? box.size[d] : 0, e))) {
          run.size[d] += box.size[d];
        } else {
          run = { origin: addVectors(box.origin, offsets[axis][i]), size: [...box.size] };
          grown.push(run);
        }
      }
    }
    found = grown;
  }
  return found;
}

/**
 * Return the boxes of all merged elements, range by range; [] if there are too many to tell apart.
 * @param {Standing} at
 * @param {Bounds} bounds
 * @param {number[]} order
 * @param {number[]} cut
 */
export function findGatheredBoxes(at, bounds, order, cut) {
  const ranges = bounds.map((all) => Array.from(all).filter(([lo], i) => lo === i));
  if (ranges.reduce((count, all) => count * all.length, 1) > SEEN) return [];
  return ranges
    .reduce(
      (found, all) => found.flatMap((some) => all.map((range) => [...some, range])),
      /** @type {Numbers[][]} */ ([[]]),
    )
    .flatMap((some) =>
      findBoxes(
        at,
        order,
        some.map((range, axis) => trimRange(range, cut[axis])),
      ),
    );
}

/**
 * Return the offset of a box's corner from its origin along a dimension; boxes are enlarged by `overhang`.
 * @param {number} n of the corner
 * @param {number} e of the dimension
 * @param {number[]} size
 * @param {number} overhang
 */
export const offsetCorner = (n, e, size, overhang) =>
  size[e] === 0 ? 0 : BOX_CORNERS[n][e] ? size[e] + overhang : -overhang;

/**
 * Return the mesh of boxes; of an empty list, a point.
 * @param {Box[]} found
 * @param {number} overhang
 */
export function buildMesh(found, overhang) {
  /** @type {Mesh} */
  const m = { x: [], y: [], z: [], i: [], j: [], k: [] };
  for (const { origin, size } of found.length ? found : POINT_BOX) {
    for (const side of BOX_SIDES) {
      const first = m.x.length;
      for (const n of side) for (const e of DIMENSIONS) m[XYZ[e]].push(origin[e] + offsetCorner(n, e, size, overhang));
      m.i.push(first, first);
      m.j.push(first + 1, first + 2);
      m.k.push(first + 2, first + 3);
    }
  }
  return m;
}

/**
 * Return the edges of boxes; of an empty list, a point.
 * @param {Box[]} found
 * @param {number} overhang
 */
export function buildEdges(found, overhang) {
  /** @type {Lines} */
  const m = { x: [], y: [], z: [] };
  for (const { origin, size } of found.length ? found : POINT_BOX)
    for (const edge of EDGES)
      for (const e of DIMENSIONS)
        m[XYZ[e]].push(...edge.map((n) => origin[e] + offsetCorner(n, e, size, overhang)), null);
  return m;
}

/**
 * Return the lines between the cells of boxes, on their outside; of an empty list, a point.
 * @param {Box[]} found
 * @param {number[]} cell its size along x, y and z
 * @param {number} overhang
 */
export function buildDivisions(found, cell, overhang) {
  /** @type {Lines} */
  const m = buildEdges([], 0);
  for (const { origin, size } of found) {
    const ticks = DIMENSIONS.map((d) => {
      const count = Math.round(size[d] / cell[d]);
      return Array.from({ length: count + 1 }, (_, i) => origin[d] + i * cell[d]);
    });
    addGridLines(m, ticks, true, overhang);
  }
  return m;
}

/**
 * Return the lines on the outside of every block of cells without a gap, in every copy: between all cells, or its edges
 * only.
 * @param {Pick<Hover, "dimensions" | "fine" | "framed"> & {copies: Pick<Copy, "shift">[]}} hover
 * @param {Standing} standing
 * @param {number[]} cut
 * @returns {Lines}
 */
export function buildGrid({ dimensions, copies, fine, framed }, { offsets, size }, cut) {
  /** @type {(along: number[]) => number[][]} */
  const sums = (along) =>
    along.reduce(
      (found, axis) => found.flatMap((at) => offsets[axis].slice(cut[axis]).map((step) => addVectors(at, step))),
      [ORIGIN],
    );
  const runs = DIMENSIONS.map((d) =>
    splitRuns(
      sums(dimensions[d]).map((at) => at[d]),
      1.1 * size[d],
    ),
  );
  const origins = sums(dimensions[3]).flatMap((at) => copies.map(({ shift = ORIGIN }) => addVectors(at, shift)));
  if (origins.length * runs[0].length * runs[1].length * runs[2].length > framed * copies.length)
    return buildEdges([], 0);
  /** @type {Lines} */
  const m = { x: [], y: [], z: [] };
  for (const origin of origins)
    for (const x of runs[0])
      for (const y of runs[1])
        for (const z of runs[2]) {
          const ticks = [x, y, z].map((run, d) => [...run, run[run.length - 1] + size[d]].map((at) => at + origin[d]));
          addGridLines(m, ticks, fine, ABOVE);
        }
  return m;
}

/**
 * Split ascending places into lists whose neighbours are at most `most` apart.
 * @param {number[]} places in ascending order
 * @param {number} most
 */
function splitRuns(places, most) {
  /** @type {number[][]} */
  const found = [];
  for (const at of places) {
    const run = found.at(-1);
    if (run && at - run[run.length - 1] < most) run.push(at);
    else found.push([at]);
  }
  return found;
}

/**
 * Add the lines on the outside of a block, between all of its ticks along x, y and z, or between the first and the last.
 * @param {Lines} m
 * @param {number[][]} ticks
 * @param {boolean} fine
 * @param {number} overhang how far the lines lie above the block
 */
function addGridLines(m, ticks, fine, overhang) {
  const ends = ticks.map((all) => [all[0] - overhang, all[all.length - 1] + overhang]);
  const steps = fine ? ticks.map((all, d) => [ends[d][0], ...all.slice(1, -1), ends[d][1]]) : ends;
  for (const d of DIMENSIONS) {
    const [e, f] = DIMENSIONS.filter((other) => other !== d);
    for (const a of steps[e])
      for (const b of steps[f]) {
        if (!ends[e].includes(a) && !ends[f].includes(b)) continue;
        m[XYZ[d]].push(...ends[d], null);
        m[XYZ[e]].push(a, a, null);
        m[XYZ[f]].push(b, b, null);
      }
  }
}
