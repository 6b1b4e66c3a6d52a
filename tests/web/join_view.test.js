// The page of a student: what it says of a question, open, closed and revealed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { addLanguage, fillWords, groupCode } from "../../normviz/web/class_requests.js";
import { viewQuestion } from "../../normviz/web/join_view.js";

const WORDS = {
  waiting: "wait",
  choose: "choose",
  sending: "sending",
  counted: "counted",
  closed: "closed: {answer}",
  "closed-unanswered": "closed",
  histogram: "chose {answer}",
  "histogram-unanswered": "answered",
  "were-right": "right",
  "were-wrong": "wrong: {answer}",
  "answer-is": "is {answer}",
  right: "✓",
  count: "{count} of {total}",
};
const OPEN = { number: 1, question: { text: "?", answers: ["yes", "no"] }, closed: false, revealed: false };
const CLOSED = { ...OPEN, closed: true };
const REVEALED = { ...CLOSED, revealed: true, right: 0, why: "so", counts: [3, 1] };
const own = (choice, counted = choice) => ({ number: 1, choice, counted });
const said = (state, answer) => viewQuestion(state, answer, WORDS).said;

test("the page says what happens to the answer", () => {
  assert.equal(said({ ...OPEN, question: null }, own(-1)), "wait");
  assert.deepEqual(
    [own(-1), own(1, -1), own(1, 0), own(1)].map((answer) => said(OPEN, answer)),
    ["choose", "sending", "sending", "counted"],
  );
  assert.deepEqual(
    [own(-1), own(1, -1), own(1, 0)].map((answer) => said(CLOSED, answer)),
    ["closed", "closed", "closed: yes"],
  );
  assert.deepEqual(
    [own(-1), own(1), own(0), own(0, 1)].map((answer) => said(REVEALED, answer)),
    ["is yes", "wrong: yes", "right", "wrong: yes"],
  );
  assert.deepEqual(
    [own(-1), own(1)].map((answer) => said({ ...REVEALED, right: null }, answer)),
    ["answered", "chose no"],
  );
});

test("nothing is given away before it is revealed", () => {
  for (const state of [OPEN, CLOSED]) {
    const view = viewQuestion({ ...state, right: 0, why: "so", counts: [3, 1] }, own(0), WORDS);
    assert.deepEqual([view.why, view.good], ["", false]);
    assert.deepEqual(view.answers, [
      { pressed: true, right: false, note: "", share: null },
      { pressed: false, right: false, note: "", share: null },
    ]);
  }
});

test("the histogram is in numbers, and the right answer has a word", () => {
  const { answers, why, good, open } = viewQuestion(REVEALED, own(0), WORDS);
  assert.deepEqual([why, good, open], ["so", true, false]);
  assert.deepEqual(
    answers.map(({ note, share }) => [note, share]),
    [
      ["✓ · 3 of 4", 0.75],
      ["1 of 4", 0.25],
    ],
  );
  const empty = viewQuestion({ ...REVEALED, counts: [0, 0] }, own(-1), WORDS);
  assert.deepEqual(
    empty.answers.map(({ share }) => share),
    [0, 0],
  );
});

test("words are filled in, and a code is read out in two groups", () => {
  assert.equal(fillWords({ part: "{a} of {b}" }, "part", { a: 1, b: "{a}" }), "1 of {a}");
  const words = { links: "{count} links", "links-1": "one link" };
  assert.deepEqual(
    [0, 1, 2].map((count) => fillWords(words, "links", { count })),
    ["0 links", "one link", "2 links"],
  );
  assert.equal(groupCode("BCDF2345"), "BCDF 2345");
});

test("a link is in the language of the page that shows it, unless it names one", () => {
  assert.equal(addLanguage("compare", "de"), "compare?lang=de");
  assert.equal(addLanguage("compare?n=2", "de"), "compare?n=2&lang=de");
  assert.equal(addLanguage("compare?lang=en", "de"), "compare?lang=en");
  assert.equal(addLanguage("compare", "en"), "compare");
});
