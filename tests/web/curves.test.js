// The curves in the cells of Table 1, and their gaps in text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { drawCurve, drawGaps, rangeOf, writeGap } from "../../normviz/web/curves.js";

const STEPS = { at: Uint8Array.of(1, 5, 10), steps: 10 };

test("a gap is written as Python writes it", () => {
  const written = [
    [0, "0"],
    [8.9e-17, "9·10⁻¹⁷"],
    [1e-15, "10⁻¹⁵"],
    [2.2e-7, "2·10⁻⁷"],
    [9.6e-5, "0.0001"],
    [0.00012, "0.0001"],
    [0.004, "0.004"],
    [0.0099, "0.01"],
    [0.01, "0.01"],
    [0.0151, "0.015"],
    [0.389, "0.39"],
    [1.27, "1.3"],
    [12.3, "12"],
    [99.4, "99"],
    [99.7, "100"],
    [523.4, "523"],
    [9999.4, "9999"],
    [5e5, "5·10⁵"],
    [Number.POSITIVE_INFINITY, "∞"],
    [Number.NaN, ""],
  ];
  for (const [gap, text] of written) assert.equal(writeGap(gap), text);
});

test("the range of a row has room around its finite losses", () => {
  assert.deepEqual(rangeOf([2.4, Number.NaN, 1.2, Number.POSITIVE_INFINITY]), [1, 2.88]);
  assert.deepEqual(rangeOf(Float32Array.of(10, 0, 1e-9)), [12 / 1e4, 12]); // four powers of ten at most
  assert.deepEqual(rangeOf([Number.NaN]), [0.5, 2]);
  assert.deepEqual(rangeOf([]), [0.5, 2]);
});

test("a curve is logarithmic and reaches from the bottom to the top of its range", () => {
  assert.equal(drawCurve([1, 10, 100], STEPS, [1, 100]), "M10.0 30.00L50.0 15.00L100.0 0.00");
});

test("a curve is broken where a loss is not finite, and cut where it leaves its range", () => {
  assert.equal(drawCurve([1, Number.NaN, 100], STEPS, [1, 100]), "M10.0 30.00M100.0 0.00");
  assert.equal(drawCurve([Number.POSITIVE_INFINITY, 100, 1e9], STEPS, [1, 100]), "M50.0 0.00L100.0 -15.00");
  assert.equal(drawCurve([0, 1, 1], STEPS, [1, 4]), "M10.0 60.00L50.0 30.00L100.0 30.00");
});

test("the area of the gaps has 10⁻¹⁷ at the bottom and 1 at the top", () => {
  assert.equal(drawGaps([0, 1e-17, 1], STEPS), "M10.0 30L10.0 30.00L50.0 30.00L100.0 0.00L100.0 30Z");
  assert.equal(drawGaps([Number.NaN, 10 ** -8.5, 1e300], STEPS), "M50.0 30L50.0 15.00L100.0 0.00L100.0 30Z");
  assert.equal(drawGaps([Number.NaN, Number.NaN, Number.NaN], STEPS), "");
});
