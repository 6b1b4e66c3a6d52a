// Words and numbers for any element of a tensor.

import { formatNumber } from "./data.js";
import { readNumber } from "./statistics.js";

/** @import {Index, Numbers, Statistic} from "./component.d.ts" */

/**
 * The elements that share a statistic with an element.
 * @typedef {object} Field
 * @property {string | null} part "mean" or "divides"; null where both statistics have one field
 * @property {Numbers[][]} bounds for each axis and index: the first index of the field, and the one behind the last
 * @property {(RangeWords | null)[]} ranges null for an axis of which nothing is said
 * @property {Record<string, string>} words how the words for the field are put together
 * @property {string} what the field is to an element, where the words do not say it
 */

/** @typedef {[whole: string | null, one: string, several: string]} RangeWords words for a range, with {lo} and {last} */
/** @typedef {{numbers: Record<string, Statistic>, shape: number[]}} Numbered numbers by name, and the tensor's shape */

const LETTERS = ["n", "h", "w", "c"];
const DIGITS = 4;

/**
 * Return the words for the field of an element, like normviz/describe/wording.py does: "96 elements:
 * all h, w, c of example 2".
 * @param {Pick<Field, "bounds" | "ranges">} field
 * @param {Record<string, string>} words
 * @param {Index} index
 * @param {number[]} shape
 */
export function writeField({ bounds, ranges }, words, index, shape) {
  /** @type {string[]} */
  const whole = [];
  /** @type {string[]} */
  const rest = [];
  let count = 1;
  ranges.forEach((range, axis) => {
    if (!range) return; // an axis of length 1
    const [all, one, several] = range;
    const [lo, hi] = bounds[axis][index[axis]];
    count *= hi - lo;
    if (hi - lo === shape[axis] && all) whole.push(all);
    else rest.push(writeRange(hi - lo === 1 ? one : several, lo, hi));
  });
  const parts = [];
  if (whole.length) parts.push(fill(words.all, whole.join(", ")));
  if (rest.length) parts.push(rest.join(", "));
  const where = parts.length === 2 ? fill(words.of, ...parts) : parts[0];
  return fill(count === 1 ? words.one : words.several, count.toLocaleString("en-US"), where);
}

/**
 * Return a template with texts in the places of "{}".
 * @param {string} template
 * @param {string[]} texts
 */
const fill = (template, ...texts) => template.replaceAll("{}", () => texts.shift() ?? "");

/**
 * Return a template with the bounds of a range, such as "rows {lo} to {last}".
 * @param {string} template
 * @param {number} lo
 * @param {number} hi the index behind the last one
 */
export const writeRange = (template, lo, hi) => template.replace("{lo}", `${lo}`).replace("{last}", `${hi - 1}`);

/**
 * Return the number of an element, as text for a formula.
 * @param {Numbered} data
 * @param {string} name of the number; n, h, w and c are the element's indices
 * @param {boolean} bracketed whether a negative number has brackets
 * @param {Index} index
 */
export function writeNumber({ numbers, shape }, name, bracketed, index) {
  const axis = LETTERS.indexOf(name);
  const text = formatNumber(axis < 0 ? readNumber(numbers[name], index, shape) : index[axis], DIGITS);
  return bracketed && text.startsWith("−") ? `(${text})` : text;
}

/**
 * Return the index of the formulas' form for an element.
 * @param {Numbered} data
 * @param {Index} index
 */
export const readForm = ({ numbers, shape }, index) => (numbers.form ? readNumber(numbers.form, index, shape) : 0);
