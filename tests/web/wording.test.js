// An element of a tensor in words and numbers.

import assert from "node:assert/strict";
import { test } from "node:test";
import { readNumber } from "../../normviz/web/statistics.js";
import { readForm, writeField, writeNumber, writeRange } from "../../normviz/web/wording.js";

const SHAPE = [2, 3, 4, 6];
const WORDS = { all: "all {}", of: "{} of {}", one: "{} element: {}", several: "{} elements: {}" };
const axis = (letter, one) => [letter, `${one} {lo}`, `${one}s {lo} to {last}`];
const OWN = (n) => Array.from({ length: n }, (_, i) => Int16Array.of(i, i + 1));
const FULL = (n) => Array.from({ length: n }, () => Int16Array.of(0, n));

test("a number is that of the statistic which the element shares", () => {
  const perChannel = { values: [0, 10, 20, 30, 40, 50], shape: [1, 1, 1, 6] };
  assert.equal(readNumber(perChannel, [1, 2, 3, 4], SHAPE), 40);
  const perGroup = { values: Float32Array.of(1, 2, 3, 4), shape: [2, 1, 1, 2] };
  assert.equal(readNumber(perGroup, [0, 2, 3, 2], SHAPE), 1);
  assert.equal(readNumber(perGroup, [1, 0, 0, 3], SHAPE), 4);
  assert.equal(readNumber({ values: [7], shape: [1, 1, 1, 1] }, [1, 2, 3, 5], SHAPE), 7);
});

test("a field is said by its whole axes and its ranges", () => {
  const ranges = [axis(null, "example"), axis("h", "row"), axis("w", "column"), axis(null, "channel")];
  const bounds = [
    OWN(2),
    FULL(3),
    FULL(4),
    [
      [0, 3],
      [0, 3],
      [0, 3],
      [3, 6],
      [3, 6],
      [3, 6],
    ],
  ];
  const text = writeField({ bounds, ranges }, WORDS, [1, 2, 3, 4], SHAPE);
  assert.equal(text, "36 elements: all h, w of example 1, channels 3 to 5");
});

test("nothing is said of rows and columns where there is one; thousands have a comma", () => {
  const ranges = [axis("n", "example"), null, null, axis(null, "channel")];
  const bounds = [FULL(2000), FULL(1), FULL(1), FULL(1)];
  const text = writeField({ bounds, ranges }, WORDS, [1, 0, 0, 0], [2000, 1, 1, 1]);
  assert.equal(text, "2,000 elements: all n of channel 0");
});

test("a field of one element, and one of all", () => {
  const ranges = [axis(null, "example"), null, null, axis(null, "channel")];
  const own = writeField({ bounds: [OWN(2), OWN(1), OWN(1), OWN(6)], ranges }, WORDS, [1, 0, 0, 5], [2, 1, 1, 6]);
  assert.equal(own, "1 element: example 1, channel 5");
  const whole = [axis("n", "example"), null, null, axis("c", "channel")];
  const all = writeField(
    { bounds: [FULL(2), FULL(1), FULL(1), FULL(6)], ranges: whole },
    WORDS,
    [1, 0, 0, 5],
    [2, 1, 1, 6],
  );
  assert.equal(all, "12 elements: all n, c");
});

test("a range ends at its last index", () => {
  assert.equal(writeRange("rows {lo} to {last}", 2, 5), "rows 2 to 4");
  assert.equal(writeRange("row {lo}", 2, 3), "row 2");
});

test("a number has four digits, and brackets where a formula asks for them", () => {
  const numbers = { x: { values: [-1.23456, 1 / 3], shape: [2, 1, 1, 1] } };
  const data = { numbers, shape: [2, 1, 1, 1] };
  assert.equal(writeNumber(data, "x", false, [0, 0, 0, 0]), "−1.235");
  assert.equal(writeNumber(data, "x", true, [0, 0, 0, 0]), "(−1.235)");
  assert.equal(writeNumber(data, "x", true, [1, 0, 0, 0]), "0.3333");
  assert.equal(writeNumber(data, "n", false, [1, 0, 0, 0]), "1");
});

test("a formula has its first form unless the element has another one", () => {
  const form = { values: Uint8Array.of(0, 2), shape: [2, 1, 1, 1] };
  assert.equal(readForm({ numbers: { form }, shape: SHAPE }, [1, 0, 0, 0]), 2);
  assert.equal(readForm({ numbers: {}, shape: SHAPE }, [1, 0, 0, 0]), 0);
});
