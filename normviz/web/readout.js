// The line over a cube that says which element is lit, and its values.

import { formatNumber } from "./data.js";
import { readNumber } from "./statistics.js";

/** @import {Index} from "./component.d.ts" */
/** @import {Hover, PlayedStage, PlotMessage} from "./messages.d.ts" */

const DIGITS = 4;
const MOST = 4; // stages in one line

/**
 * Return the line for an element: its index, its value, and its result in every copy.
 * @param {Pick<PlotMessage, "names" | "symbol" | "labels">} message
 * @param {Hover} hover
 * @param {Index} index
 */
export function writeValues(message, hover, index) {
  const place = message.names.map((name, axis) => `${name} = ${index[axis]}`).join("  ");
  return `${place}    ${writeResult(message, hover, index)}`;
}

/**
 * Return the value of an element and its result in every copy: "x = 0.3267 → x̂ = 0.04095".
 * @param {Pick<PlotMessage, "symbol" | "labels">} message
 * @param {Hover} hover
 * @param {Index} index
 */
export function writeResult({ symbol, labels }, hover, index) {
  const value = `${symbol} = ${formatNumber(hover.x[flatten(index, hover.shape)], DIGITS)}`;
  const results = listResults(symbol, hover, index).map((text, k) => (labels.length ? `${labels[k]}: ${text}` : text));
  return `${value} → ${results.join("   ")}`;
}

/**
 * Return the result of an element in every copy: "x̂ = 0.04095".
 * @param {string} symbol
 * @param {Hover} hover
 * @param {Index} index
 */
export const listResults = (symbol, hover, index) =>
  hover.copies.map(({ xhat }) => `${symbol}̂ = ${formatNumber(xhat[flatten(index, hover.shape)], DIGITS)}`);

/**
 * Return the line for an element while stages are played: its value after each of them, the last ones where they are
 * many.
 * @param {PlayedStage[]} stages that have been reached or are on their way
 * @param {number[]} shape of the tensor
 * @param {Index} index
 */
export function writeStages(stages, shape, index) {
  const last = new Map(stages.map((stage) => [stage.symbol, readNumber(stage, index, shape)]));
  const values = [...last].map(([symbol, value]) => `${symbol} = ${formatNumber(value, DIGITS)}`);
  return (values.length > MOST ? ["…", ...values.slice(-MOST)] : values).join(" → ");
}

/**
 * Return the note in the picture on an element at a stage: "x = −1.948".
 * @param {Pick<PlayedStage, "symbol" | "values" | "shape">} stage
 * @param {number[]} shape of the tensor
 * @param {Index} index
 */
export const writeNote = (stage, shape, index) =>
  `${stage.symbol} = ${formatNumber(readNumber(stage, index, shape), DIGITS)}`;

/**
 * Return the flat index, in row-major order, of the element with this index.
 * @param {Index} index
 * @param {number[]} shape
 */
const flatten = (index, shape) => index.reduce((sum, v, axis) => sum * shape[axis] + v, 0);
