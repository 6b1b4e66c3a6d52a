// The tensor as flat pictures beside each other, x, x̂ and y: every example a row of maps, every channel a column of them.

import { find } from "./dom.js";
import { writeRange } from "./wording.js";

/** @import {Index, Range} from "./component.d.ts" */
/** @import { ElementData } from "./element.js" */
/** @import { Field, RangeWords } from "./wording.js" */

/** @typedef {[red: number, green: number, blue: number]} Colour */

/**
 * Where the maps of a picture stand.
 * @typedef {object} Layout
 * @property {Range[]} part the indices that are drawn of each axis
 * @property {number[]} roles which axis is drawn in the place of N, H, W and C
 * @property {number} cell pixels of a cell
 * @property {number} gap pixels between maps
 */

const ACROSS = 36;
const DOWN = 32;
const MAP = 128; // most cells along a side of a map, which may be an image
const TALL = 130;
const APART = 8;
const GAP = 2; // pixels: of a picture, between pictures, between maps
const LARGEST = 16; // pixels of a cell

/** @param {Range} range */
const countRange = ([lo, hi]) => hi - lo;

/**
 * Return the part of an axis to show around an index.
 * @param {number} i
 * @param {number} n length of the axis
 * @param {number} most length of the part
 * @returns {Range}
 */
function chooseAround(i, n, most) {
  const lo = Math.floor(i / most) * most;
  return [lo, Math.min(lo + most, n)];
}

/**
 * Return the part of a tensor that is shown around an element: as many whole maps as can be told apart.
 * @param {Index} index
 * @param {number[]} shape
 * @param {number[]} roles
 * @returns {Range[]}
 */
export function choosePart(index, shape, [n, h, w, c]) {
  /** @type {Range[]} */
  const part = [];
  for (const axis of [h, w]) part[axis] = chooseAround(index[axis], shape[axis], MAP);
  part[n] = chooseAround(index[n], shape[n], Math.max(1, Math.floor(DOWN / countRange(part[h]))));
  part[c] = chooseAround(index[c], shape[c], Math.max(1, Math.floor(ACROSS / countRange(part[w]))));
  return part;
}

/**
 * Return the layout of a part in a picture of this width; cells are whole pixels where they are a pixel or more.
 * @param {Range[]} part
 * @param {number[]} roles
 * @param {number} width in pixels
 * @returns {Layout}
 */
export function layOutPart(part, roles, width) {
  const [n, h, w, c] = roles.map((axis) => countRange(part[axis]));
  const gap = h * w > 1 ? GAP : 0;
  const across = (width - gap * (c - 1)) / (c * w);
  const down = (TALL - gap * (n - 1)) / (n * h);
  const cell = Math.min(across, down, LARGEST);
  return { part, roles, gap, cell: cell < 1 ? cell : Math.floor(cell) };
}

/**
 * Return the width and height of a picture in pixels.
 * @param {Layout} layout
 */
export function measurePart({ part, roles, cell, gap }) {
  const [n, h, w, c] = roles.map((axis) => countRange(part[axis]));
  return [Math.ceil(c * (w * cell + gap) - gap), Math.ceil(n * (h * cell + gap) - gap)];
}

/**
 * Return the path around a box of elements; adjacent maps in it are joined.
 * @param {Range[]} box
 * @param {Layout} layout
 */
export function drawOutline(box, { part, roles, cell, gap }) {
  const [n, h, w, c] = roles;
  /** @param {number} axis */
  const within = (axis) => {
    const [lo, hi] = part[axis];
    return box[axis].map((i) => Math.max(lo, Math.min(i, hi)) - lo);
  };
  /**
   * @param {number} outer
   * @param {number} inner
   */
  const runs = (outer, inner) => {
    const length = countRange(part[inner]) * cell;
    const step = length + gap;
    const [lo, hi] = within(outer);
    const [from, to] = within(inner).map((i) => i * cell);
    if (to - from === length) return [[lo * step, hi * step - gap]];
    return Array.from({ length: hi - lo }, (_, k) => [(lo + k) * step + from, (lo + k) * step + to]);
  };
  const across = runs(c, w);
  return runs(n, h)
    .flatMap(([top, bottom]) => across.map(([left, right]) => `M${left} ${top}H${right}V${bottom}H${left}Z`))
    .join("");
}

