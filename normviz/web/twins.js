// The losses of a network and its twin: two curves and the area between them, shown up to the step that the player is
// at.

import { drawArea, drawCurve, findTicks } from "./curves.js";
import { formatNumber, readLatest } from "./data.js";
import { countDrawing, find, makeElement } from "./dom.js";
import { Player, reducedMotion } from "./player.js";

/** @import {Given, Numbers} from "./component.d.ts" */

/**
 * What `loss_plot` and `output_plot` of normviz/topics/table1/twin_plot.py send, with what `show_twin_curves` adds.
 * @typedef {object} TwinsData
 * @property {string} alt
 * @property {string} x name of the axis
 * @property {string} y name of the axis
 * @property {number} count of places along x
 * @property {number} low
 * @property {number} high
 * @property {Numbers} first
 * @property {Numbers} second
 * @property {boolean} plays
 * @property {[string, string]} names
 * @property {[string, string]} colours
 */

const WHOLE = 6000; // ms of the whole playback
const STEPS = 10; // number of steps of the playback with reduced motion
/** @type {WeakMap<HTMLElement, Training>} */
const plots = new WeakMap();

/** The playback of the training of a network and its twin. */
class Training extends Player {
  waited = 0; // ms since the last step, where motion is reduced

  /**
   * @param {HTMLElement} root
   * @param {TwinsData} data
   */
  constructor(root, data) {
    super();
    this.root = root;
    this.data = data;
    this.build(find(root, ".nv-bar", HTMLElement), "Watch them train", "Step", 1);
    this.output = find(root, "output", HTMLOutputElement);
  }

  get last() {
    return this.data.first.length;
  }

  /**
   * Replace the curves; a player at its end stays at the end, others keep their position.
   * @param {TwinsData} data
   */
  take(data) {
    const isOver = this.position === null || this.position >= this.last;
    this.data = data;
    this.place(isOver ? this.last : Math.min(this.position ?? 0, this.last));
    this.waited = 0;
  }

  /**
   * @param {number} position
   * @param {number} passed
   */
  next(position, passed) {
    if (!reducedMotion.matches) return Math.min(position + (this.last * passed) / WHOLE, this.last);
    this.waited += passed;
    if (this.waited < WHOLE / STEPS) return position;
    this.waited = 0;
    return Math.min(Math.floor(position) + Math.max(Math.round(this.last / STEPS), 1), this.last);
  }

  /** @param {number} position */
  show(position) {
    const shown = position >= this.last ? 1 : position / this.data.count;
    this.root.style.setProperty("--hidden", `${100 * (1 - shown)}%`);
  }

  tell() {
    const { first, second, count, names } = this.data;
    const position = this.position ?? 0;
    const step = Math.floor(position);
    const losses = [first, second].map((values, k) => `${names[k]} ${step ? formatNumber(values[step - 1], 3) : "–"}`);
    this.output.hidden = position >= this.last;
    this.output.textContent = `step ${step} of ${count}: ${losses.join(", ")}`;
    super.tell("Watch them train", `step ${step} of ${count}`, position >= this.last);
    this.parts.back.hidden = this.parts.step.hidden = this.parts.input.hidden = position >= this.last;
    this.parts.play.disabled = !this.last;
  }
}

/**
 * @param {HTMLElement} root
 * @param {TwinsData} data
 */
function drawPlot(root, { x, y, count, low, high, first, second, names, alt }) {
  const axes = { count, low, high: high + 0.04 * (high - low) };
  const share = (/** @type {number} */ value) => 100 * (1 - (value - low) / (axes.high - low));
  const labels = [
    ...findTicks(low, high, 5).map((value) => ({ value, name: "tick y", top: share(value), left: 0 })),
    ...findTicks(0, count, 5).map((value) => ({ value, name: "tick x", top: 100, left: (100 * value) / count })),
  ].map(({ value, name, top, left }) => {
    const label = makeElement("span", { className: name, textContent: formatNumber(value, 6) });
    Object.assign(label.style, { top: `${top}%`, left: `${left}%` });
    return label;
  });
  const frame = find(root, ".frame", HTMLElement);
  frame.querySelectorAll("span").forEach((each) => {
    each.remove();
  });
  frame.setAttribute("role", "img");
  frame.setAttribute("aria-label", alt);
  frame.append(...labels, makeElement("span", { className: "title", textContent: x }));
  find(root, ".board", SVGElement).innerHTML = `
    <path class="lines" d="${findTicks(low, high, 5)
      .map((value) => `M0 ${share(value)}H100`)
      .join("")}"/>
    <g><path class="area" d="${drawArea(first, second, axes)}"/><path class="first" d="${drawCurve(first, axes)}"/>
    <path class="second" d="${drawCurve(second, axes)}"/></g>`;
  const key = names.map((name, k) =>
    makeElement("span", { className: k ? "second" : "first" }, makeElement("i"), name),
  );
  find(root, ".key", HTMLElement).replaceChildren(makeElement("b", { textContent: y }), ...key);
}

/** @param {Given} given */
export default function ({ data: sent, parentElement, setStateValue }) {
  const root = find(parentElement, ".nv-twins", HTMLElement);
  /** @type {TwinsData | null} */
  const data = readLatest(root, sent);
  if (!data) return;
  const training = plots.get(root) ?? new Training(root, data);
  plots.set(root, training);
  root.ontransitionend = ({ target }) => {
    // the theme changed: the server has the colours
    if (target === root) setStateValue("theme", getComputedStyle(root).color);
  };
  data.colours.forEach((colour, k) => {
    root.style.setProperty(k ? "--second" : "--first", colour);
  });
  training.take(data);
  drawPlot(root, data);
  training.parts.bar.hidden = !data.plays;
  training.tell();
  training.show(training.position ?? 0);
  countDrawing(root);
}
