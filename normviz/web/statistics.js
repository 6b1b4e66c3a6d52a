// Numbers of the elements of a tensor, each shared by the elements of a field.

/** @import {Index, Numbers, Statistic} from "./component.d.ts" */

/**
 * Return the number of an element.
 * @param {Statistic} statistic
 * @param {Index} index
 * @param {number[]} all shape of the tensor
 */
export const readNumber = ({ values, shape }, index, all) =>
  values[index.reduce((flat, i, axis) => flat * shape[axis] + Math.floor((i * shape[axis]) / all[axis]), 0)];

/** @type {WeakMap<Statistic, Numbers>} */
const copies = new WeakMap();

/**
 * Return the numbers of all elements in row-major order: each statistic copied to the elements that share it. The copy
 * is made once.
 * @param {Statistic} statistic
 * @param {number[]} all shape of the tensor
 */
export function broadcastStatistic(statistic, all) {
  const { values, shape } = statistic;
  if (shape.every((count, axis) => count === all[axis])) return values;
  let found = copies.get(statistic);
  if (!found) {
    let places = [0];
    for (const [axis, n] of all.entries()) {
      const steps = Array.from({ length: n }, (_, i) => Math.floor((i * shape[axis]) / n));
      places = places.flatMap((at) => steps.map((step) => at * shape[axis] + step));
    }
    found = Float32Array.from(places, (at) => values[at]);
    copies.set(statistic, found);
  }
  return found;
}
