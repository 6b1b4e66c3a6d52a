// Controls that show the inside of a cube: gaps along an axis or between fields, and sliders that cut away the first
// indices of an axis.

import { AXIS_NAMES, findBreaks } from "./cells.js";
import { find } from "./dom.js";

/** @import {Hover} from "./messages.d.ts" */

/**
 * The cube and its current gaps and cuts.
 * @typedef {{hover: Hover, axes: string[], names: string[], gaps: string[], cut: number[]}} InsideState
 *
 * The callback for a visitor's change.
 * @typedef {((name: "gaps", value: string[]) => void) & ((name: "cut", value: number[]) => void)} Change
 */

const PARTS = ["fields", ...AXIS_NAMES];

export class InsideControls {
  /** @type {InsideState | null} */
  now = null;
  made = "";

  /**
   * @param {HTMLDetailsElement} fold
   * @param {Change} change
   */
  constructor(fold, change) {
    this.fold = fold;
    this.root = find(fold, ".nv-inside", HTMLElement);
    this.change = change;
  }

  /**
   * Show the controls for a cube; hide them for null.
   * @param {InsideState | null} now
   */
  take(now) {
    this.now = now;
    const parts = now ? PARTS.filter((part) => hasGaps(now.hover, part)) : [];
    const cuts = now ? [0, 1, 2, 3].filter((axis) => now.hover.shape[axis] > 1) : [];
    this.fold.hidden = !parts.length && !cuts.length;
    if (now && (now.gaps.length || now.cut.some(Boolean))) this.fold.open = true; // as a link has it
    const made = JSON.stringify([parts, cuts, now?.axes, now?.hover.shape]);
    if (made !== this.made) this.build(parts, cuts);
    this.made = made;
    if (!now) return;
    for (const button of this.root.querySelectorAll("button")) {
      button.setAttribute("aria-pressed", String(now.gaps.includes(button.dataset.part ?? "")));
    }
    for (const label of this.root.querySelectorAll("label")) tell(label, now);
  }

  /**
   * Make the buttons of some parts, and the sliders of some axes.
   * @param {string[]} parts
   * @param {number[]} cuts
   */
  build(parts, cuts) {
    const { axes = [], hover } = this.now ?? {};
    /** @type {(part: string) => string} */
    const name = (part) => (part === "fields" ? "Fields" : axes[AXIS_NAMES.indexOf(part)]);
    /** @type {(title: string, inner: string) => string} */
    const row = (title, inner) =>
      inner ? `<div role="group" aria-label="${title}"><span>${title}</span>${inner}</div>` : "";
    /** @type {(part: string) => string} */
    const button = (part) => `<button type="button" data-part="${part}">${name(part)}</button>`;
    /** @type {(axis: number) => string} */
    const slider = (axis) =>
      `<label data-axis="${axis}"><span></span><input type="range" min="0" max="${(hover?.shape[axis] ?? 1) - 1}"
      aria-label="Cut away along ${axes[axis]}"></label>`;
    this.root.innerHTML = row("Pull apart", parts.map(button).join("")) + row("Cut away", cuts.map(slider).join(""));
    for (const each of this.root.querySelectorAll("button")) each.onclick = () => this.press(each.dataset.part ?? "");
    for (const label of this.root.querySelectorAll("label")) {
      const input = find(label, "input", HTMLInputElement);
      input.oninput = () => this.cut(Number(label.dataset.axis), Number(input.value));
    }
  }

  /**
   * Toggle the gaps of a part.
   * @param {string} part
   */
  press(part) {
    const gaps = this.now?.gaps ?? [];
    this.change(
      "gaps",
      PARTS.filter((each) => gaps.includes(each) !== (each === part)),
    );
  }

  /**
   * Cut away the first indices of an axis.
   * @param {number} axis
   * @param {number} count
   */
  cut(axis, count) {
    const cut = this.now?.cut ?? [];
    this.change(
      "cut",
      cut.map((v, each) => (each === axis ? count : v)),
    );
  }
}

/**
 * Return true if a part can be pulled apart. Blocks already have gaps.
 * @param {Hover} hover
 * @param {string} part
 */
const hasGaps = (hover, part) =>
  findBreaks(hover, [part]).some((all, axis) => all.length && !hover.dimensions[3].includes(axis));

/**
 * Update the slider of an axis.
 * @param {HTMLLabelElement} label
 * @param {InsideState} now
 */
function tell(label, { axes, names, cut }) {
  const axis = Number(label.dataset.axis);
  const count = cut[axis];
  const input = find(label, "input", HTMLInputElement);
  input.value = String(count);
  find(label, "span", HTMLElement).textContent = count ? `${names[axis]} < ${count}` : axes[axis];
  input.setAttribute("aria-valuetext", count ? `${names[axis]} below ${count} cut away` : "nothing cut away");
}
