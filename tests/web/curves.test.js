// The curves of a network and its twin, the area between them, and the labels of their axes.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawArea, drawCurve, findTicks } from "../../normviz/web/curves.js";

const AXES = { count: 4, low: 0, high: 2 };

test("a curve is linear, from the bottom to the top of its axis", () => {
  assert.equal(drawCurve([0, 1, 2], AXES), "M25.00 100.00L50.00 50.00L75.00 0.00");
  assert.equal(drawCurve([-1, 1], { count: 2, low: -1, high: 1 }), "M50.00 100.00L100.00 0.00");
});

test("a curve is broken where a number is not finite, and leaves the plot where it is too large", () => {
  assert.equal(drawCurve([1, Number.NaN, 2], AXES), "M25.00 50.00M75.00 0.00");
  assert.equal(drawCurve([Number.POSITIVE_INFINITY, 2, 1e9], AXES), "M50.00 0.00L75.00 -100.00");
  assert.equal(drawCurve([], AXES), "");
});

test("the area goes along one curve and back along the other", () => {
  assert.equal(drawArea([0, 1], [2, 1], AXES), "M25.00 100.00L50.00 50.00L50.00 50.00L25.00 0.00Z");
});

test("there is no area where one of the curves is not finite", () => {
  assert.equal(drawArea([0, 1], [2, Number.NaN], AXES), "M25.00 100.00L25.00 0.00Z");
  assert.equal(drawArea([Number.NaN], [1], AXES), "");
});

test("an axis has a few round numbers", () => {
  assert.deepEqual(findTicks(0, 100, 5), [0, 20, 40, 60, 80, 100]);
  assert.deepEqual(findTicks(0, 2.79, 5), [0, 1, 2]);
  assert.deepEqual(findTicks(-1, 1, 5), [-1, -0.5, 0, 0.5, 1]);
  assert.deepEqual(findTicks(0, 0.3, 5), [0, 0.1, 0.2, 0.3]);
});
