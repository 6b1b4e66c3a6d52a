// Two curves on linear axes and the area between them, as paths in a square of 100 × 100 units.

/** @import {Numbers} from "./component.d.ts" */

/**
 * @typedef {object} Axes
 * @property {number} count how many places there are along x; the first is 1
 * @property {number} low the number at the bottom
 * @property {number} high the number at the top
 */

/**
 * Return the points of a curve in runs, each without a gap: a curve is broken where a number is not finite.
 * @param {Numbers} values
 * @param {Axes} axes
 */
function findRuns(values, { count, low, high }) {
  /** @type {string[][]} */
  const runs = [[]];
  Array.from(values).forEach((value, i) => {
    if (!Number.isFinite(value)) runs.push([]);
    else {
      const down = 100 * Math.max(1 - (value - low) / (high - low), -1); // values that are too large leave the plot
      runs[runs.length - 1].push(`${((100 * (i + 1)) / count).toFixed(2)} ${down.toFixed(2)}`);
    }
  });
  return runs.filter((run) => run.length);
}

/**
 * Return the path of a curve.
 * @param {Numbers} values
 * @param {Axes} axes
 */
export const drawCurve = (values, axes) =>
  findRuns(values, axes)
    .map((run) => `M${run.join("L")}`)
    .join("");

/**
 * Return the path of the area between two curves, where both are finite.
 * @param {Numbers} first
 * @param {Numbers} second
 * @param {Axes} axes
 */
export function drawArea(first, second, axes) {
  const other = Array.from(second);
  const [one, two] = [Array.from(first), other].map((values) =>
    values.map((value, i) => (Number.isFinite(other[i]) && Number.isFinite(first[i]) ? value : Number.NaN)),
  );
  const back = findRuns(two, axes);
  return findRuns(one, axes)
    .map((run, i) => `M${run.join("L")}L${back[i].reverse().join("L")}Z`)
    .join("");
}

/**
 * Return the numbers at which an axis has a label, at most `most` round ones in equal steps, from `low` to `high`.
 * @param {number} low
 * @param {number} high
 * @param {number} most
 */
export function findTicks(low, high, most) {
  const least = (high - low) / most;
  const power = 10 ** Math.floor(Math.log10(least));
  const step = [1, 2, 5, 10].map((m) => m * power).find((each) => each >= least * (1 - 1e-9)) ?? 10 * power;
  const first = Math.ceil(low / step - 1e-9);
  const last = Math.floor(high / step + 1e-9);
  return Array.from({ length: last - first + 1 }, (_, k) => Number(((first + k) * step).toPrecision(12)));
}