/**
 * Return the box of an element in the field of the lit statistic, or in its last field; the element alone without fields.
 * @param {Pick<Field, "part" | "bounds">[]} fields
 * @param {string | null} lit
 * @param {Index} index
 * @returns {Range[]}
 */
export function chooseBox(fields, lit, index) {
  const field = fields.find(({ part }) => part === lit) ?? fields.at(-1);
  return index.map((i, axis) => {
    const [lo, hi] = field?.bounds[axis][i] ?? [i, i + 1];
    return [lo, hi];
  });
}

/**
 * Return the words for the shown part of the tensor; "" if all of it is shown.
 * @param {Range[]} part
 * @param {number[]} shape
 * @param {(RangeWords | null)[]} ranges
 * @param {string} template
 */
export function writePart(part, shape, ranges, template) {
  const cut = part.flatMap(([lo, hi], axis) => {
    const words = ranges[axis];
    return words && hi - lo < shape[axis] ? [writeRange(words[hi - lo > 1 ? 2 : 1], lo, hi)] : [];
  });
  return cut.length ? ` ${template.replace("{}", cut.join(", "))}` : "";
}

/**
 * Return the colour of a value: from the middle towards low or high; that of gaps where it is not finite.
 * @param {number} value
 * @param {number} largest the value of the strongest colour
 * @param {Record<string, Colour>} colours low, middle, high and gaps
 */
export function colourValue(value, largest, { low, middle, high, gaps }) {
  if (!Number.isFinite(value)) return gaps;
  const end = value < 0 ? low : high;
  const share = Math.min(Math.abs(value / largest), 1);
  return middle.map((from, k) => from + (end[k] - from) * share);
}

/**
 * @param {string} hex
 * @returns {Colour}
 */
export function parseColour(hex) {
  const [red, green, blue] = [1, 3, 5].map((at) => Number.parseInt(hex.slice(at, at + 2), 16));
  return [red, green, blue];
}

/** The flat pictures of a tensor. */
export class Strip {
  /** @type {Index | null} */
  index = null;
  /** @type {string | null} the lit statistic */
  lit = null;
  /** @type {Layout | null} null where the pictures are to be drawn again */
  layout = null;
  markup = "";
  width = 0;

  /**
   * @param {HTMLElement} root
   * @param {ElementData} data
   */
  constructor(root, data) {
    this.root = root;
    this.data = data;
    new ResizeObserver(() => {
      if (!this.index || this.width === root.clientWidth) return;
      this.layout = null;
      this.mark(this.index);
    }).observe(root);
    root.closest("details")?.addEventListener("toggle", () => this.index && this.mark(this.index));
  }

  /** @param {ElementData} data */
  take(data) {
    this.data = data;
    this.root.hidden = !data.pictures.length;
    const markup = data.pictures
      .map(
        ({ title }, k, all) => `<div><canvas role="img" aria-label="${title}, a flat picture"></canvas>
      <svg aria-hidden="true"><path class="field"/><path class="one"/></svg><span>${title}${k < all.length - 1 ? " →" : ""}</span></div>`,
      )
      .join("");
    if (this.markup !== markup) {
      this.markup = markup;
      this.root.innerHTML = `<div class="nv-pictures">${markup}</div><figcaption></figcaption>`;
    }
    this.layout = null;
  }

  /**
   * Mark the field of a statistic.
   * @param {string | null} part
   */
  light(part) {
    this.lit = part;
    if (this.index) this.mark(this.index);
  }

