// Reads what the server sent (normviz/charts/packing.py), and writes numbers as the pages do.

/** @import {TypedNumbers} from "./messages.d.ts" */

/** @type {Record<string, new (buffer: ArrayBufferLike, at: number, length: number) => TypedNumbers>} */
const TYPES = {
  i1: Int8Array,
  u1: Uint8Array,
  i2: Int16Array,
  u2: Uint16Array,
  i4: Int32Array,
  u4: Uint32Array,
  f4: Float32Array,
  f8: Float64Array,
};

/** @type {WeakMap<object, number>} */
const turns = new WeakMap();

/**
 * Return the data of a message (JSON followed by arrays), without copying the arrays.
 * An array of one axis is a typed array; one of two axes is a list of typed arrays, its rows.
 * @template T
 * @param {Uint8Array} bytes
 * @returns {T}
 */
export function unpackMessage(bytes) {
  const { buffer, byteOffset } = bytes.byteOffset % 8 ? bytes.slice() : bytes;
  const size = new DataView(buffer, byteOffset).getUint32(0, true);
  const behind = byteOffset + 4 + size;
  const text = new TextDecoder().decode(new Uint8Array(buffer, byteOffset + 4, size));
  return JSON.parse(text, (_, value) => {
    if (!value?.packed) return value;
    const { packed, at, length, width } = value;
    const all = new TYPES[packed](buffer, behind + at, length);
    if (!width) return all;
    return Array.from({ length: length / width }, (_, row) => all.subarray(row * width, (row + 1) * width));
  });
}

/**
 * Return the data of a message to the component at this element, or null if it shows that message or a newer one.
 * Streamlit imports a script anew for every call. While a browser loads the script, these imports end in any order, so
 * the first message may arrive last.
 * @template T
 * @param {object} root
 * @param {Uint8Array} bytes
 * @returns {T | null}
 */
export function readLatest(root, bytes) {
  const turn = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
  if (turn <= (turns.get(root) ?? -Infinity)) return null;
  turns.set(root, turn);
  return unpackMessage(bytes.subarray(8));
}

/**
 * Return a number as text with some digits: 3, −0.5, 1.5·10⁻⁷, NaN, −∞. normviz/core/text.py does the same.
 * @param {number} number
 * @param {number} digits
 */
export function formatNumber(number, digits) {
  if (Number.isNaN(number)) return "NaN";
  const sign = number < 0 ? "−" : "";
  if (!Number.isFinite(number)) return `${sign}∞`;
  const [mantissa, exponent] = Math.abs(number)
    .toExponential(digits - 1)
    .split("e")
    .map(Number);
  if (exponent >= -4 && exponent < digits) return sign + Number(Math.abs(number).toPrecision(digits));
  const power = `10${[...String(exponent)].map((c) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(c)]).join("")}`;
  return sign + (mantissa === 1 ? power : `${mantissa}·${power}`);
}
