// The cells of a cube: where they stand, their colours, and the lines between them.

import { grid, lines, united } from "./boxes.js";
import { gathered, pulled } from "./cells.js";
import { pictured, surface } from "./surface.js";

/** @import {Lines} from "./boxes.js" */
/** @import {Pulled, Standing} from "./cells.js" */
/** @import {Numbers} from "./component.d.ts" */
/** @import {Hover, Trace} from "./messages.d.ts" */
/** @import {Staged} from "./stages.js" */
/** @import {Surface} from "./surface.js" */

/**
 * All that is drawn of a cube besides its highlight.
 * @typedef {object} CubeState
 * @property {Hover} hover
 * @property {Pulled} at where the cells stand, pulled apart
 * @property {number[]} cut how many of the first indices of each axis are cut away
 * @property {Standing[]} places where the cells stand at each place of the stages
 * @property {Staged | null} staged where the stages have the cells, while they are played
 * @property {string | null} part the statistic whose elements are lit instead of the field
 * @property {Record<string, string>} hues the colours of the field, by the statistic that is shown
 * @property {ArrayLike<number>} levels of the cells of all copies
 * @property {Numbers[] | null} pixels the colours of all cells, where they show a picture in colour
 * @property {Surface | null} surface the faces that can be seen, once it was drawn
 */

/**
 * Return where the cells stand, pulled apart and cut.
 * @param {Hover} hover
 * @param {string[]} gaps
 * @param {number[]} cut
 * @returns {Pick<CubeState, "at" | "cut" | "places">}
 */
export function arrange(hover, gaps, cut) {
  const at = pulled(hover, gaps);
  const places = hover.stages?.places.map((bounds) => (bounds ? gathered(at, hover, bounds) : at)) ?? [];
  return { at, cut: hover.shape.map((n, axis) => Math.min(cut[axis] ?? 0, n - 1)), places };
}

/**
 * Take the levels and the colours of the cells, and the colours of the field, from their traces.
 * @param {Trace[]} traces
 * @returns {Pick<CubeState, "hues" | "levels" | "pixels">}
 */
export function takeCells(traces) {
  const cells = traces.find(({ name }) => name === "cells");
  const field = traces.find(({ name }) => name === "field");
  const levels = cells?.intensity ?? [];
  const pixels = /** @type {CubeState["pixels"]} */ (cells?.meta ?? null);
  if (pixels) delete cells?.intensity; // Plotly would take that before the colours of pixels
  return { hues: /** @type {CubeState["hues"]} */ (field?.meta ?? {}), levels, pixels };
}

/**
 * Return the surface of the cells, and the traces that show it.
 * @param {CubeState} cube
 */
export function buildBody({ hover, at, cut, levels, pixels, staged }) {
  const found = surface(hover, at, cut, levels);
  const cells = pixels && !staged ? pictured(found, pixels) : found.mesh;
  return { surface: found, traces: { cells, grid: grid(hover, at, cut) } };
}

/**
 * Return the lines of a stage: between all cells while they stand still, else around the room and around the cells that
 * have come together.
 * @param {CubeState} cube
 * @param {Pick<Staged, "still" | "collapsed">} stage
 * @returns {Lines}
 */
export function stageLines({ hover, at, cut, places }, { still, collapsed }) {
  const room = grid({ ...hover, fine: hover.fine && still }, at, cut);
  const bounds = collapsed && hover.stages?.places[collapsed];
  if (!bounds) return room;
  const found = lines(united(places[collapsed], bounds, hover.order, cut), 0.01);
  return { x: [...room.x, ...found.x], y: [...room.y, ...found.y], z: [...room.z, ...found.z] };
}
