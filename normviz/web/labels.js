// What is written around a cube: titles and numbers along its axes, a name over it, and names of its blocks. Placed
// outside of what is drawn, on the sides that face away from it, and nothing over anything else: however it is turned.

import { BOX_CORNERS } from "./boxes.js";
import { unravel } from "./indices.js";

/** @import {Numbers} from "./component.d.ts" */
/** @import {Blocks, CopyLabels} from "./messages.d.ts" */

/**
 * A place in the picture, in pixels to the right and downwards; `Project` brings a place along x, y and z there.
 * @typedef {number[]} Pixel
 * @typedef {(at: number[]) => Pixel} Project
 *
 * The width in pixels of a text in a font of this size, in pixels, and family.
 * @typedef {(text: string, size: number, family: string) => number} Measure
 *
 * How texts look: letters in a line of a title, small texts, short titles (tight), numbers (ticked), a factor of all sizes.
 * @typedef {object} TextStyle
 * @property {string} family
 * @property {Measure} measure
 * @property {number} letters
 * @property {boolean} small
 * @property {boolean} tight
 * @property {boolean} ticked
 * @property {number} larger
 *
 * The lines of a text, and the room that it takes.
 * @typedef {{lines: string[], size: number, kind: string, colour?: string, w: number, h: number}} Text
 * @typedef {Text & {x: number, y: number}} PlacedText its middle
 *
 * A text about a point, and the ends of the line between the two.
 * @typedef {{text: PlacedText, from: Pixel, to: Pixel}} Note
 * @typedef {CopyLabels & {extent: Numbers, overhang: number, middles: number[][], result?: string}} Written
 */

const ROOM = 6;
const TITLE = 16;
const SMALL = 13; // pixels: between the picture and its texts, and sizes of text
const BOLD = 1.1; // ratio of the widths of bold and normal text
const LEADER = 26; // pixels of a line from a note to the cube
const NAMED_UP_TO = 64; // most blocks with names
const STEPS = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** @type {CanvasRenderingContext2D | null} */
let pen = null;
/** @type {Map<string, number>} */
const widths = new Map();

/** @type {Measure} */
export function measureWidth(text, size, family) {
  const font = `${size}px ${family}`;
  const key = `${font} ${text}`;
  let width = widths.get(key);
  if (width === undefined) {
    pen ??= /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
    pen.font = font;
    width = pen.measureText(text).width;
    widths.set(key, width);
  }
  return width;
}

/**
 * Split words into lines of at most `letters` letters: "H·W averaged" into two if they are short.
 * @param {string} text
 * @param {number} letters
 */
function wrapWords(text, letters) {
  /** @type {string[]} */
  const lines = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= letters) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

/**
 * Return a text in lines with its width and height.
 * @param {string[]} lines
 * @param {number} size
 * @param {string} kind
 * @param {TextStyle} style
 * @returns {Text}
 */
function measureText(lines, size, kind, { family, measure }) {
  const w = Math.max(...lines.map((line) => measure(line, size, family)));
  return { lines, size, kind, w, h: (1.2 * lines.length - 0.1) * size };
}

/**
 * Return the extent of a text from its middle in a direction.
 * @param {Pixel} direction
 * @param {Text} text
 */
const computeReach = ([x, y], { w, h }) => (Math.abs(x) * w + Math.abs(y) * h) / 2;

/**
 * Return true if two texts do not overlap.
 * @param {PlacedText} a
 * @param {PlacedText} b
 */
const areApart = (a, b, room = 2) =>
  Math.abs(a.x - b.x) > (a.w + b.w) / 2 + room || Math.abs(a.y - b.y) > (a.h + b.h) / 2;

/**
 * Return the smallest and the largest of the points' coordinates in a direction.
 * @param {Pixel[]} points
 * @param {Pixel} direction
 */
function findExtremes(points, [x, y]) {
  const found = points.map(([a, b]) => a * x + b * y);
  return [Math.min(...found), Math.max(...found)];
}

/**
 * Return the horizontal and the vertical range of points.
 * @param {Pixel[]} points
 */
export const findBounds = (points) => [findExtremes(points, [1, 0]), findExtremes(points, [0, 1])];

/**
 * Return the places of a box's corners in the picture.
 * @param {ArrayLike<number>} origin
 * @param {ArrayLike<number>} size
 * @param {Project} project
 */
export const projectCorners = (origin, size, project) =>
  BOX_CORNERS.map((bits) => project(bits.map((bit, d) => origin[d] + bit * size[d])));

/**
 * Return true if a text overlaps the picture of a box: no direction separates the two.
 * @param {PlacedText} text
 * @param {Pixel[]} corners
 */
