// Pictures beside each other, of one canvas pixel a number. A click, a tap or the arrow keys pick a pixel.

import { countDrawing, find } from "./dom.js";
import { mount } from "./mount.js";
import { addSaveMenu, createSvgFile } from "./saving.js";

/** @import {Numbers, SetValue} from "./component.d.ts" */

/**
 * What `picture` of normviz/web/components/picture.py sends.
 * @typedef {object} PictureData
 * @property {string} name
 * @property {string} alt the picture in a sentence
 * @property {string[]} names of the images
 * @property {string[]} notes below the names
 * @property {Numbers[]} images up to three: one or three numbers of 8 bits for each pixel, row by row
 * @property {[number, number]} shape height and width
 * @property {Pixel} focus
 * @property {[number, number]} reach rows and columns to each side of the focus inside the rectangle
 * @property {string} colour of the ring and the rectangle
 */

/** @typedef {[number, number]} Pixel row and column */

const SAVED = 1024; // pixels of a saved picture's longer side, or as many as it has
const GAP = 32; // pixels between saved pictures
const PAUSE = 250; // ms without another arrow key before a pixel is picked

/**
 * @param {Pixel} a
 * @param {Pixel} b
 */
const same = (a, b) => a[0] === b[0] && a[1] === b[1];

/**
 * @param {number} n
 * @param {number} low
 * @param {number} high
 */
const clamp = (n, low, high) => Math.min(Math.max(n, low), high);

/**
 * Return the pixel at fractions of a picture's height and width, clipped to the picture.
 * @param {number} down
 * @param {number} across
 * @param {[number, number]} shape
 * @returns {Pixel}
 */
export function findPixel(down, across, [height, width]) {
  return [clamp(Math.floor(down * height), 0, height - 1), clamp(Math.floor(across * width), 0, width - 1)];
}

/**
 * Return the neighbour of a pixel in the direction of an arrow key, the pixel itself at an edge; null for other keys.
 * @param {Pixel} focus
 * @param {string} key
 * @param {[number, number]} shape
 * @returns {Pixel | null}
 */
export function movePixel([row, column], key, [height, width]) {
  const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[key];
  return move ? [clamp(row + move[0], 0, height - 1), clamp(column + move[1], 0, width - 1)] : null;
}

/**
 * Return red, green, blue and opacity of every pixel.
 * @param {Numbers} image one number for each pixel, a grey, or three
 * @param {number} pixels
 */
export function colourPixels(image, pixels) {
  const channels = image.length / pixels;
  const colours = new Uint8ClampedArray(4 * pixels);
  for (let pixel = 0; pixel < pixels; pixel++) {
    for (let c = 0; c < 3; c++) colours[4 * pixel + c] = image[pixel * channels + (channels === 3 ? c : 0)];
    colours[4 * pixel + 3] = 255;
  }
  return colours;
}

class Picture {
  /** @type {Pixel[]} */
  pending = []; // sent and not yet echoed by the server
  timer = 0; // until the pixel is picked that the arrow keys have led to; 0 while there is none

  /**
   * @param {HTMLElement} root
   * @param {PictureData} data
   * @param {SetValue} setStateValue
   */
  constructor(root, data, setStateValue) {
    this.root = root;
    this.data = data;
    this.setStateValue = setStateValue;
    this.focus = data.focus;
    /** @param {string} selector */
    const part = (selector) => find(root, selector, HTMLElement);
    this.view = part(".view");
    this.frame = part(".frame");
    this.live = part(".live");
    this.figures = [...root.querySelectorAll("figure")];
    addSaveMenu(
      this.frame,
      () => this.data,
      (/** @type {string} */ format, /** @type {string} */ alt) => this.file(format, alt),
    );
    this.listen();
  }

