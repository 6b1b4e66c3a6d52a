// A picture of one canvas pixel a number, or two on each other, of which the second shows right of a handle. A click, a
// tap or the arrow keys pick a pixel. Wiping is the browser's own: the server knows nothing of it.

import { latest } from "./data.js";
import { drawing, saver } from "./saving.js";

const pictures = new WeakMap();
const same = (a, b) => a[0] === b[0] && a[1] === b[1];
const within = (n, low, high) => Math.min(Math.max(n, low), high);
const SAVED = 1024; // pixels of a saved picture's longer side, or as many as it has
const GRIP =
  '<svg viewBox="0 0 24 24" width="24" height="24" aria-hidden="true"><path d="M9 5l-7 7 7 7zM15 5l7 7-7 7z" ' +
  'fill="currentColor"/></svg>';

class Picture {
  constructor(root) {
    this.root = root;
    this.split = 50; // percent of the width at which the handle is
    this.pending = []; // pixels sent and not yet echoed by the server
    const part = (name) => root.querySelector(name);
    [this.view, this.ring, this.line, this.grip] = [".view", ".ring", ".line", ".grip"].map(part);
    [this.frame, this.live] = [".frame", ".live"].map(part);
    this.canvases = [...root.querySelectorAll("canvas")];
    this.grip.innerHTML = GRIP;
    saver(
      this.frame,
      () => this.data,
      (format, alt) => this.file(format, alt),
    );
    this.listen();
  }

  update({ data, setStateValue }) {
    this.data = data;
    this.setStateValue = setStateValue;
    const [height, width] = data.shape;
    const two = data.images.length > 1;
    this.root.style.setProperty("--ratio", width / height);
    this.root.style.setProperty("--ring", data.colour);
    this.view.setAttribute("aria-label", data.alt);
    for (const [k, image] of data.images.entries()) paint(this.canvases[k], image, height, width);
    this.root.querySelectorAll(".names span").forEach((name, k) => {
      name.textContent = data.names[k] ?? "";
    });
    for (const part of [this.canvases[1], this.line, this.grip]) part.hidden = !two;
    const echo = this.pending.findIndex((sent) => same(sent, data.focus));
    this.pending = echo < 0 ? [] : this.pending.slice(echo + 1);
    if (!this.pending.length && !this.timer) this.put(data.focus); // else a newer one is on its way
    this.wipe(this.split);
    this.root.dataset.drawn = Number(this.root.dataset.drawn ?? 0) + 1;
  }

  // The ring around a pixel.
  put([row, column]) {
    const [height, width] = this.data.shape;
    this.focus = [row, column];
    this.ring.style.top = `${((row + 0.5) / height) * 100}%`;
    this.ring.style.left = `${((column + 0.5) / width) * 100}%`;
  }

  pick(focus) {
    clearTimeout(this.timer);
    this.timer = null;
    this.put(focus);
    this.live.textContent = `row ${focus[0]}, column ${focus[1]}`;
    if (same(focus, this.pending.at(-1) ?? this.data.focus)) return;
    this.pending.push(focus);
    this.setStateValue("focus", focus);
  }

  wipe(split) {
    this.split = within(split, 0, 100);
    const at = `${this.split}%`;
    const [before, after] = this.data.names;
    this.canvases[1].style.clipPath = `inset(0 0 0 ${at})`;
    this.line.style.left = at;
    this.grip.style.left = at;
    this.grip.style.transform = `translateX(-${at})`; // inside the frame also at its ends
    this.grip.setAttribute("aria-valuenow", Math.round(this.split));
    this.grip.setAttribute("aria-valuetext", `${Math.round(this.split)} % ${before}, the rest ${after}`);
  }

  // As it is wiped now, every number a square.
  async file(format, alt) {
    const scale = Math.ceil(SAVED / Math.max(...this.data.shape));
    const [height, width] = this.data.shape.map((n) => n * scale);
    const canvas = new OffscreenCanvas(width, height);
    const surface = canvas.getContext("2d");
    surface.imageSmoothingEnabled = false;
    const at = (width * this.split) / 100;
    this.canvases
      .filter(({ hidden }) => !hidden)
      .forEach((picture, k) => {
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
    return drawing(
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}"><image href="${url}" ` +
        `width="${width}" height="${height}"/></svg>`,
      alt,
    );
  }

  listen() {
    this.view.onclick = (event) => {
      const [height, width] = this.data.shape;
      const box = this.view.getBoundingClientRect();
      const row = Math.floor(((event.clientY - box.top) / box.height) * height);
      const column = Math.floor(((event.clientX - box.left) / box.width) * width);
      this.pick([within(row, 0, height - 1), within(column, 0, width - 1)]);
    };
    this.view.onkeydown = (event) => {
      const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
      if (!move) return;
      event.preventDefault();
      this.put(this.focus.map((at, axis) => within(at + move[axis], 0, this.data.shape[axis] - 1)));
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.pick(this.focus), 250);
    };
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
      const to = {
        ArrowLeft: this.split - 2,
        ArrowDown: this.split - 2,
        ArrowRight: this.split + 2,
        ArrowUp: this.split + 2,
        PageDown: this.split - 10,
        PageUp: this.split + 10,
        Home: 0,
        End: 100,
      }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      this.wipe(to);
    };
  }
}

function paint(canvas, image, height, width) {
  const channels = image.length / (height * width);
  const shown = new ImageData(width, height);
  for (let pixel = 0; pixel < height * width; pixel++) {
    for (let c = 0; c < 3; c++) shown.data[4 * pixel + c] = image[pixel * channels + (channels === 3 ? c : 0)];
    shown.data[4 * pixel + 3] = 255;
  }
  [canvas.height, canvas.width] = [height, width];
  canvas.getContext("2d").putImageData(shown, 0, 0);
}

export default function ({ data: sent, parentElement, setStateValue }) {
  const root = parentElement.querySelector(".nv-picture");
  const data = latest(root, sent);
  if (!data) return;
  if (!pictures.has(root)) pictures.set(root, new Picture(root));
  pictures.get(root).update({ data, setStateValue });
}
