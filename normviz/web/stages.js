// What a scheme does to the tensor, played stage by stage in the cube itself: cells move to where their stage has them,
// and take its colours. The position is a number of stages, with what is between two of them behind the point.

import { find, makeElement } from "./dom.js";
import { labelButton, Player, reducedMotion } from "./player.js";
import { broadcastStatistic } from "./statistics.js";

const MOVE = 1100;
const REST = 1500; // ms from stage to stage, and at each
/** @type {Record<string, string>} */
const ROLES = { centred: "mean", normalized: "divides" }; // what a formula is about

/** @import {PlayedStage, PlayedStages, StageLook} from "./messages.d.ts" */
/** @import {Standing} from "./cells.js" */

/**
 * Where the cells are at a position, their levels, and the look of their trace. `sliding`: the flat index of the element
 * whose value comes next, where values come one by one; `still`: the cells stand as at the start; `collapsed`: the number
 * of the place where they have come together, else 0; `role`: the statistic that the stage is about.
 * @typedef {Standing & {levels: Float32Array, look: StageLook["trace"], sliding: number | null, still: boolean,
 *   collapsed: number, role: string | undefined}} Staged
 *
 * The tensor of the stages: its shape, the names of its axes, and the colours of its statistics.
 * @typedef {{shape: number[], axes: string[], hues: () => Record<string, string>}} Tensor
 */

/** @type {(a: number, b: number, share: number) => number} */
const interpolate = (a, b, share) => a + (b - a) * share;

/**
 * Return the look of the cells at a position of the stages.
 * @param {PlayedStages} stages
 * @param {Standing[]} places where the cells stand, by the number of the place
 * @param {number} position
 * @param {number[]} shape of the tensor
 * @returns {Staged}
 */
export function interpolateStages({ list, looks, band }, places, position, shape) {
  const from = list[Math.floor(position)];
  const to = list[Math.min(Math.floor(position) + 1, list.length - 1)];
  const part = position - Math.floor(position);
  const share = part * part * (3 - 2 * part);
  const [a, b] = [places[from.place], places[to.place]];
  const offsets =
    a === b
      ? a.offsets
      : a.offsets.map((offset, axis) =>
          offset.map((at, i) => [0, 1, 2].map((d) => interpolate(at[d], b.offsets[axis][i][d], share))),
        );
  const [old, young] = [from, to].map((stage) => broadcastStatistic(stage, shape));
  const levels = new Float32Array(old.length);
  const done = to.slides && part > 0 ? part * levels.length : null;
  /** @type {(value: number, look: StageLook) => number} */
  const level = (value, { largest }) =>
    Number.isFinite(value) ? ((value / largest + 1) / 2) * (255 - band) + band : 0;
  for (let cell = 0; cell < levels.length; cell++) {
    const [before, after] = [level(old[cell], looks[from.look]), level(young[cell], looks[to.look])];
    levels[cell] = done === null ? interpolate(before, after, share) : cell < done ? after : before;
  }
  return {
    offsets,
    size: [0, 1, 2].map((d) => interpolate(a.size[d], b.size[d], share)),
    levels,
    look: looks[(part > 0 ? to : from).look].trace,
    sliding: done === null ? null : Math.floor(done),
    still: a === b && a === places[0],
    collapsed: part === 0 ? from.place : 0,
    role: ROLES[list[Math.ceil(position)].line],
  };
}

export class Stages extends Player {
  /** @type {PlayedStages | null} */
  stages = null;
  tensor = /** @type {Tensor} */ ({});
  chain = makeElement("ol", { className: "nv-chain", ariaLabel: "The steps" });
  reason = makeElement("p");
  close = makeElement("button", { type: "button" });
  isBuilt = false;
  written = "";
  rest = 0;

  /**
   * @param {HTMLElement} root for the controls and the chain of steps
   * @param {HTMLElement} told for the words of a stage, and large letters that say what is done along each axis
   * @param {(position: number | null) => void} show shows the picture at a position; at null, as it is otherwise
   */
  constructor(root, told, show) {
    super();
    this.root = root;
    this.board = find(told, ".nv-board", HTMLElement);
    this.sentence = find(told, "p", HTMLElement);
    this.show = show;
  }

