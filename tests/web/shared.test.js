import assert from "node:assert/strict";
import { test } from "node:test";

import { SharedList } from "../../normviz/web/shared.js";

test("a new value of the server is taken, the same one is not", () => {
  const shared = new SharedList();
  assert.equal(shared.take([1]), true);
  assert.deepEqual(shared.value, [1]);
  assert.equal(shared.take([1]), false);
  assert.equal(shared.take([2]), true);
});

test("an echo of a value does not undo a newer one", () => {
  const shared = new SharedList();
  shared.take([0]);
  shared.set([1]);
  shared.set([2]);
  assert.equal(shared.take([0]), false); // a run that has not heard of either
  assert.equal(shared.take([1]), false);
  assert.deepEqual(shared.value, [2]);
  assert.equal(shared.take([2]), false);
  assert.equal(shared.take([1]), true); // no echo any more
  assert.deepEqual(shared.value, [1]);
});

test("what the server says on its own overrides what was set here", () => {
  const shared = new SharedList();
  shared.take([0]);
  shared.set([1]);
  assert.equal(shared.take([5]), true);
  assert.deepEqual(shared.value, [5]);
});
