// The grid of Table 1: where the arrow keys lead.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findNeighbour } from "../../normviz/web/grid.js";

const ROWS = [
  ["a", "b", "c"],
  ["d", "e", "f"],
].map((keys) => ({ cells: keys.map((key) => ({ key })) }));

test("the arrow keys lead to the cell beside, above and below", () => {
  const from = (key) =>
    ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].map((arrow) => findNeighbour(ROWS, key, arrow));
  assert.deepEqual(from("b"), ["a", "c", undefined, "e"]);
  assert.deepEqual(from("d"), [undefined, "e", "a", undefined]);
  assert.deepEqual(from("f"), ["e", undefined, "c", undefined]);
});
