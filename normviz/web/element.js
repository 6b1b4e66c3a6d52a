// One element of a tensor in words and numbers: the one that the cube shows, which tells by "nv-element".

import { countDrawing, find, findClosest } from "./dom.js";
import { listenToEvent, sendEvent } from "./linked.js";
import { mount } from "./mount.js";
import { Strip } from "./strip.js";
import { readForm, writeField, writeNumber } from "./wording.js";

/** @import {Index, SetValue, Statistic} from "./component.d.ts" */
/** @import { Field, RangeWords } from "./wording.js" */

/**
 * What `beside_data` of normviz/topics/lab/element_data.py sends; everything can be said of any element.
 * @typedef {object} ElementData
 * @property {Index} focus the locked element
 * @property {number[]} shape of the tensor
 * @property {number[]} roles which axis is drawn in the place of N, H, W and C
 * @property {[letter: string, last: number][]} axes
 * @property {Field[]} fields
 * @property {string} says what is shared in all, as HTML
 * @property {Record<string, string>} words how the words for a field are put together
 * @property {(RangeWords | null)[]} ranges the words for a part of each axis
 * @property {Formula[]} statistics
 * @property {Formula[]} lines
 * @property {string} note on the letters of the formulas
 * @property {Record<string, Statistic>} numbers by their names in the formulas
 * @property {{name: string, title: string, largest: number}[]} pictures
 * @property {string} caption of the pictures
 * @property {Record<string, string>} colours by role
 */

/** @typedef {{name: string, forms: string[][]}} Formula each form in the sides of its equations, as MathML */
/** @typedef {{pointed: string | null, focused: string | null, pressed: string | null}} Lights what is to be lit */

/** @param {string[][]} forms */
const drawForms = (forms) =>
  forms
    .map((sides) => `<span>${sides.map((side) => `<math displaystyle="true">${side}</math>`).join(" ")}</span>`)
    .join("");

/** @param {Field} field */
const drawField = ({ part, what }) => `<p${part ? ` data-part="${part}"` : ""}><b></b>${what ? ` – ${what}` : ""}.</p>`;

/**
 * @param {[string, number]} axis its letter and its last index
 * @param {number} k
 */
const drawIndex = ([letter, last], k) =>
  `<label>${letter}<input type="number" inputmode="numeric" min="0" max="${last}" data-axis="${k}"
    aria-label="${letter}" title="0 to ${last}"></label>`;

/**
 * Return a statistic; as a button that highlights its field if there are two fields.
 * @param {Formula} formula
 * @param {boolean} isLit whether there is another field to be lit
 */
const drawStatistic = ({ name, forms }, isLit) =>
  isLit
    ? `<button type="button" data-part="${name}" aria-pressed="false" title="Lights its elements in the cube">${drawForms(
        forms,
      )}</button>`
    : `<div data-part="${name}">${drawForms(forms)}</div>`;

/** @param {Formula} formula */
const drawLine = ({ name, forms }) => `<div class="nv-line st-key-line-${name}">${drawForms(forms)}</div>`;

/** The panel of an element; it follows the cube's highlight and controls it. */
class ElementPanel {
  /** @type {Lights} */
  lights = { pointed: null, focused: null, pressed: null };
  /** @type {Map<HTMLElement, string>} the markup of each part */
  built = new Map();
  /** @type {Index | null} the element that the cube has shown last */
  heard = null;
  width = 0;

