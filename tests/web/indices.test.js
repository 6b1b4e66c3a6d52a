import assert from "node:assert/strict";
import { test } from "node:test";

import { isSameList, unravel } from "../../normviz/web/indices.js";

test("the index of each element in row-major order", () => {
  const shape = [2, 3, 1, 2];
  const indices = Array.from({ length: 12 }, (_, flat) => unravel(flat, shape));
  assert.deepEqual(indices.slice(0, 3), [[0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0]]); // biome-ignore format: one line
  assert.deepEqual(indices.at(-1), [1, 2, 0, 1]);
  assert.deepEqual(indices, indices.toSorted());
});

test("lists are the same where their lengths and items are", () => {
  assert.equal(isSameList([1, 2], [1, 2]), true);
  assert.equal(isSameList(Uint8Array.of(1, 2), Uint8Array.of(1, 2)), true);
  assert.equal(isSameList([], []), true);
  assert.equal(isSameList([1, 2], [1, 3]), false);
  assert.equal(isSameList([1, 2], [1]), false);
  assert.equal(isSameList(null, []), false);
  assert.equal(isSameList([], undefined), false);
});
