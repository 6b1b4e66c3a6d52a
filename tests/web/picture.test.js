// Pictures pixel by pixel: which pixel is picked, where the handle goes, and the colours.

import assert from "node:assert/strict";
import { test } from "node:test";
import { colourPixels, findPixel, moveHandle, movePixel } from "../../normviz/web/picture.js";

test("a click picks the pixel below it, and the nearest one outside", () => {
  assert.deepEqual(findPixel(2.5 / 8, 5.5 / 8, [8, 8]), [2, 5]);
  assert.deepEqual(findPixel(0.99, 0.5, [2, 5]), [1, 2]);
  assert.deepEqual(findPixel(-0.1, 1, [3, 4]), [0, 3]);
  assert.deepEqual(findPixel(1, -0.1, [3, 4]), [2, 0]);
});

test("the arrow keys move to the next pixel and stop at the edges", () => {
  assert.deepEqual(movePixel([1, 1], "ArrowUp", [2, 3]), [0, 1]);
  assert.deepEqual(movePixel([0, 1], "ArrowDown", [2, 3]), [1, 1]);
  assert.deepEqual(movePixel([0, 1], "ArrowLeft", [2, 3]), [0, 0]);
  assert.deepEqual(movePixel([0, 1], "ArrowRight", [2, 3]), [0, 2]);
  assert.deepEqual(movePixel([0, 2], "ArrowUp", [2, 3]), [0, 2]);
  assert.deepEqual(movePixel([0, 2], "ArrowRight", [2, 3]), [0, 2]);
  assert.equal(movePixel([0, 2], "Enter", [2, 3]), null);
});

test("the keys of a slider move the handle between 0 and 100 percent", () => {
  const moves = [
    ["ArrowLeft", 48],
    ["ArrowDown", 48],
    ["ArrowRight", 52],
    ["ArrowUp", 52],
    ["PageDown", 40],
    ["PageUp", 60],
    ["Home", 0],
    ["End", 100],
    ["Tab", undefined],
  ];
  for (const [key, to] of moves) assert.equal(moveHandle(50, key), to);
  assert.equal(moveHandle(99, "ArrowRight"), 100);
  assert.equal(moveHandle(3, "PageDown"), 0);
});

test("grey pixels have one number, coloured pixels three", () => {
  assert.deepEqual([...colourPixels(Uint8Array.of(7, 255), 2)], [7, 7, 7, 255, 255, 255, 255, 255]);
  assert.deepEqual([...colourPixels([1, 2, 3, 4, 5, 6], 2)], [1, 2, 3, 255, 4, 5, 6, 255]);
});
