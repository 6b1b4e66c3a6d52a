// Positions of the cells of a cube. A position is the sum of one offset for each axis. All cells have the same size:
// [1, 1, 1], unless they are pulled apart or their fields collapse.

/** @import {Numbers} from "./component.d.ts" */
/** @import {Bounds, Copy, Hover} from "./messages.d.ts" */

/**
 * Positions of all cells: offsets[axis][index] along x, y and z, and the size of a cell.
 * @typedef {{offsets: Numbers[][], size: number[]}} Standing
 *
 * The cells pulled apart; breaks[axis]: the indices before which there is a gap.
 * @typedef {{offsets: number[][][], size: number[], breaks: number[][]}} Pulled
 */

const FREE = 0.54; // largest total length of the gaps in a row of cells, as a share of the row
const WIDEST = 1; // the widest gap, in cells
export const AXIS_NAMES = ["n", "h", "w", "c"];
export const DIMENSIONS = [0, 1, 2];
export const ORIGIN = [0, 0, 0];

/**
 * Return the sum of two vectors.
 * @param {number[]} a
 * @param {ArrayLike<number>} b
 */
export const addVectors = (a, b) => a.map((v, d) => v + b[d]);

/**
 * Return the indices of each axis that follow a gap: all indices of axes that are pulled apart, or the starts of fields.
 * An axis also has the gaps of the axes within it in the same dimension.
 * @param {Pick<Hover, "shape" | "dimensions"> & {copies: Pick<Copy, "bounds">[]}} hover
 * @param {string[]} gaps
 */
export function findBreaks({ shape, dimensions, copies: [{ bounds }] }, gaps) {
  const breaks = shape.map((n, axis) =>
    Array.from({ length: n }, (_, i) => i).filter(
      (i) =>
        i > 0 &&
        (gaps.includes(AXIS_NAMES[axis]) ||
          (gaps.includes("fields") && bounds !== null && bounds[axis][i - 1][1] <= bounds[axis][i][0])),
    ),
  );
  for (const along of dimensions.slice(0, 3))
    for (const [nth, axis] of [...along.entries()].reverse()) {
      if (along.slice(nth + 1).some((inner) => breaks[inner].length))
        breaks[axis] = [...Array(shape[axis]).keys()].slice(1);
    }
  return breaks;
}

/**
 * Return the cells pulled apart. Gaps make the cells smaller, so that the cube keeps its size.
 * @param {Hover} hover
 * @param {string[]} gaps
 * @returns {Pulled}
 */
export function pullCellsApart(hover, gaps) {
  const { shape, dimensions } = hover;
  const breaks = findBreaks(hover, gaps);
  const size = [1, 1, 1];
  const offsets = hover.offsets.map((all) => Array.from(all, (at) => [...at]));
  dimensions.slice(0, 3).forEach((along, d) => {
    const { span: cells } = placeRow(along, shape, breaks, 0);
    const gap = Math.min(WIDEST, (FREE * cells) / (placeRow(along, shape, breaks, 1).span - cells || 1));
    const { places, span } = placeRow(along, shape, breaks, gap);
    for (const [axis, found] of places)
      found.forEach((at, i) => {
        offsets[axis][i][d] = (at * cells) / span;
      });
    size[d] = cells / span;
  });
  return { offsets, size, breaks };
}

/**
 * Return the places of the indices of each axis along one dimension, the innermost axis first, and the total length.
 * @param {number[]} along the axes of the dimension
 * @param {number[]} shape
 * @param {number[][]} breaks
 * @param {number} gap
 */
function placeRow(along, shape, breaks, gap) {
  let span = 1;
  const places = along.toReversed().map((axis) => {
    let passed = 0;
    const found = Array.from({ length: shape[axis] }, (_, i) => {
      if (breaks[axis].includes(i)) passed++;
      return i * span + gap * passed;
    });
    span += found[found.length - 1];
    return /** @type {const} */ ([axis, found]);
  });
  return { places, span };
}

/**
 * Move the cells of each index range into one cell at their centre, as slices of it.
 * @param {Standing} standing
 * @param {Pick<Hover, "dimensions">} hover
 * @param {Bounds} bounds
 * @returns {Standing}
 */
export function gatherCells({ offsets, size }, { dimensions }, bounds) {
  const found = { offsets: [...offsets], size: [...size] };
  dimensions.forEach((along, dimension) => {
    const d = dimension < 3 ? dimension : 1; // blocks are laid behind each other
    for (const axis of along) {
      found.size[d] /= bounds[axis][0][1] - bounds[axis][0][0];
      /** @type {number[]} */
      let middle = [];
      found.offsets[axis] = Array.from(bounds[axis], ([lo, hi], i) => {
        if (i === lo) {
          const sum = offsets[axis].slice(lo, hi).reduce(addVectors, ORIGIN);
          middle = sum.map((v) => v / (hi - lo));
        }
        return middle.map((v, e) => (e === d ? v + (i - lo) * found.size[d] : v));
      });
    }
  });
  return found;
}

/**
 * Return the places of all elements along x, y and z, in the order of the tensor.
 * @param {Numbers[][]} offsets
 */
export function placeElements(offsets) {
  return DIMENSIONS.map((d) =>
    offsets.reduce((found, offset) => {
      const next = new Float32Array(found.length * offset.length);
      found.forEach((sum, at) => {
        offset.forEach((step, i) => {
          next[at * offset.length + i] = sum + step[d];
        });
      });
      return next;
    }, new Float32Array(1)),
  );
}

/**
 * Return the part of a range of indices that is not cut away.
 * @param {Numbers} range
 * @param {number} cut
 */
export const trimRange = ([lo, hi], cut) => [Math.max(lo, cut), hi];

/**
 * Return the places where cells begin along x, y or z, in the order of their indices.
 * @param {Pick<Hover, "dimensions">} hover
 * @param {Pick<Standing, "offsets">} standing
 * @param {number} d
 */
export const listCellStarts = ({ dimensions }, { offsets }, d) =>
  dimensions[d].reduce((found, axis) => found.flatMap((at) => Array.from(offsets[axis], (step) => at + step[d])), [0]);
