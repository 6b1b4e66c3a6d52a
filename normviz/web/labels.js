// What is written around a cube: titles and numbers along its axes, a name over it, and names of its blocks. Placed
// outside of what is drawn, on the sides that face away from it, and nothing over anything else: however it is turned.

import { CORNERS } from "./boxes.js";

const ROOM = 6;
const TITLE = 16;
const SMALL = 13; // pixels: between what is drawn and what is written, and sizes of text
const NAMED_UP_TO = 64; // blocks
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];
const pen = document.createElement("canvas").getContext("2d");
const widths = new Map();

function widthOf(text, size, family) {
  const font = `${size}px ${family}`;
  const key = `${font} ${text}`;
  if (!widths.has(key)) {
    pen.font = font;
    widths.set(key, pen.measureText(text).width);
  }
  return widths.get(key);
}

// Words in lines of some letters: "H·W averaged" in two where a line is short.
function wrapped(text, letters) {
  return text.split(" ").reduce((lines, word) => {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
    return lines;
  }, []);
}

// A text in lines, and how much room it takes.
function sized(lines, size, family, kind) {
  return {
    lines,
    size,
    kind,
    w: Math.max(...lines.map((line) => widthOf(line, size, family))),
    h: 1.2 * size * lines.length,
  };
}

const reach = ([x, y], { w, h }) => (Math.abs(x) * w + Math.abs(y) * h) / 2; // of a text, from its middle in a direction
const clear = (a, b, room = 2) => Math.abs(a.x - b.x) > (a.w + b.w) / 2 + room || Math.abs(a.y - b.y) > (a.h + b.h) / 2;
const extremes = (points, [x, y]) => {
  const found = points.map(([a, b]) => a * x + b * y);
  return [Math.min(...found), Math.max(...found)];
};
export const around = (points) => [extremes(points, [1, 0]), extremes(points, [0, 1])];
export const cornersOf = (origin, size, project) =>
  CORNERS.map((bits) => project(bits.map((bit, d) => origin[d] + bit * size[d])));

// Whether a text lies on the picture of a box: no direction parts the two.
function lies(text, corners) {
  const rim = [-1, 1].flatMap((i) => [-1, 1].map((k) => [text.x + (i * text.w) / 2, text.y + (k * text.h) / 2]));
  const sides = [1, 2, 4].map((bit) => [corners[bit][1] - corners[0][1], corners[0][0] - corners[bit][0]]);
  return [[1, 0], [0, 1], ...sides].every((direction) => {
    const [[a, b], [c, d]] = [extremes(rim, direction), extremes(corners, direction)];
    return b > c && d > a;
  });
}

// Where a box's picture ends on one of its edges along a dimension: the left one upwards, the lowest otherwise.
function outer(corners, d) {
  const bit = 1 << d;
  const middle = [0, 1].map((e) => corners.reduce((sum, corner) => sum + corner[e], 0) / 8);
  const found = [0, 1, 2, 3, 4, 5, 6, 7]
    .filter((n) => !(n & bit))
    .map((n) => {
      const a = corners[n];
      const b = corners[n | bit];
      const long = Math.hypot(b[0] - a[0], b[1] - a[1]);
      const along = [(b[0] - a[0]) / long, (b[1] - a[1]) / long];
      const at = [(a[0] + b[0]) / 2, (a[1] + b[1]) / 2];
      let out = [-along[1], along[0]];
      if ((at[0] - middle[0]) * out[0] + (at[1] - middle[1]) * out[1] < 0) out = [along[1], -along[0]];
      return { a, along, long, at, out };
    })
    .filter(({ a, long, out }) => long > 12 && extremes(corners, out)[1] < a[0] * out[0] + a[1] * out[1] + 0.5);
  return found.sort((one, other) => (d === 2 ? one.at[0] - other.at[0] : other.at[1] - one.at[1]))[0];
}

