// The pair of curves in a cell of Table 1: the losses of a network and its twin, and the largest gap between them.

import { typeset } from "./data.js";

/** @import {Numbers} from "./component.d.ts" */

/**
 * @typedef {object} Steps
 * @property {Numbers} at the steps that are drawn, counted from 1
 * @property {number} steps how many a whole training has
 */

export const WIDTH = 100;
export const HEIGHT = 30; // of a cell's curves, in units of their own
const FLOOR = 17; // powers of ten from the bottom of the gap to a gap of 1, its top

/**
 * Write a gap as `gap_text` of normviz/describe/wording.py does: 0, 2·10⁻¹⁶, 0.39, 12, ∞; nothing for NaN.
 *
 * @param {number} gap
 */
export function writeGap(gap) {
  if (Number.isNaN(gap)) return "";
  if (gap < 0.01 || gap >= 1e4) return typeset(gap, 1);
  return gap < 99.5 ? String(Number(gap.toPrecision(2))) : gap.toFixed(0);
}

/**
 * Return the least and the largest loss that the curves of a row show, with some room.
 *
 * @param {Numbers} losses of the original network
 * @returns {[number, number]}
 */
export function rangeOf(losses) {
  const finite = Array.from(losses).filter((loss) => Number.isFinite(loss) && loss > 0);
  if (!finite.length) return [0.5, 2];
  const high = Math.max(...finite) * 1.2;
  return [Math.max(Math.min(...finite) / 1.2, high / 1e4), high];
}

/**
 * Return the path of a curve over its steps, on a logarithmic scale; broken where a loss is not finite.
 *
 * @param {Numbers} losses
 * @param {Steps} steps
 * @param {[number, number]} range the losses at the bottom and at the top
 */
export function drawCurve(losses, { at, steps }, [low, high]) {
  let line = "";
  let pen = "M";
  Array.from(losses).forEach((loss, i) => {
    if (!Number.isFinite(loss)) {
      pen = "M";
      return;
    }
    const share = Math.log(Math.max(loss, low / 4) / low) / Math.log(high / low);
    const down = HEIGHT * (1 - Math.min(share, 1.5)); // what grows beyond its range leaves the picture
    line += `${pen}${((WIDTH * at[i]) / steps).toFixed(1)} ${down.toFixed(2)}`;
    pen = "L";
  });
  return line;
}

/**
 * Return the path of the area below the gaps, from the rounding of the type at the bottom to 1 at the top.
 *
 * @param {Numbers} gaps
 * @param {Steps} steps
 */
export function drawGaps(gaps, { at, steps }) {
  const points = Array.from(gaps, (gap, i) => {
    const share = Math.min(Math.max(1 + Math.log10(gap) / FLOOR, 0), 1);
    return { x: ((WIDTH * at[i]) / steps).toFixed(1), y: (HEIGHT * (1 - share)).toFixed(2), gap };
  }).filter(({ gap }) => !Number.isNaN(gap));
  if (!points.length) return "";
  const line = points.map(({ x, y }) => `${x} ${y}`).join("L");
  return `M${points[0].x} ${HEIGHT}L${line}L${points[points.length - 1].x} ${HEIGHT}Z`;
}