  fill() {
    const { root, chain, close, reason } = this;
    const bar = makeElement("div");
    this.build(bar, "Watch it happen", "Stage", 0.05);
    bar.append(close);
    root.replaceChildren(bar, chain, reason);
    close.onclick = () => this.go(null);
    labelButton(close, "close", "Close", "Close");
    this.isBuilt = true;
  }

  /**
   * Replace the stages; keep the position if it still exists.
   * @param {PlayedStages | null} stages
   * @param {string} reason why there are none
   * @param {Tensor} tensor
   */
  take(stages, reason, tensor) {
    Object.assign(this, { stages, tensor });
    this.root.hidden = !stages && !reason;
    if (this.root.hidden && !this.isBuilt) return;
    if (!this.isBuilt) this.fill();
    this.parts.bar.hidden = this.chain.hidden = !stages;
    this.reason.textContent = stages ? "" : reason;
    if (!stages) {
      this.pause();
      this.place(null);
      this.sentence.textContent = "";
      this.root.classList.remove("nv-on");
      this.light("");
      this.write(null);
      return;
    }
    const steps = [...new Set(stages.list.map(({ symbol }) => symbol))];
    this.chain.replaceChildren(...steps.map((textContent) => makeElement("li", { textContent })));
    if (this.position !== null) this.place(Math.min(this.position, this.last));
    this.tell();
  }

  get last() {
    return (this.stages?.list.length ?? 1) - 1;
  }

  play() {
    this.rest = REST;
    super.play();
  }

  /**
   * Return the position after some milliseconds: it rests at each stage.
   * @param {number} position
   * @param {number} passed
   */
  next(position, passed) {
    if (this.rest > 0) {
      this.rest -= passed;
      return position;
    }
    const end = Math.floor(position) + 1;
    const next = reducedMotion.matches ? end : Math.min(position + passed / MOVE, end);
    if (next === end) this.rest = REST;
    return next;
  }

  /** Update the words, the chain, the buttons and the highlighted formula to the current stage. */
  tell() {
    const { position, stages, sentence, close, root, chain } = this;
    if (!stages) return;
    const number = position === null ? null : Math.ceil(position);
    const stage = number === null ? null : stages.list[number];
    const text = stage ? `${Number(number) + 1} / ${this.last + 1}  ${stage.says} Colour: ${stage.symbol}.` : "";
    if (sentence.textContent !== text) sentence.textContent = text;
    for (const step of chain.children) {
      if (step.textContent === stage?.symbol) step.setAttribute("aria-current", "step");
      else step.removeAttribute("aria-current");
    }
    super.tell("Watch it happen", stage?.says ?? "");
    close.hidden = !stage;
    root.classList.toggle("nv-on", Boolean(stage));
    this.light(stage?.line ?? "");
    this.write(stage);
  }

  /**
   * Write the lengths of the axes and their change on the board: "N 4 → 1 averaged"; clear it for null.
   * @param {PlayedStage | null} stage
   */
  write(stage) {
    const { shape, axes, hues } = this.tensor;
    const html = stage ? shape.map((n, axis) => writeAxis(stage, axes[axis], axis, n)).join("") : "";
    if (html === this.written) return;
    this.written = html;
    this.board.innerHTML = html;
    if (stage?.axes.length) this.board.style.setProperty("--nv-role", hues()[ROLES[stage.line]]);
  }

  /**
   * Highlight the formula of a line; "" for none.
   * @param {string} line
   */
  light(line) {
    for (const formula of document.querySelectorAll('[class*="st-key-line-"]')) {
      formula.classList.toggle("nv-lit", Boolean(line) && formula.classList.contains(`st-key-line-${line}`));
    }
  }
}

/**
 * Return the change of an axis at a stage, in HTML.
 * @param {PlayedStage} stage
 * @param {string} name of the axis
 * @param {number} axis
 * @param {number} n its length in the tensor
 */
function writeAxis(stage, name, axis, n) {
  const [count, done] = stage.axes[axis] ?? [n, ""];
  const isBack = !stage.place && !stage.slides;
  const lengths = count === n || stage.slides ? [n] : isBack ? [count, n] : [n, count];
  const less = ["", "kept"].includes(done) ? "" : "nv-less";
  return `<span class="${less}"><b>${name} ${lengths.join(" → ")}</b>${done}</span>`;
}
