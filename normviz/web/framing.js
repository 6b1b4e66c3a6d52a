// How a cube is fitted into its frame, with room for what is written around it; and several of them, each turned alike
// in a place of its own, in as many rows as the width asks for.

import { DIMENSIONS } from "./cells.js";
import { findBounds, layOutTexts, measureWidth, projectCorners } from "./labels.js";

/** @import {Measure, Pixel, Project, TextStyle} from "./labels.js" */
/** @import {Hover, Place, Scene} from "./messages.d.ts" */

/**
 * The positions of the copies relative to the middle, in pixels, and the pixels of a cell along x, y and z.
 * @typedef {{places: Pixel[], unit: number[], style: TextStyle}} Frame
 *
 * The container: its size in pixels, the font of its texts and a factor of their sizes, and the width of a colour bar.
 * @typedef {object} Container
 * @property {number} width
 * @property {number} height
 * @property {string} family
 * @property {number} bar
 * @property {number} [larger]
 * @property {Measure} [measure]
 */

export const COLOUR_BAR_WIDTH = 76; // pixels at the right for a colour bar
const STRIP = 38; // pixels below for a button
const EDGE = 8; // pixels around each copy
const AIR = 4; // pixels between a text and the frame's edge
const NARROWEST = 150; // pixels that a copy is wide
const TALLEST = 1.25; // largest ratio of height to width of a copy's place
const AXES = /** @type {const} */ (["xaxis", "yaxis", "zaxis"]);
const XYZ = /** @type {const} */ (["x", "y", "z"]);

/**
 * Return the directions in space that point right and up on the screen.
 * @param {Place} eye
 */
function findScreenAxes({ x, y, z }) {
  const far = Math.hypot(x, y) || 1e-9;
  const all = Math.hypot(x, y, z);
  const right = [-y / far, x / far, 0];
  return { right, up: [(-z * right[1]) / all, (z * right[0]) / all, (x * right[1] - y * right[0]) / all] };
}

/**
 * Return the product of two vectors.
 * @param {ArrayLike<number>} a
 * @param {ArrayLike<number>} b
 */
const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2];

/**
 * Return the numbers of columns and rows for some copies.
 * @param {number} copies
 * @param {number} width
 */
function countColumnsAndRows(copies, width) {
  const rows = Math.ceil(copies / Math.max(1, Math.min(copies, Math.floor(width / NARROWEST))));
  return { columns: Math.ceil(copies / rows), rows };
}

/**
 * Return the CSS height of a container of several copies: the share of the window that frame.css gives to cubes, or less
 * for narrow copies.
 * @param {number} copies
 * @param {number} width
 * @param {number} bar the width of a colour bar
 */
export function computeHeight(copies, width, bar) {
  const { columns, rows } = countColumnsAndRows(copies, width - bar);
  const share = rows > 1 ? `80vh / ${rows}` : "var(--nv-cubes)";
  return `calc(${rows} * max(200px, min(${Math.round((TALLEST * width) / columns)}px, ${share})) + ${STRIP}px)`;
}

/**
 * Return the middles of the cells along a side whose axes have these lengths.
 * @param {number[]} lengths
 */
const listMiddles = (lengths) =>
  lengths.length ? Array.from({ length: lengths.reduce((a, b) => a * b) }, (_, i) => i + 0.5) : [];

/**
 * Set a scene's proportions, ranges and place, so that all copies with their texts fill the frame, seen from its camera;
 * return the positions of the copies.
 * @param {Pick<Hover, "overhang" | "labels">} hover
 * @param {Scene} scene
 * @param {Container} container
 * @returns {Frame}
 */
export function fitScene({ overhang, labels: { extent, sides, each } }, scene, container) {
  const { width, height, family, bar, larger = 1, measure = measureWidth } = container;
  const { columns, rows } = countColumnsAndRows(each.length, width - bar);
  const { right, up } = findScreenAxes(scene.camera.eye);
  const cell = [(width - bar) / columns, (height - STRIP) / rows];
  const down = up.map((v) => -v);
  const style = {
    family,
    measure,
    larger,
    small: each.length > 1,
    letters: cell[0] < 220 ? 9 : 14,
    tight: each.length > 1 && cell[0] < 190,
    ticked: each.length === 1 || cell[0] > 250,
  };
  let room = [
    [0, 0],
    [0, 0],
  ];
  let scale = 1;
  /** @type {number[]} */
  let unit = [];
  for (let turn = 0; turn < 5; turn++) {
    const wide = dot(right.map(Math.abs), sides);
    const high = dot(up.map(Math.abs), sides);
    scale = Math.max(
      20,
      Math.min((cell[0] - room[0][0] - room[0][1]) / wide, (cell[1] - room[1][0] - room[1][1]) / high),
    );
    unit = Array.from(sides, (side, d) => (side * scale) / extent[d]);
    /** @type {Project} */
    const project = (at) => {
      const place = at.map((v, d) => (v - extent[d] / 2) * unit[d] * (d === 2 ? -1 : 1)); // the first row is on top
      return [dot(right, place), dot(down, place)];
    };
    const ends = each
      .map((one) => ({ ...one, extent, overhang, middles: one.ticks.map(listMiddles), result: one.heading }))
      .flatMap((one) => layOutTexts(one, project, style))
      .flatMap(({ x, y, w, h }) => [
        [x - w / 2, y - h / 2],
        [x + w / 2, y + h / 2],
      ]);
    const corners = projectCorners([0, 0, 0], extent, project);
    const cube = findBounds(corners);
    const all = findBounds([...ends, ...corners]);
    const edge = EDGE + overhang * Math.max(...unit);
    room = [0, 1].map((e) => [
      Math.max(cube[e][0] - all[e][0] + AIR, edge),
      Math.max(all[e][1] - cube[e][1] + AIR, edge),
    ]);
  }
  const middle = [0, 1].map((e) => ([width - bar, height - STRIP][e] + room[e][0] - room[e][1]) / 2);
  const half = [Math.min(middle[0], width - middle[0]), Math.min(middle[1], height - middle[1])];
  const places = each.map((_, n) => {
    const row = Math.floor(n / columns);
    const inRow = Math.min(columns, each.length - row * columns);
    return [(n - row * columns - (inRow - 1) / 2) * cell[0], (row - (rows - 1) / 2) * cell[1]];
  });
  const most = Math.max(...places.map(([x, y]) => Math.hypot(x, y)));
  for (const d of DIMENSIONS) {
    const axis = scene[AXES[d]];
    const [from, to] = axis.range;
    const more = (most / unit[d]) * Math.sign(to - from);
    axis.range = [from - more, to + more];
    scene.aspectratio[XYZ[d]] = (Math.abs(axis.range[1] - axis.range[0]) * unit[d]) / half[1];
  }
  scene.domain = {
    x: [(middle[0] - half[0]) / width, (middle[0] + half[0]) / width],
    y: [1 - (middle[1] + half[1]) / height, 1 - (middle[1] - half[1]) / height],
  };
  return { places, unit, style };
}

/**
 * Return the offset of each copy from the first one, in cells, that puts it at its place on the screen for an eye.
 * @param {Pick<Frame, "places" | "unit">} frame
 * @param {Place} eye
 */
export function computeShifts({ places, unit }, eye) {
  const { right, up } = findScreenAxes(eye);
  return places.map(([x, y]) => [0, 1, 2].map((d) => ((x * right[d] - y * up[d]) / unit[d]) * (d === 2 ? -1 : 1)));
}
