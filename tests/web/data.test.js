import assert from "node:assert/strict";
import { test } from "node:test";

import { readLatest } from "../../normviz/web/data.js";

// Return a message as the server sends it: the number of its turn, then the data.
function message(turn, data) {
  const text = new TextEncoder().encode(JSON.stringify(data));
  const bytes = new Uint8Array(12 + text.length);
  const view = new DataView(bytes.buffer);
  view.setFloat64(0, turn, true);
  view.setUint32(8, text.length, true);
  bytes.set(text, 12);
  return bytes;
}

test("a message that arrives late, or again, is null", () => {
  const root = {};
  const turns = [7, 8, 6, 8, 9].map((turn) => readLatest(root, message(turn, turn)));
  assert.deepEqual(turns, [7, 8, null, null, 9]);
});

test("components do not share the numbers of their turns", () => {
  readLatest({}, message(7, "one"));
  assert.equal(readLatest({}, message(3, "another")), "another");
});
