// Indices of a tensor, as lists of numbers.

// Return the index, in row-major order, of the element with this flat index.
export const unravel = (flat, shape) =>
  shape.reduceRight(([left, index], n) => [Math.floor(left / n), [left % n, ...index]], [flat, []])[1];

// Return true if both are lists of the same numbers.
export const same = (a, b) => a && b && a.length === b.length && a.every((v, i) => v === b[i]);