  /**
   * @param {PictureData} data
   * @param {SetValue} setStateValue
   */
  update(data, setStateValue) {
    this.data = data;
    this.setStateValue = setStateValue;
    const [height, width] = data.shape;
    this.root.style.setProperty("--ratio", String(width / height));
    this.root.style.setProperty("--ring", data.colour);
    this.view.setAttribute("aria-label", data.alt);
    this.figures.forEach((figure, k) => {
      figure.hidden = k >= data.images.length;
      if (figure.hidden) return;
      paint(find(figure, "canvas", HTMLCanvasElement), data.images[k], height, width);
      find(figure, "span", HTMLElement).textContent = data.names[k];
      find(figure, "b", HTMLElement).textContent = data.notes[k];
      find(figure, ".ring", HTMLElement).hidden = k !== data.images.length - 2;
      find(figure, ".window", HTMLElement).hidden = k !== data.images.length - 2;
    });
    const echo = this.pending.findIndex((sent) => same(sent, data.focus));
    this.pending = echo < 0 ? [] : this.pending.slice(echo + 1);
    if (!this.pending.length && !this.timer) this.put(data.focus); // else a newer one is on its way
    countDrawing(this.root);
  }

  /**
   * Draw ring and rectangle around a pixel.
   * @param {Pixel} focus
   */
  put(focus) {
    this.focus = focus;
    const { shape, reach } = this.data;
    for (const [k, axis] of ["row", "column"].entries()) {
      const [low, high] = [Math.max(focus[k] - reach[k], 0), Math.min(focus[k] + reach[k] + 1, shape[k])];
      const places = { at: focus[k] + 0.5, from: low, size: high - low };
      for (const [name, place] of Object.entries(places)) {
        this.view.style.setProperty(`--${axis}-${name}`, `${(place / shape[k]) * 100}%`);
      }
    }
  }

  /**
   * Select a pixel and send it to the server.
   * @param {Pixel} focus
   */
  pick(focus) {
    clearTimeout(this.timer);
    this.timer = 0;
    this.put(focus);
    this.live.textContent = `row ${focus[0]}, column ${focus[1]}`;
    if (same(focus, this.pending.at(-1) ?? this.data.focus)) return;
    this.pending.push(focus);
    this.setStateValue("focus", focus);
  }

  /**
   * Return the pictures beside each other as a file, every number a square.
   * @param {string} format "png" or "svg"
   * @param {string} alt
   */
  async file(format, alt) {
    const scale = Math.ceil(SAVED / Math.max(...this.data.shape));
    const [height, wide] = this.data.shape.map((n) => n * scale);
    const shown = this.figures.filter((figure) => !figure.hidden);
    const width = shown.length * wide + (shown.length - 1) * GAP;
    const canvas = new OffscreenCanvas(width, height);
    const surface = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    surface.imageSmoothingEnabled = false;
    shown.forEach((figure, k) => {
      surface.drawImage(find(figure, "canvas", HTMLCanvasElement), k * (wide + GAP), 0, wide, height);
    });
    const file = await canvas.convertToBlob();
    if (format === "png") return file;
    const url = await new Promise((resolve) => {
      const reader = new FileReader();
      reader.onload = () => resolve(reader.result);
      reader.readAsDataURL(file);
    });
    return createSvgFile(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><image href="${url}" ` +
        `width="${width}" height="${height}"/></svg>`,
      alt,
    );
  }

  listen() {
    this.view.onclick = ({ target, clientX, clientY }) => {
      if (!(target instanceof HTMLCanvasElement)) return;
      const { left, top, width, height } = target.getBoundingClientRect();
      this.pick(findPixel((clientY - top) / height, (clientX - left) / width, this.data.shape));
    };
    this.view.onkeydown = (event) => {
      const focus = movePixel(this.focus, event.key, this.data.shape);
      if (!focus) return;
      event.preventDefault();
      this.put(focus);
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.pick(this.focus), PAUSE);
    };
  }
}

/**
 * @param {HTMLCanvasElement} canvas
 * @param {Numbers} image
 * @param {number} height
 * @param {number} width
 */
function paint(canvas, image, height, width) {
  [canvas.height, canvas.width] = [height, width];
  canvas.getContext("2d")?.putImageData(new ImageData(colourPixels(image, height * width), width), 0, 0);
}

export default mount(".nv-picture", Picture);
