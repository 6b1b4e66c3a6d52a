// Boxes of cells that touch, such as a field or an element, and the meshes and lines that show them.

import { add, DIMENSIONS, left, ORIGIN } from "./cells.js";

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

const SEEN = 300; // boxes that are framed one by one
const XYZ = /** @type {const} */ (["x", "y", "z"]);
export const CORNERS = [0, 1, 2, 3, 4, 5, 6, 7].map((n) => [n & 1, (n >> 1) & 1, (n >> 2) & 1]);
export const SIDES = [
  [0, 1, 3, 2],
  [4, 5, 7, 6],
  [0, 1, 5, 4],
  [2, 3, 7, 6],
  [0, 2, 6, 4],
  [1, 3, 7, 5],
];
const EDGES = CORNERS.flatMap((_, n) => [1, 2, 4].filter((bit) => !(n & bit)).map((bit) => [n, n | bit]));

/** @type {Box[]} */
export const POINT = [{ origin: ORIGIN, size: ORIGIN }];

/**
 * Return the boxes of the first copy, where another copy has them.
 * @param {Pick<Copy, "shift">} copy
 * @param {Box[]} found
 * @returns {Box[]}
 */
export const beside = ({ shift = ORIGIN }, found) =>
  found.map(({ origin, size }) => ({ origin: add(origin, shift), size }));

/**
 * Return the boxes that make up a field, the cells that touch merged.
 * @param {Standing} standing
 * @param {number[]} order the axes, finest steps first
 * @param {Numbers[]} range of the indices along each axis
 */
export function boxes({ offsets, size }, order, range) {
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
          run = { origin: add(box.origin, offsets[axis][i]), size: [...box.size] };
          grown.push(run);
        }
      }
    }
    found = grown;
  }
  return found;
}

/**
 * Return the boxes of all elements that have come together, range by range; none if there are too many to tell apart.
 * @param {Standing} at
 * @param {Bounds} bounds
 * @param {number[]} order
 * @param {number[]} cut
 */
export function united(at, bounds, order, cut) {
  const ranges = bounds.map((all) => Array.from(all).filter(([lo], i) => lo === i));
  if (ranges.reduce((count, all) => count * all.length, 1) > SEEN) return [];
  return ranges
    .reduce(
      (found, all) => found.flatMap((some) => all.map((range) => [...some, range])),
      /** @type {Numbers[][]} */ ([[]]),
    )
    .flatMap((some) =>
      boxes(
        at,
        order,
        some.map((range, axis) => left(range, cut[axis])),
      ),
    );
}

/**
 * Return how far a corner of a box is from the box's origin along a dimension; boxes stand out by `swell`.
 * @param {number} n of the corner
 * @param {number} e of the dimension
 * @param {number[]} size
 * @param {number} swell
 */
export const corner = (n, e, size, swell) => (size[e] === 0 ? 0 : CORNERS[n][e] ? size[e] + swell : -swell);

/**
 * Return the mesh of boxes; of none, a point.
 * @param {Box[]} found
 * @param {number} swell
 */
export function mesh(found, swell) {
  /** @type {Mesh} */
  const m = { x: [], y: [], z: [], i: [], j: [], k: [] };
  for (const { origin, size } of found.length ? found : POINT) {
    for (const side of SIDES) {
      const first = m.x.length;
      for (const n of side) for (const e of DIMENSIONS) m[XYZ[e]].push(origin[e] + corner(n, e, size, swell));
      m.i.push(first, first);
      m.j.push(first + 1, first + 2);
      m.k.push(first + 2, first + 3);
    }
  }
  return m;
}

/**
 * Return the edges of boxes; of none, those of a point.
 * @param {Box[]} found
 * @param {number} swell
 */
export function lines(found, swell) {
  /** @type {Lines} */
  const m = { x: [], y: [], z: [] };
  for (const { origin, size } of found.length ? found : POINT)
    for (const edge of EDGES)
      for (const e of DIMENSIONS) m[XYZ[e]].push(...edge.map((n) => origin[e] + corner(n, e, size, swell)), null);
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
export function grid({ dimensions, copies, fine, framed }, { offsets, size }, cut) {
  /** @type {(along: number[]) => number[][]} */
  const sums = (along) =>
    along.reduce(
      (found, axis) => found.flatMap((at) => offsets[axis].slice(cut[axis]).map((step) => add(at, step))),
      [ORIGIN],
    );
  const runs = DIMENSIONS.map((d) =>
    runsOf(
      sums(dimensions[d]).map((at) => at[d]),
      1.1 * size[d],
    ),
  );
  const origins = sums(dimensions[3]).flatMap((at) => copies.map(({ shift = ORIGIN }) => add(at, shift)));
  if (origins.length * runs[0].length * runs[1].length * runs[2].length > framed * copies.length) return lines([], 0);
  /** @type {Lines} */
  const m = { x: [], y: [], z: [] };
  for (const origin of origins)
    for (const x of runs[0])
      for (const y of runs[1])
        for (const z of runs[2]) {
          const ticks = [x, y, z].map((run, d) => [...run, run[run.length - 1] + size[d]].map((at) => at + origin[d]));
          rule(m, ticks, fine);
        }
  return m;
}

/**
 * Return these places in lists of places that are nearer to each other than `most`.
 * @param {number[]} places in ascending order
 * @param {number} most
 */
function runsOf(places, most) {
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
 */
function rule(m, ticks, fine) {
  const ends = ticks.map((all) => [all[0], all[all.length - 1]]);
  const steps = fine ? ticks : ends;
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
