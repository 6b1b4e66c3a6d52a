// Two pictures on each other, of one canvas pixel a number; the second shows right of a handle. A click, a tap or the
// arrow keys pick a pixel. Wiping is the browser's own: the server knows nothing of it.

import { countDrawing, find } from "./dom.js";
import { mount } from "./mount.js";
import { addSaveMenu, createSvgFile } from "./saving.js";

/** @import {Numbers, SetValue} from "./component.d.ts" */

/**
 * What `picture` of normviz/web/components/picture.py sends.
 *
 * @typedef {object} PictureData
 * @property {string} name
 * @property {string} alt the picture in a sentence
 * @property {string[]} names of the images
 * @property {Numbers[]} images two: one or three numbers of 8 bits for each pixel, row by row
 * @property {[number, number]} shape height and width
 * @property {Pixel} focus
 * @property {string} colour of the ring around the focus; "" for no ring
 */

/** @typedef {[number, number]} Pixel row and column */

const SAVED = 1024; // pixels of a saved picture's longer side, or as many as it has
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
 *
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
 *
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
 * Return the new position of the handle after a key; undefined for other keys.
 *
 * @param {number} split percent of the width
 * @param {string} key
 */
export function moveHandle(split, key) {
  const to = {
    ArrowLeft: split - 2,
    ArrowDown: split - 2,
    ArrowRight: split + 2,
    ArrowUp: split + 2,
    PageDown: split - 10,
    PageUp: split + 10,
    Home: 0,
    End: 100,
  }[key];
  return to === undefined ? undefined : clamp(to, 0, 100);
}

/**
 * Return red, green, blue and opacity of every pixel.
 *
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
  split = 75; // percent of the width at which the handle is
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
    this.ring = part(".ring");
    this.line = part(".line");
    this.grip = part(".grip");
    this.frame = part(".frame");
    this.live = part(".live");
    this.canvases = [...root.querySelectorAll("canvas")];
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
    this.ring.hidden = !data.colour;
    this.view.setAttribute("aria-label", data.alt);
    data.images.forEach((image, k) => {
      paint(this.canvases[k], image, height, width);
    });
    this.root.querySelectorAll(".grip span").forEach((name, k) => {
      name.textContent = data.names[k];
    });
    const echo = this.pending.findIndex((sent) => same(sent, data.focus));
    this.pending = echo < 0 ? [] : this.pending.slice(echo + 1);
    if (!this.pending.length && !this.timer) this.put(data.focus); // else a newer one is on its way
    this.wipe(this.split);
    countDrawing(this.root);
  }

  /**
   * Draw the ring around a pixel.
   *
   * @param {Pixel} focus
   */
  put(focus) {
    const [height, width] = this.data.shape;
    const [row, column] = focus;
    this.focus = focus;
    this.ring.style.top = `${((row + 0.5) / height) * 100}%`;
    this.ring.style.left = `${((column + 0.5) / width) * 100}%`;
  }

  /**
   * Select a pixel and send it to the server.
   *
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
   * Move the handle.
   *
   * @param {number} split percent of the width
   */
  wipe(split) {
    this.split = clamp(split, 0, 100);
    const at = `${this.split}%`;
    const [before, after] = this.data.names;
    this.canvases[1].style.clipPath = `inset(0 0 0 ${at})`;
    this.line.style.left = at;
    this.grip.style.left = `clamp(5.5rem, ${at}, calc(100% - 5.5rem))`; // inside the frame also at its ends
    this.grip.setAttribute("aria-valuenow", String(Math.round(this.split)));
    this.grip.setAttribute("aria-valuetext", `${Math.round(this.split)} % ${before}, the rest ${after}`);
  }

  /**
   * Return the picture with the current wipe as a file, every number a square.
   *
   * @param {string} format "png" or "svg"
   * @param {string} alt
   */
  async file(format, alt) {
    const scale = Math.ceil(SAVED / Math.max(...this.data.shape));
    const [height, width] = this.data.shape.map((n) => n * scale);
    const canvas = new OffscreenCanvas(width, height);
    const surface = /** @type {OffscreenCanvasRenderingContext2D} */ (canvas.getContext("2d"));
    surface.imageSmoothingEnabled = false;
    const at = (width * this.split) / 100;
    this.canvases.forEach((picture, k) => {
      if (k) surface.rect(at, 0, width - at, height);
      if (k) surface.clip();
      surface.drawImage(picture, 0, 0, width, height);
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
    this.view.onclick = ({ clientX, clientY }) => {
      const { left, top, width, height } = this.view.getBoundingClientRect();
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
    /** @param {PointerEvent} event */
    const drag = ({ clientX }) => {
      const box = this.frame.getBoundingClientRect();
      this.wipe(((clientX - box.left) / box.width) * 100);
    };
    this.grip.onpointerdown = (event) => {
      this.grip.setPointerCapture(event.pointerId);
      this.grip.onpointermove = drag;
    };
    this.grip.onlostpointercapture = () => {
      this.grip.onpointermove = null;
    };
    this.grip.onkeydown = (event) => {
      const to = moveHandle(this.split, event.key);
      if (to === undefined) return;
      event.preventDefault();
      this.wipe(to);
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
