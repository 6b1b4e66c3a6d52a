// The map of all schemes: what is above and below a card, and where the arrow keys lead.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findNeighbour, followLines } from "../../normviz/web/diagram.js";

// Three rows of cards, from the lowest; no line leads from "c" upwards.
const CARDS = [
  { code: "", x: 50, y: 200 },
  { code: "a", x: 30, y: 100 },
  { code: "b", x: 60, y: 100 },
  { code: "c", x: 90, y: 100 },
  { code: "a,b", x: 40, y: 0 },
  { code: "b,d", x: 90, y: 0 },
];
const LINES = [
  { low: "", high: "a" },
  { low: "", high: "b" },
  { low: "a", high: "a,b" },
  { low: "b", high: "b,d" },
  { low: "b", high: "a,b" },
];

test("lines lead to all cards above and below a card", () => {
  assert.deepEqual([...followLines(LINES, "", "low")].sort(), ["a", "a,b", "b", "b,d"]);
  assert.deepEqual([...followLines(LINES, "a,b", "high")].sort(), ["", "a", "b"]);
  assert.deepEqual([...followLines(LINES, "a", "low")], ["a,b"]);
  assert.deepEqual([...followLines(LINES, "b,d", "low")], []);
});

test("up and down lead along a line to the nearest card", () => {
  const step = (code, key) => findNeighbour({ cards: CARDS, lines: LINES }, code, key);
  assert.equal(step("", "ArrowUp"), "b");
  assert.equal(step("b", "ArrowUp"), "a,b");
  assert.equal(step("a,b", "ArrowDown"), "a");
  assert.equal(step("c", "ArrowUp"), undefined);
  assert.equal(step("", "ArrowDown"), undefined);
});

test("left and right lead to the nearest card of the row", () => {
  const step = (code, key) => findNeighbour({ cards: CARDS, lines: LINES }, code, key);
  assert.equal(step("a", "ArrowRight"), "b");
  assert.equal(step("c", "ArrowLeft"), "b");
  assert.equal(step("a", "ArrowLeft"), undefined);
  assert.equal(step("a", "Enter"), undefined);
  assert.equal(step("gone", "ArrowLeft"), undefined);
});
