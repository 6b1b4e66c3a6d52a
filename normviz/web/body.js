// The cells of a cube: their positions, their colours, and the lines between them.

import { buildEdges, buildGrid, findGatheredBoxes } from "./boxes.js";
import { gatherCells, pullCellsApart } from "./cells.js";
import { buildSurface, colourFaces } from "./surface.js";

/** @import {Lines} from "./boxes.js" */
/** @import {Pulled, Standing} from "./cells.js" */
/** @import {Numbers} from "./component.d.ts" */
/** @import {Hover, Trace} from "./messages.d.ts" */
/** @import {Staged} from "./stages.js" */
/** @import {Surface} from "./surface.js" */

/**
 * The drawn state of a cube, without its highlight.
 * @typedef {object} CubeState
 * @property {Hover} hover
 * @property {Pulled} at positions of the cells, pulled apart
 * @property {number[]} cut number of first indices of each axis that are cut away
 * @property {Standing[]} places positions of the cells at each place of the stages
 * @property {Staged | null} staged positions of the cells during playback of the stages
 * @property {string | null} part the statistic whose elements are lit instead of the field
 * @property {Record<string, string>} hues the colours of the field, by the statistic that is shown
 * @property {ArrayLike<number>} levels of the cells of all copies
 * @property {Numbers[] | null} pixels the colours of all cells, where they show a picture in colour
 * @property {Surface | null} surface the faces that can be seen, once it was drawn
 */

/**
 * Return the positions of the cells, pulled apart and cut.
 * @param {Hover} hover
 * @param {string[]} gaps
 * @param {number[]} cut
 * @returns {Pick<CubeState, "at" | "cut" | "places">}
 */
export function arrangeCells(hover, gaps, cut) {
  const at = pullCellsApart(hover, gaps);
  const places = hover.stages?.places.map((bounds) => (bounds ? gatherCells(at, hover, bounds) : at)) ?? [];
  return { at, cut: hover.shape.map((n, axis) => Math.min(cut[axis] ?? 0, n - 1)), places };
}

/**
 * Return the levels and colours of the cells, and the colours of the field, from the traces.
 * @param {Trace[]} traces
 * @returns {Pick<CubeState, "hues" | "levels" | "pixels">}
 */
export function readCells(traces) {
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
export function buildCellTraces({ hover, at, cut, levels, pixels, staged }) {
  const found = buildSurface(hover, at, cut, levels);
  const cells = pixels && !staged ? colourFaces(found, pixels) : found.mesh;
  return { surface: found, traces: { cells, grid: buildGrid(hover, at, cut) } };
}

/**
 * Return the lines of a stage: between all cells while they are unmoved, else around the cube and around merged cells.
 * @param {CubeState} cube
 * @param {Pick<Staged, "still" | "collapsed">} stage
 * @returns {Lines}
 */
export function buildStageLines({ hover, at, cut, places }, { still, collapsed }) {
  const room = buildGrid({ ...hover, fine: hover.fine && still }, at, cut);
  const bounds = collapsed && hover.stages?.places[collapsed];
  if (!bounds) return room;
  const found = buildEdges(findGatheredBoxes(places[collapsed], bounds, hover.order, cut), 0.01);
  return { x: [...room.x, ...found.x], y: [...room.y, ...found.y], z: [...room.z, ...found.z] };
}