// Titles and numbers of a box whose places `project` brings into the picture; `ticks`: where the numbers stand, `others`:
// what is written already, `swell`: how far an element stands out of it. What has no room is left out.
export function written(
  { extent, swell, titles, brief, ticks, heading, blocks },
  project,
  { family, letters, small, tight, larger },
  others = [],
) {
  const whole = Array.from(extent, (n) => n + 2 * swell);
  const corners = cornersOf([0, 0, 0].fill(-swell), whole, project);
  const found = [];
  const [title, tick] = (small ? [14, 12] : [TITLE, SMALL]).map((size) => size * larger);
  const free = (text) => [...others, ...found].every((other) => clear(text, other));
  for (const d of [2, 0, 1]) {
    const edge = outer(corners, d);
    if (!edge) continue;
    const { a, along, long, at, out } = edge;
    const count = ticks[d].length;
    const step = long / (count || 1);
    const most = sized([String(count - 1)], tick, family, "tick");
    const every = STEPS.find(
      (n) => n * step * Math.abs(along[0]) > most.w + 4 || n * step * Math.abs(along[1]) > most.h,
    );
    let far = ROOM;
    for (let i = 0; i < count; i += every ?? count) {
      const text = sized([String(i)], tick, family, "tick");
      const off = far + reach(out, text);
      const by = ((ticks[d][i] + swell) / whole[d]) * long;
      const placed = { ...text, x: a[0] + by * along[0] + off * out[0], y: a[1] + by * along[1] + off * out[1] };
      if (free(placed)) found.push(placed);
    }
    if (count) far += 2 * reach(out, most) + ROOM / 2;
    const words = (tight ? brief : titles)[d];
    if (!words) continue;
    const text = sized(wrapped(words, d === 2 ? Math.min(letters, 9) : letters), title, family, "title");
    const tries = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((more) =>
      [0, 0.15, -0.15, 0.3, -0.3].map((by) => {
        const off = far + reach(out, text) + 8 * more;
        return {
          ...text,
          x: at[0] + by * long * along[0] + off * out[0],
          y: at[1] + by * long * along[1] + off * out[1],
        };
      }),
    );
    found.push(...[tries.find(free)].filter(Boolean));
  }
  const over = (box, text) => {
    const [[left, right], [top]] = around(box);
    return { ...text, x: (left + right) / 2, y: top - ROOM / 2 - text.h / 2 };
  };
  if (heading) found.push(over(corners, sized([heading], title, family, "heading")));
  if (blocks && blocks.origins.length <= NAMED_UP_TO) {
    const boxes = blocks.origins.map((origin) => cornersOf(origin, blocks.size, project));
    const named = (words) =>
      boxes
        .map((box, n) => over(box, sized([words(n)], tick, family, "block")))
        .filter((text, n) => free(text) && boxes.every((box, other) => other === n || !lies(text, box)));
    const apart = (texts) => texts.every((text, n) => texts.slice(n + 1).every((other) => clear(text, other)));
    const choices = [(n) => `${blocks.name} ${n}`, (n) => `${blocks.letter} = ${n}`, String].map(named);
    found.push(...(choices.find((texts) => texts.length === boxes.length && apart(texts)) ?? []));
  }
  return found;
}

// The texts over a picture, as SVG.
export class Labels {
  constructor(root) {
    this.root = root;
  }

  show(texts) {
    this.texts = texts;
    const lines = texts.flatMap(({ lines, x, y, size, kind }) =>
      lines.map((line, n) => [line, x, y + (n - (lines.length - 1) / 2) * 1.2 * size, size, kind]),
    );
    while (this.root.children.length > lines.length) this.root.lastChild.remove();
    while (this.root.children.length < lines.length) {
      this.root.append(document.createElementNS("http://www.w3.org/2000/svg", "text"));
    }
    lines.forEach(([line, x, y, size, kind], n) => {
      const text = this.root.children[n];
      if (text.textContent !== line) text.textContent = line;
      text.setAttribute("class", `nv-${kind}`);
      text.setAttribute("font-size", size);
      text.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    });
  }
}