  /**
   * @param {HTMLElement} root
   * @param {ElementData} data
   * @param {SetValue} setStateValue
   */
  constructor(root, data, setStateValue) {
    this.root = root;
    this.data = data;
    this.setStateValue = setStateValue;
    this.lock = data.focus;
    this.where = find(root, ".nv-where", HTMLElement);
    this.indices = find(root, ".nv-indices", HTMLElement);
    this.statistics = find(root, ".nv-statistics", HTMLElement);
    this.lines = find(root, ".nv-lines", HTMLElement);
    this.strip = new Strip(find(root, ".nv-strip", HTMLElement), data);
    // A line that wrapped for one element keeps its height for the next, so that the content below does not jump.
    this.heights = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (!(target instanceof HTMLElement)) continue;
        if (this.width !== root.clientWidth) target.style.minHeight = "";
        target.style.minHeight = `${target.offsetHeight}px`;
      }
      this.width = root.clientWidth;
    });
    listenToEvent(root, "nv-element", ({ index, by }) => {
      this.heard = index;
      if (by === "lock") this.lock = index;
      this.show();
    });
    this.listen();
  }

  // What the pointer is on, what has the keyboard's focus, and what was pressed, until it is pressed again.
  listen() {
    /** @param {Event} event */
    const part = (event) => findClosest(event, "[data-part]")?.dataset.part ?? null;
    /** @param {Event} event */
    const byKeyboard = ({ target }) => target instanceof Element && target.matches(":focus-visible");
    const { root } = this;
    root.addEventListener("pointerover", (e) => e.pointerType !== "touch" && this.light({ pointed: part(e) }));
    root.addEventListener("pointerleave", () => this.light({ pointed: null }));
    root.addEventListener("focusin", (e) => this.light({ focused: byKeyboard(e) ? part(e) : null }));
    root.addEventListener("focusout", () => this.light({ focused: null }));
    root.addEventListener("click", (e) => {
      const pressed = part(e);
      if (pressed) this.light({ pressed: this.lights.pressed === pressed ? null : pressed });
    });
  }

  /**
   * Highlight the elements of a statistic, in the cube and in the pictures.
   * @param {Partial<Lights>} change
   */
  light(change) {
    Object.assign(this.lights, change);
    const { pointed, focused, pressed } = this.lights;
    const part = pointed ?? focused ?? pressed;
    for (const button of this.statistics.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(pressed === button.dataset.part));
    }
    if (part === (this.root.dataset.lit || null)) return;
    this.root.dataset.lit = part ?? "";
    sendEvent("nv-part", { part });
    this.strip.light(part);
  }

  /**
   * @param {ElementData} data
   * @param {SetValue} setStateValue
   */
  update(data, setStateValue) {
    this.data = data;
    this.setStateValue = setStateValue;
    this.lock = data.focus;
    for (const [name, colour] of Object.entries(data.colours)) this.root.style.setProperty(`--${name}`, colour);
    this.build(this.where, `${data.fields.map(drawField).join("")}<p>${data.says}</p>`);
    this.build(this.indices, data.axes.map(drawIndex).join(""));
    this.build(this.statistics, data.statistics.map((each) => drawStatistic(each, data.fields.length > 1)).join(""));
    this.build(this.lines, data.lines.map(drawLine).join(""));
    /** @param {string | null} part */
    const still = (part) => (data.statistics.some(({ name }) => name === part) ? part : null);
    const { pointed, focused, pressed } = this.lights;
    this.light({ pointed: still(pointed), focused: still(focused), pressed: still(pressed) });
    find(this.root, ".nv-note", HTMLElement).textContent = data.note;
    this.strip.take(data);
    this.show();
    countDrawing(this.root);
  }

  /**
   * Fill a part with markup. Unchanged nodes stay, with their highlight, focus and input.
   * @param {HTMLElement} part
   * @param {string} markup
   */
  build(part, markup) {
    if (this.built.get(part) === markup) return;
    this.built.set(part, markup);
    const lit = [...part.querySelectorAll(".nv-lit")].map(({ className }) => className);
    part.innerHTML = markup;
    for (const line of part.children) {
      if (part !== this.indices) this.heights.observe(line);
      if (lit.includes(`${line.className} nv-lit`)) line.classList.add("nv-lit");
    }
    for (const input of part.querySelectorAll("input")) {
      input.oninput = () => {
        input.dataset.typed = "";
      };
      input.onblur = () => {
        delete input.dataset.typed;
        this.show();
      };
      input.onchange = () => {
        delete input.dataset.typed;
        this.fix(Number(input.dataset.axis), Number(input.value));
      };
    }
  }

  /**
   * Lock another index along an axis: in the cube at once, and with the server.
   * @param {number} axis
   * @param {number} value
   */
  fix(axis, value) {
    const index = [...this.lock];
    const last = this.data.axes[axis][1];
    if (Number.isFinite(value)) index[axis] = Math.max(0, Math.min(Math.round(value), last));
    this.lock = this.heard = index;
    sendEvent("nv-lock", { index });
    this.show();
    this.setStateValue("focus", [...index, Date.now()]); // the time makes the same index a new value
  }

  /** Write the words and numbers of the cube's element, or of the locked one if that is out of the shape. */
  show() {
    const { data } = this;
    const { shape } = data;
    const index = this.heard?.every((i, axis) => i < shape[axis]) ? this.heard : data.focus;
    data.fields.forEach((field, k) => {
      find(this.where.children[k], "b", HTMLElement).textContent = writeField(field, field.words, index, shape);
    });
    for (const input of this.indices.querySelectorAll("input")) {
      if (!("typed" in input.dataset)) input.value = String(index[Number(input.dataset.axis)]);
    }
    const form = readForm(data, index);
    for (const line of [...this.statistics.children, ...this.lines.children]) {
      [...line.children].forEach((span, k, all) => {
        span.toggleAttribute("hidden", all.length > 1 && k !== form);
      });
    }
    /** @type {NodeListOf<MathMLElement>} */
    const places = this.root.querySelectorAll("[data-number]");
    for (const place of places) {
      const { number = "", bracketed } = place.dataset;
      const text = writeNumber(data, number, bracketed !== undefined, index);
      if (place.textContent !== text) place.textContent = text;
    }
    for (const button of this.statistics.querySelectorAll("button")) {
      // some screen readers do not read MathML on a button
      button.setAttribute("aria-label", button.querySelector("span:not([hidden])")?.textContent ?? "");
    }
    this.strip.mark(index);
  }
}

export default mount(".nv-element", ElementPanel);
