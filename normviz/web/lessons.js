// The entry of the lessons without a server: it shows the step that the address names, "#lesson/step/answer", and the
// step's picture, which another file of the folder holds.

import { unpackMessage } from "./data.js";
import { find, findClosest, makeElement } from "./dom.js";
import { Plot } from "./plot.js";
import { default as drawTwins } from "./twins.js";

/** @import {PlotMessage} from "./messages.d.ts" */

/**
 * A part of a picture; normviz/classroom/site/step_parts.py says what it holds.
 * @typedef {object} Part
 * @property {string} component
 * @property {string} name
 * @property {Uint8Array | string} light
 * @property {Uint8Array | string} dark
 */

const PLOTLY_FILE = "plotly.js";
const dark = matchMedia("(prefers-color-scheme: dark)");
const board = find(document, "#picture", HTMLElement);

/** @type {Map<string, Promise<Uint8Array>>} */
const files = new Map();
/** @type {Map<string, (content: string) => void>} */
const takers = new Map();
Object.assign(window, {
  /**
   * Take the content of a file of the folder, which calls this.
   * @param {string} path
   * @param {string} content
   */
  keepContent: (path, content) => takers.get(path)?.(content),
});

/**
 * Return bytes from the base64 of their gzip.
 * @param {string} content
 */
async function inflate(content) {
  const packed = Uint8Array.from(atob(content), (c) => c.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * Return the content of a file of the folder; it is a script, since a page that is opened as a file may not read others.
 * @param {string} path
 * @returns {Promise<Uint8Array>}
 */
function loadFile(path) {
  const loaded = files.get(path);
  if (loaded) return loaded;
  /** @type {Promise<string>} */
  const content = new Promise((resolve, reject) => {
    takers.set(path, resolve);
    document.head.append(makeElement("script", { src: path, onerror: () => reject(new Error(path)) }));
  });
  const bytes = content.then(inflate);
  files.set(path, bytes);
  bytes.catch(() => files.delete(path));
  return bytes;
}

/** @type {Promise<void> | undefined} */
let library;

/** Run plotly.js, once. */
function runLibrary() {
  library ??= loadFile(PLOTLY_FILE).then((bytes) => {
    document.head.append(makeElement("script", { text: new TextDecoder().decode(bytes) }));
  });
  return library;
}

/** @type {Map<string, HTMLElement>} */
const slots = new Map();
/** @type {WeakMap<HTMLElement, Plot>} */
const plots = new WeakMap();
let turn = 0;

/**
 * Return the element of a part, made at its first picture.
 * @param {Part} part
 */
function openSlot({ component, name }) {
  const made = slots.get(name);
  if (made) return made;
  const slot = makeElement("div", { className: component });
  slot.dataset.name = name;
  if (component !== "words") slot.append(find(document, `#${component}`, HTMLTemplateElement).content.cloneNode(true));
  slots.set(name, slot);
  return slot;
}

/**
 * Draw a part in its element.
 * @param {HTMLElement} slot
 * @param {Part} part
 */
async function drawPart(slot, part) {
  const content = part[dark.matches ? "dark" : "light"];
  if (typeof content === "string") {
    slot.innerHTML = content;
  } else if (part.component === "plot") {
    /** @type {PlotMessage} */
    const message = unpackMessage(content);
    const plot = plots.get(slot) ?? new Plot(find(slot, ".nv-plot", HTMLElement), message, () => {});
    plots.set(slot, plot);
    await plot.update(message, () => {});
  } else {
    const data = new Uint8Array(8 + content.length);
    new DataView(data.buffer).setFloat64(0, ++turn, true);
    data.set(content, 8);
    drawTwins({ data, parentElement: slot, setStateValue: () => {}, setTriggerValue: () => {} });
  }
}

let shown = "";

/**
 * Show the picture of a file; "" for none.
 * @param {string} path
 */
async function showPicture(path) {
  shown = path;
  board.dataset.drawing = "";
  /** @type {Part[]} */
  let parts = [];
  try {
    const [bytes] = path ? await Promise.all([loadFile(path), runLibrary()]) : [];
    if (bytes) parts = unpackMessage(bytes);
  } catch (error) {
    board.textContent = `${board.dataset.missing} ${error instanceof Error ? error.message : error}`;
    slots.clear();
    return;
  }
  if (shown !== path) return; // another step was opened meanwhile
  const here = parts.map(openSlot);
  for (const slot of slots.values()) slot.hidden = !here.includes(slot);
  here.forEach((slot, k) => {
    slot.style.order = String(k);
    if (!slot.isConnected) board.append(slot);
  });
  for (const [k, slot] of here.entries()) await drawPart(slot, parts[k]);
  if (shown === path) delete board.dataset.drawing;
}

/** Return the step that the address names, null for the list, and the chosen answer. */
function readPlace() {
  const [key, step, answer] = location.hash.slice(1).split("/");
  return { section: document.getElementById(`${key}/${step}`), answer: answer ?? "" };
}

/** @type {HTMLElement | null} */
let before = null;

/** Show what the address names. */
function show() {
  const { section, answer } = readPlace();
  document.documentElement.classList.toggle("at-step", section !== null);
  before?.classList.remove("shown");
  section?.classList.add("shown");
  if (section !== before) {
    scrollTo(0, 0);
    if (section) find(section, "h2", HTMLElement).focus({ preventScroll: true });
  }
  before = section;
  document.title = find(section ?? document, "h1", HTMLElement).textContent ?? "";
  if (!section) {
    showPicture("");
    return;
  }
  const chosen = section.querySelector(`[data-reason="${CSS.escape(answer)}"]`);
  section.classList.toggle("answered", chosen !== null);
  for (const button of section.querySelectorAll("button"))
    button.setAttribute("aria-pressed", String(button.dataset.answer === answer));
  for (const reason of section.querySelectorAll("[data-reason]")) reason.toggleAttribute("hidden", reason !== chosen);
  const { picture = "", reveal = "" } = section.dataset;
  showPicture(chosen ? reveal : picture);
  if (reveal) loadFile(reveal).catch(() => {}); // so that the answer is there at once
}

/** @param {MouseEvent} event */
document.onclick = (event) => {
  const button = findClosest(event, "[data-answer]");
  if (!button || !before) return;
  location.replace(`#${before.id}/${button.dataset.answer}`);
};

/** @param {KeyboardEvent} event */
document.onkeydown = (event) => {
  if (!before || event.ctrlKey || event.metaKey || event.altKey || findClosest(event, "input, #picture")) return;
  const pressed = { n: ".next", ArrowRight: ".next", b: ".back", ArrowLeft: ".back" }[event.key];
  const target = before.querySelector(pressed ?? `[data-answer="${CSS.escape(event.key)}"]`);
  if (!(target instanceof HTMLElement)) return;
  event.preventDefault();
  target.click();
};

document.documentElement.classList.add("plays");
window.addEventListener("hashchange", show);
dark.onchange = () => showPicture(shown);
show();
