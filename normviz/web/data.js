// Before the script of every component: reads what the server sent (normviz/ui/packed.py).
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
export const turns = new WeakMap();

// JSON, and behind it the numbers of its arrays, which are not copied: one axis is a typed array, two are rows of such.
export function unpacked(bytes) {
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

// What was sent, or null where that is shown already, or something newer. Streamlit imports a script anew for every
// call, and a browser that is still loading it ends these imports in any order: what came first may arrive last.
export function latest(root, bytes) {
  const turn = new DataView(bytes.buffer, bytes.byteOffset).getFloat64(0, true);
  if (turn <= turns.get(root)) return null;
  turns.set(root, turn);
  return unpacked(bytes.subarray(8));
}

// A number as a page writes it, to some digits: 3, −0.5, 1.5·10⁻⁷, NaN, −∞. normviz/core/text.py does the same.
export function typeset(number, digits) {
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
