// The surface of a cube: the visible faces of its cells, as one mesh.

import { BOX_CORNERS, BOX_SIDES } from "./boxes.js";
import { ORIGIN, placeElements } from "./cells.js";

/** @import {Standing} from "./cells.js" */
/** @import {Numbers} from "./component.d.ts" */
/** @import {Copy, Hover} from "./messages.d.ts" */

/**
 * @typedef {{x: Float32Array, y: Float32Array, z: Float32Array}} Corners
 * @typedef {Corners & {i: Uint32Array, j: Uint32Array, k: Uint32Array, intensity: Float32Array}} SurfaceMesh
 *
 * The faces that can be seen: the cell and the number of the side of each face of the first copy; all copies in one mesh.
 * @typedef {{cells: number[], sides: number[], mesh: SurfaceMesh}} Surface
 */

const NORMALS = [2, 2, 1, 1, 0, 0]; // the axis of each side's normal

/**
 * Return the visible faces of all cells, in every copy, as one mesh, and the cell behind each face of the first
 * copy. Corners are not shared: each keeps the flat colour of its cell, and tells which one it belongs to.
 * @param {Pick<Hover, "offsets" | "shape"> & {copies: Pick<Copy, "shift">[]}} hover
 * @param {Standing} now
 * @param {number[]} cut
 * @param {ArrayLike<number>} levels of the cells of all copies
 * @returns {Surface}
 */
export function buildSurface({ offsets, shape, copies }, now, cut, levels) {
  const rooms = placeElements(offsets);
  const places = placeElements(now.offsets);
  const extent = rooms.map((all) => all.reduce((most, at) => Math.max(most, at), 0) + 1);
  const steps = [extent[1] * extent[2], extent[2], 1];
  const count = rooms[0].length;
  const left = shape.reduce(
    (found, n, axis) => found.flatMap((is) => Array.from({ length: n }, (_, i) => is && i >= cut[axis])),
    [true],
  );
  const taken = new Int32Array(extent[0] * steps[0]).fill(-1);
  const at = rooms[0].map((x, cell) => x * steps[0] + rooms[1][cell] * steps[1] + rooms[2][cell]);
  at.forEach((room, cell) => {
    if (left[cell]) taken[room] = cell;
  });

  /** @type {number[]} */
  const cells = [];
  /** @type {number[]} */
  const sides = [];
  NORMALS.forEach((d, number) => {
    const far = number % 2;
    const border = far ? extent[d] - 1 : 0;
    const step = far ? steps[d] : -steps[d];
    const most = 1.1 * now.size[d]; // from a cell to one that it touches
    for (let cell = 0; cell < count; cell++) {
      if (!left[cell]) continue;
      const next = rooms[d][cell] === border ? -1 : taken[at[cell] + step];
      if (next >= 0 && Math.abs(places[d][next] - places[d][cell]) < most) continue;
      cells.push(cell);
      sides.push(number);
    }
  });

  const faces = cells.length * copies.length;
  const [x, y, z, intensity] = [0, 0, 0, 0].map(() => new Float32Array(4 * faces));
  const [i, j, k] = [0, 0, 0].map(() => new Uint32Array(2 * faces));
  copies.forEach(({ shift }, copy) => {
    placeFaces({ cells, sides }, places, now.size, { x, y, z }, copy * cells.length, shift);
    setIntensities(cells, levels, intensity, copy * cells.length, copy * count);
  });
  for (let face = 0; face < faces; face++) {
    const first = 4 * face;
    const triangle = 2 * face;
    i[triangle] = i[triangle + 1] = first;
    j[triangle] = first + 1;
    k[triangle] = j[triangle + 1] = first + 2;
    k[triangle + 1] = first + 3;
  }
  return { cells, sides, mesh: { x, y, z, i, j, k, intensity } };
}

/**
 * Set the corners of all faces of a copy, for cells at these places and of this size.
 * @param {Pick<Surface, "cells" | "sides">} surface
 * @param {Float32Array[]} places
 * @param {number[]} size
 * @param {Corners} corners
 * @param {number} [from] the number of the copy's first face
 * @param {number[]} [shift]
 */
export function placeFaces({ cells, sides }, places, size, { x, y, z }, from = 0, shift = ORIGIN) {
  cells.forEach((cell, number) => {
    BOX_SIDES[sides[number]].forEach((n, nth) => {
      const at = 4 * (from + number) + nth;
      const bits = BOX_CORNERS[n];
      x[at] = places[0][cell] + bits[0] * size[0] + shift[0];
      y[at] = places[1][cell] + bits[1] * size[1] + shift[1];
      z[at] = places[2][cell] + bits[2] * size[2] + shift[2];
    });
  });
}

/**
 * Return the mesh of a surface in the colours of a picture: red, green and blue of every cell.
 * @param {Surface} surface
 * @param {Numbers[]} pixels
 */
export function colourFaces({ cells, mesh: { intensity, ...corners } }, pixels) {
  const hues = cells.map((cell) => `rgb(${Array.from(pixels[cell]).join()})`);
  return { ...corners, facecolor: Array.from(corners.i, (_, triangle) => hues[(triangle >> 1) % hues.length]) };
}

/**
 * Set the level of each corner of a copy.
 * @param {number[]} cells behind the faces
 * @param {ArrayLike<number>} levels
 * @param {Float32Array} intensity
 * @param {number} from the number of the copy's first face
 * @param {number} [first] the number of the copy's first level
 */
export function setIntensities(cells, levels, intensity, from, first = 0) {
  cells.forEach((cell, number) => {
    intensity.fill(levels[first + cell], 4 * (from + number), 4 * (from + number) + 4);
  });
}
