// Indices of a tensor, as lists of numbers.

/**
 * Return the index, in row-major order, of the element with this flat index.
 * @param {number} flat
 * @param {number[]} shape
 */
export function unravel(flat, shape) {
  const index = [];
  let rest = flat;
  for (const n of shape.toReversed()) {
    index.unshift(rest % n);
    rest = Math.floor(rest / n);
  }
  return index;
}

/** @typedef {readonly unknown[] | Uint8Array | null | undefined} List */

/**
 * Return true if both are lists of the same items.
 * @param {List} a
 * @param {List} b
 */
export function isSameList(a, b) {
  if (!a || !b || a.length !== b.length) return false;
  return a.every((/** @type {unknown} */ v, /** @type {number} */ i) => v === b[i]);
}
