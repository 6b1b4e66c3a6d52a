// Flat pictures of a tensor: the part that is drawn, where its maps stand, what is outlined, and the colours.

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chooseBox,
  choosePart,
  colourValue,
  drawOutline,
  layOutPart,
  measurePart,
  parseColour,
  writePart,
} from "../../normviz/web/strip.js";

const ROLES = [0, 1, 2, 3];
const LAYOUT = {
  part: [
    [0, 2],
    [0, 3],
    [0, 2],
    [0, 2],
  ],
  roles: ROLES,
  cell: 10,
  gap: 2,
};

test("a small tensor is drawn whole, a large one in whole maps around the element", () => {
  assert.deepEqual(choosePart([1, 2, 1, 3], [4, 4, 4, 6], ROLES), [
    [0, 4],
    [0, 4],
    [0, 4],
    [0, 6],
  ]);
  assert.deepEqual(choosePart([9, 0, 0, 20], [20, 4, 4, 40], ROLES), [
    [8, 16],
    [0, 4],
    [0, 4],
    [18, 27],
  ]);
  assert.deepEqual(choosePart([3, 130, 5, 2], [4, 200, 10, 3], ROLES), [
    [3, 4],
    [128, 200],
    [0, 10],
    [0, 3],
  ]);
});

test("axes may change their roles", () => {
  assert.deepEqual(choosePart([20, 0, 0, 9], [40, 4, 4, 20], [3, 1, 2, 0]), [
    [18, 27],
    [0, 4],
    [0, 4],
    [8, 16],
  ]);
});

test("cells fill the width or the height, in whole pixels", () => {
  const part = [
    [0, 2],
    [0, 3],
    [0, 2],
    [0, 2],
  ];
  assert.deepEqual(layOutPart(part, ROLES, 47), { part, roles: ROLES, gap: 2, cell: 11 });
  assert.equal(layOutPart(part, ROLES, 1000).cell, 16);
  assert.equal(
    layOutPart(
      [
        [0, 4],
        [0, 4],
        [0, 4],
        [0, 4],
      ],
      ROLES,
      1000,
    ).cell,
    7,
  ); // four rows in 130 pixels
  assert.equal(
    layOutPart(
      [
        [0, 1],
        [0, 128],
        [0, 128],
        [0, 1],
      ],
      ROLES,
      64,
    ).cell,
    0.5,
  );
});

test("maps of one cell have no gap between them", () => {
  assert.equal(
    layOutPart(
      [
        [0, 4],
        [0, 1],
        [0, 1],
        [0, 8],
      ],
      ROLES,
      80,
    ).gap,
    0,
  );
});

test("a picture is as large as its maps and the gaps between them", () => {
  assert.deepEqual(measurePart(LAYOUT), [42, 62]);
});

test("an element is outlined in its map", () => {
  assert.equal(
    drawOutline(
      [
        [1, 2],
        [2, 3],
        [0, 1],
        [1, 2],
      ],
      LAYOUT,
    ),
    "M22 52H32V62H22Z",
  );
});

test("whole maps of a field run together, parts of them are outlined one by one", () => {
  assert.equal(
    drawOutline(
      [
        [0, 2],
        [0, 3],
        [0, 2],
        [1, 2],
      ],
      LAYOUT,
    ),
    "M22 0H42V62H22Z",
  );
  assert.equal(
    drawOutline(
      [
        [0, 2],
        [1, 2],
        [0, 2],
        [0, 1],
      ],
      LAYOUT,
    ),
    "M0 10H20V20H0ZM0 42H20V52H0Z",
  );
});

test("a field is outlined as far as it is drawn", () => {
  const part = [
    [2, 4],
    [0, 3],
    [0, 2],
    [0, 2],
  ];
  assert.equal(
    drawOutline(
      [
        [0, 3],
        [0, 3],
        [0, 2],
        [0, 2],
      ],
      { ...LAYOUT, part },
    ),
    "M0 0H42V30H0Z",
  );
});

test("the lit statistic's field is outlined, by default the last one", () => {
  const all = [0, 1].map(() => [
    [0, 2],
    [0, 2],
  ]);
  const own = [0, 1].map(() => [
    [0, 1],
    [1, 2],
  ]);
  const fields = [
    { part: "mean", bounds: all },
    { part: "divides", bounds: own },
  ];
  assert.deepEqual(chooseBox(fields, "mean", [0, 1]), [
    [0, 2],
    [0, 2],
  ]);
  assert.deepEqual(chooseBox(fields, "divides", [0, 1]), [
    [0, 1],
    [1, 2],
  ]);
  assert.deepEqual(chooseBox(fields, null, [0, 1]), [
    [0, 1],
    [1, 2],
  ]);
  assert.deepEqual(chooseBox([], null, [0, 1]), [
    [0, 1],
    [1, 2],
  ]);
});

test("the caption says which part is shown", () => {
  const words = [["n", "example {lo}", "examples {lo} to {last}"], null];
  assert.equal(
    writePart(
      [
        [8, 16],
        [0, 1],
      ],
      [20, 1],
      words,
      "Shown: {}.",
    ),
    " Shown: examples 8 to 15.",
  );
  assert.equal(
    writePart(
      [
        [3, 4],
        [0, 1],
      ],
      [20, 1],
      words,
      "Shown: {}.",
    ),
    " Shown: example 3.",
  );
  assert.equal(
    writePart(
      [
        [0, 20],
        [0, 1],
      ],
      [20, 1],
      words,
      "Shown: {}.",
    ),
    "",
  );
});

test("a value is coloured from the middle to one of the ends", () => {
  const colours = { low: [0, 0, 100], middle: [200, 200, 200], high: [100, 0, 0], gaps: [1, 2, 3] };
  assert.deepEqual(colourValue(0, 2, colours), [200, 200, 200]);
  assert.deepEqual(colourValue(1, 2, colours), [150, 100, 100]);
  assert.deepEqual(colourValue(-1, 2, colours), [100, 100, 150]);
  assert.deepEqual(colourValue(9, 2, colours), [100, 0, 0]);
  assert.deepEqual(colourValue(Number.NaN, 2, colours), [1, 2, 3]);
  assert.deepEqual(colourValue(Number.NEGATIVE_INFINITY, 2, colours), [1, 2, 3]);
  assert.deepEqual(parseColour("#0a80ff"), [10, 128, 255]);
});