function isOverBox(text, corners) {
  const rim = [-1, 1].flatMap((i) => [-1, 1].map((k) => [text.x + (i * text.w) / 2, text.y + (k * text.h) / 2]));
  const sides = [1, 2, 4].map((bit) => [corners[bit][1] - corners[0][1], corners[0][0] - corners[bit][0]]);
  return [[1, 0], [0, 1], ...sides].every((direction) => {
    const [[a, b], [c, d]] = [findExtremes(rim, direction), findExtremes(corners, direction)];
    return b > c && d > a;
  });
}

/**
 * Return the outermost edge of a box's picture along a dimension: the leftmost of vertical edges, else the lowest.
 * @param {Pixel[]} corners
 * @param {number} d
 */
function findOuterEdge(corners, d) {
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
    .filter(({ a, long, out }) => long > 12 && findExtremes(corners, out)[1] < a[0] * out[0] + a[1] * out[1] + 0.5);
  return found.sort((one, other) => (d === 2 ? one.at[0] - other.at[0] : other.at[1] - one.at[1]))[0];
}

/**
 * Return the way straight down, up or aside that is 1 long in a direction: a text stands under its cell.
 * @param {Pixel} direction
 */
const straighten = ([x, y]) => (Math.abs(y) > Math.abs(x) ? [0, 1 / y] : [1 / x, 0]);

/**
 * Return the indices of a cell along a side whose axes have these lengths: "3", or "1, 2" for two axes.
 * @param {number} cell
 * @param {number[]} lengths the inner axis last
 */
export const writeTick = (cell, lengths) => unravel(cell, lengths).join(", ");

/**
 * Return the numbers of cells from one written tick to the next, from the least: of two axes, all ticks or whole rows.
 * @param {number[]} lengths of the axes, the inner one last
 */
export const listSteps = (lengths) =>
  lengths.length > 1 ? [1, ...STEPS.map((rows) => rows * lengths[lengths.length - 1])] : STEPS;

/**
 * Return the titles and numbers around a box, without those that have no room.
 * @param {Written} written what is written; `middles`: where the numbers stand, `overhang`: how far an element stands out,
 *   `result`: of an element, below the heading
 * @param {Project} project
 * @param {TextStyle} style
 * @param {PlacedText[]} [others] what is written already
 */
export function layOutTexts(
  { extent, overhang, titles, brief, colours, ticks, rows, middles, heading, blocks, result },
  project,
  style,
  others = [],
) {
  const { letters, small, tight, ticked, larger } = style;
  const whole = Array.from(extent, (n) => n + 2 * overhang);
  const corners = projectCorners([-overhang, -overhang, -overhang], whole, project);
  /** @type {PlacedText[]} */
  const found = [];
  const [title, tick] = (small ? [14, 12] : [TITLE, SMALL]).map((size) => size * larger);
  /** @type {(text: PlacedText) => boolean} */
  const free = (text) => [...others, ...found].every((other) => areApart(text, other));
  for (const d of [2, 0, 1]) {
    const edge = findOuterEdge(corners, d);
    if (!edge) continue;
    const { a, along, long, at, out } = edge;
    const way = straighten(out);
    const count = ticked ? middles[d].length : 0;
    /** @type {(cell: number) => string} */
    const write = (cell) => (d === 2 && rows[cell]) || writeTick(cell, ticks[d]);
    const step = long / (count || 1);
    const most = measureText([write(count - 1)], tick, "tick", style);
    const every = listSteps(ticks[d]).find(
      (n) => n * step * Math.abs(along[0]) > most.w + 4 || n * step * Math.abs(along[1]) > most.h,
    );
    let far = ROOM;
    for (let i = 0; i < count; i += every ?? count) {
      const text = measureText([write(i)], tick, "tick", style);
      const off = far + computeReach(out, text);
      const by = ((middles[d][i] + overhang) / whole[d]) * long;
      const placed = { ...text, x: a[0] + by * along[0] + off * way[0], y: a[1] + by * along[1] + off * way[1] };
      if (free(placed)) found.push(placed);
    }
    if (count) far += 2 * computeReach(out, most) + (ROOM / 2) * ticks[d].length;
    const words = (tight ? brief : titles)[d];
    if (!words) continue;
    const lines = wrapWords(words, d === 2 ? Math.min(letters, 9) : letters);
    const text = { ...measureText(lines, title, "title", style), colour: colours[d] };
    const tries = [0, 1, 2, 3, 4, 5, 6, 7, 8].flatMap((more) =>
      [0, 0.15, -0.15, 0.3, -0.3].map((by) => {
        const off = far + computeReach(out, text) + 8 * more;
        return {
          ...text,
          x: at[0] + by * long * along[0] + off * out[0],
          y: at[1] + by * long * along[1] + off * out[1],
        };
      }),
    );
    const place = tries.find(free);
    if (place) found.push(place);
  }
  const over = result ? measureText([result], title, "note", style) : null;
  if (over) found.push(placeHeading(corners, over));
  if (heading) found.push(placeHeading(corners, measureText([heading], title, "heading", style), over?.h));
  if (blocks && blocks.origins.length <= NAMED_UP_TO)
    found.push(...placeBlockNames(blocks, project, tick, style, free));
  return found;
}

