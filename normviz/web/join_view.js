// What the page of a student says, as plain data.

import { fillWords } from "./class_requests.js";

/** @import { ClassState } from "./class_requests.js" */

/**
 * The answer of this device: what was chosen last, and what the server has counted, both -1 for none.
 * @typedef {{number: number, choice: number, counted: number}} OwnAnswer
 */

/** @typedef {{pressed: boolean, right: boolean, note: string, share: number | null}} AnswerView */

/**
 * `open`: whether answers are taken; `said`: what it says below them; `good`: whether the answer was right.
 * @typedef {{open: boolean, answers: AnswerView[], said: string, why: string, good: boolean}} QuestionView
 */

/** @typedef {Record<string, string>} Words */

/**
 * Return what to show of a question.
 * @param {ClassState} state
 * @param {OwnAnswer} own to the question of the state
 * @param {Words} words
 * @returns {QuestionView}
 */
export function viewQuestion(state, own, words) {
  const { question, closed, revealed, right = null, why = "", counts = [] } = state;
  if (!question) return { open: false, answers: [], said: words.waiting ?? "", why: "", good: false };
  const total = counts.reduce((sum, count) => sum + count, 0);
  const choice = closed ? own.counted : own.choice;
  const answers = question.answers.map((_, k) => {
    const count = counts[k] ?? 0;
    const marks = revealed && right === k ? [words.right] : [];
    if (revealed) marks.push(fillWords(words, "count", { count, total }));
    return {
      pressed: choice === k,
      right: revealed && right === k,
      note: marks.join(" · "),
      share: revealed ? count / (total || 1) : null,
    };
  });
  const good = revealed && right !== null && choice === right;
  return { open: !closed, answers, said: sayOutcome(state, own, words), why: revealed ? why : "", good };
}

/**
 * @param {ClassState} state
 * @param {OwnAnswer} own
 * @param {Words} words
 */
function sayOutcome({ question, closed, revealed, right = null }, { choice, counted }, words) {
  const pick = (/** @type {string} */ name, k = counted) =>
    fillWords(words, name, { answer: question?.answers[k] ?? "" });
  if (!closed) return pick(choice < 0 ? "choose" : choice === counted ? "counted" : "sending");
  if (!revealed) return pick(counted < 0 ? "closed-unanswered" : "closed");
  if (right === null) return pick(counted < 0 ? "histogram-unanswered" : "histogram");
  return counted === right ? pick("were-right") : pick(counted < 0 ? "answer-is" : "were-wrong", right);
}