  /**
   * Mark an element and its field, in the part of the tensor in which it is. Closed details are filled once opened.
   * @param {Index} index
   */
  mark(index) {
    this.index = index;
    const { pictures, shape, roles, fields } = this.data;
    if (!pictures.length || this.root.closest("details:not([open])")) return;
    const part = choosePart(index, shape, roles);
    const drawn = this.layout;
    const layout = drawn && String(drawn.part) === String(part) ? drawn : this.draw(part);
    /** @type {Range[]} */
    const one = index.map((i) => [i, i + 1]);
    const paths = [chooseBox(fields, this.lit, index), one].map((box) => drawOutline(box, layout));
    for (const svg of this.root.querySelectorAll("svg")) {
      [...svg.children].forEach((path, k) => {
        path.setAttribute("d", paths[k]);
      });
    }
  }

  /**
   * Draw a part of the tensor, and return its layout.
   * @param {Range[]} part
   */
  draw(part) {
    this.width = this.root.clientWidth;
    const { roles, pictures, words, ranges, caption, shape } = this.data;
    const layout = layOutPart(part, roles, (this.width - APART * (pictures.length - 1)) / pictures.length);
    this.layout = layout;
    const size = measurePart(layout);
    const density = Math.max(1, Math.round(window.devicePixelRatio));
    const outlines = this.root.querySelectorAll("svg");
    this.root.querySelectorAll("canvas").forEach((canvas, k) => {
      [canvas.width, canvas.height] = size.map((pixels) => pixels * density);
      [canvas.style.width, canvas.style.height] = size.map((pixels) => `${pixels}px`);
      outlines[k].setAttribute("viewBox", `0 0 ${size.join(" ")}`);
      outlines[k].style.height = `${size[1]}px`;
      this.paint(canvas, layout, density, pictures[k]);
    });
    find(this.root, "figcaption", HTMLElement).textContent = caption + writePart(part, shape, ranges, words.cut);
    return layout;
  }

  /**
   * Paint all maps of a picture.
   * @param {HTMLCanvasElement} canvas
   * @param {Layout} layout
   * @param {number} density pixels of the canvas in one of the page
   * @param {ElementData["pictures"][number]} picture
   */
  paint(canvas, { part, roles, cell, gap }, density, picture) {
    const surface = canvas.getContext("2d");
    if (!surface) return;
    surface.imageSmoothingEnabled = false;
    const [n, h, w, c] = roles;
    const [width, height] = [w, h].map((axis) => countRange(part[axis]) * cell);
    for (let i = 0; i < countRange(part[n]); i++)
      for (let j = 0; j < countRange(part[c]); j++) {
        surface.drawImage(
          this.paintMap(picture, part, part[n][0] + i, part[c][0] + j),
          j * (width + gap) * density,
          i * (height + gap) * density,
          width * density,
          height * density,
        );
      }
  }

  /**
   * Paint one map of a picture, a pixel a cell.
   * @param {ElementData["pictures"][number]} picture
   * @param {Range[]} part
   * @param {number} i index along N
   * @param {number} j index along C
   */
  paintMap({ name, largest }, part, i, j) {
    const { shape, roles, numbers } = this.data;
    const [n, h, w, c] = roles;
    const { values } = numbers[name];
    const colours = Object.fromEntries(
      ["low", "middle", "high", "gaps"].map((role) => [role, parseColour(this.data.colours[role])]),
    );
    /** @type {Index} */
    const index = [];
    [index[n], index[c], index[h], index[w]] = [i, j, part[h][0], part[w][0]];
    const steps = shape.map((_, axis) => shape.slice(axis + 1).reduce((product, length) => product * length, 1));
    const first = index.reduce((sum, at, axis) => sum + at * steps[axis], 0);
    const canvas = new OffscreenCanvas(countRange(part[w]), countRange(part[h]));
    const image = new ImageData(canvas.width, canvas.height);
    for (let row = 0; row < canvas.height; row++)
      for (let column = 0; column < canvas.width; column++) {
        const colour = colourValue(values[first + row * steps[h] + column * steps[w]], largest, colours);
        image.data.set([...colour, 255], 4 * (row * canvas.width + column));
      }
    canvas.getContext("2d")?.putImageData(image, 0, 0);
    return canvas;
  }
}