/**
 * Return a text over the middle of a box's picture, so far from it.
 * @param {Pixel[]} box
 * @param {Text} text
 * @returns {PlacedText}
 */
function placeHeading(box, text, far = 0) {
  const [[left, right], [top]] = findBounds(box);
  return { ...text, x: (left + right) / 2, y: top - ROOM / 2 - far - text.h / 2 };
}

/**
 * Return the names of all blocks in the longest form in which each has room, or none.
 * @param {Blocks} blocks
 * @param {Project} project
 * @param {number} size of the texts
 * @param {TextStyle} style
 * @param {(text: PlacedText) => boolean} free
 */
function placeBlockNames({ name, letter, origins, size: block }, project, size, style, free) {
  const boxes = origins.map((origin) => projectCorners(origin, block, project));
  for (const words of [name, `${letter} =`, ""]) {
    const texts = boxes.map((box, n) => placeHeading(box, measureText([`${words} ${n}`.trim()], size, "block", style)));
    const hasRoom = texts.every(
      (text, n) =>
        free(text) &&
        boxes.every((box, other) => other === n || !isOverBox(text, box)) &&
        texts.slice(n + 1).every((other) => areApart(text, other)),
    );
    if (hasRoom) return texts;
  }
  return [];
}

/**
 * Return the place of a text about a point of a cube, beside the cube or over it, with the end of its line to the point;
 * null where it has no room.
 * @param {string} words
 * @param {Pixel} point
 * @param {Pixel[]} corners of the cube
 * @param {{style: TextStyle, others: PlacedText[], width: number, height: number}} picture
 * @returns {Note | null}
 */
export function placeNote(words, point, corners, { style, others, width, height }) {
  const light = measureText([words], TITLE * style.larger, "note", style);
  const text = { ...light, w: BOLD * light.w };
  const [[left, right], [top]] = findBounds(corners);
  const off = text.w / 2 + LEADER;
  const [x, y] = point;
  const beside = [0, -40, 40, -80, 80].flatMap((by) => [
    [left - off, y + by],
    [right + off, y + by],
  ]);
  const over = [Math.min(Math.max(x, text.w / 2), width - text.w / 2), top - LEADER - text.h / 2];
  const free = [...beside, over]
    .map(([a, b]) => ({ ...text, x: a, y: b }))
    .filter((placed) => placed.x - text.w / 2 >= 0 && placed.x + text.w / 2 <= width)
    .filter((placed) => placed.y - text.h / 2 >= 0 && placed.y + text.h / 2 <= height)
    .filter((placed) => others.every((other) => areApart(placed, other)));
  /** @type {(placed: PlacedText) => number} */
  const far = (placed) => Math.hypot(placed.x - x, placed.y - y);
  const [nearest] = free.sort((one, other) => far(one) - far(other));
  if (!nearest) return null;
  const isOver = nearest.x === over[0];
  const from = isOver
    ? [nearest.x, nearest.y + text.h / 2]
    : [nearest.x + (Math.sign(x - nearest.x) * (text.w + ROOM)) / 2, nearest.y];
  return { text: nearest, from, to: point };
}

const make = (/** @type {string} */ name) => document.createElementNS("http://www.w3.org/2000/svg", name);

/** The texts over a picture, as SVG, with a line from a note to what it is about. */
export class Labels {
  /** @type {PlacedText[]} */
  texts = [];

  /** @param {Element} root */
  constructor(root) {
    this.line = make("line");
    this.root = make("g");
    root.append(this.line, this.root);
  }

  /**
   * Show texts, and a note of the colour of its line.
   * @param {PlacedText[]} written
   * @param {Note | null} [note]
   * @param {string} [colour]
   */
  show(written, note = null, colour = "") {
    const texts = note ? [...written, note.text] : written;
    this.texts = texts;
    this.line.setAttribute("visibility", note ? "visible" : "hidden");
    if (note) {
      const ends = { x1: note.from[0], y1: note.from[1], x2: note.to[0], y2: note.to[1], stroke: colour };
      for (const [name, value] of Object.entries(ends)) this.line.setAttribute(name, String(value));
    }
    const lines = texts.flatMap(({ lines, x, y, size, kind, colour = "" }) =>
      lines.map((line, n) => ({ line, x, y: y + (n - (lines.length - 1) / 2) * 1.2 * size, size, kind, colour })),
    );
    while (this.root.children.length > lines.length) this.root.lastChild?.remove();
    while (this.root.children.length < lines.length) {
      this.root.append(make("text"));
    }
    lines.forEach(({ line, x, y, size, kind, colour }, n) => {
      const text = this.root.children[n];
      if (text.textContent !== line) text.textContent = line;
      text.setAttribute("class", `nv-${kind}`);
      text.setAttribute("font-size", String(size));
      text.setAttribute("style", colour && `fill: ${colour}`);
      text.setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`);
    });
  }
}
