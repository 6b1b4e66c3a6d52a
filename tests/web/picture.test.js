// Pictures pixel by pixel: which pixel is picked, and the colours.

import assert from "node:assert/strict";
import { test } from "node:test";
import { colourPixels, findPixel, movePixel } from "../../normviz/web/picture.js";

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

test("grey pixels have one number, coloured pixels three", () => {
  assert.deepEqual([...colourPixels(Uint8Array.of(7, 255), 2)], [7, 7, 7, 255, 255, 255, 255, 255]);
  assert.deepEqual([...colourPixels([1, 2, 3, 4, 5, 6], 2)], [1, 2, 3, 255, 4, 5, 6, 255]);
});
