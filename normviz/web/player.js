// Controls that play a picture: its position is a number from 0 to `last`, or null while nothing is played.

import { find, makeElement } from "./dom.js";

const ICONS = {
  play: '<path d="M4 2l10 6-10 6z"/>',
  pause: '<path d="M3 2h4v12H3zM9 2h4v12H9z"/>',
  back: '<path d="M2 2h2v12H2zM14 2v12L5 8z"/>',
  step: '<path d="M12 2h2v12h-2zM2 2v12l9-6z"/>',
  close: '<path d="M3 2l5 4.6L13 2l1 1-4.6 5L14 13l-1 1-5-4.6L3 14l-1-1 4.6-5L2 3z"/>',
};
const LONGEST = 100; // ms between two frames; a page that was hidden goes on where it was

/** The visitor's preference for less motion. */
export const reducedMotion = {
  get matches() {
    return matchMedia("(prefers-reduced-motion: reduce)").matches;
  },
};

/**
 * Set the icon, name and text of a button, unless it already has this name.
 * @param {HTMLButtonElement} button
 * @param {keyof typeof ICONS} icon
 * @param {string} name
 * @param {string} text
 */
export function labelButton(button, icon, name, text = "") {
  if (button.title === name) return;
  button.innerHTML = `<svg viewBox="0 0 16 16" aria-hidden="true" fill="currentColor">${ICONS[icon]}</svg>`;
  button.append(makeElement("span", { textContent: text }));
  button.setAttribute("aria-label", text || name);
  button.title = name;
}

/**
 * The elements of the controls.
 * @typedef {object} Parts
 * @property {HTMLElement} bar
 * @property {HTMLButtonElement} play
 * @property {HTMLButtonElement} back
 * @property {HTMLButtonElement} step
 * @property {HTMLInputElement} input the slider
 */

/** The playback of a picture; a subclass defines its last position, its next position, and its look. */
export class Player {
  /** @type {number | null} */
  position = null;
  playing = false;
  parts = /** @type {Parts} */ (/** @type {unknown} */ (undefined)); // until `build`

  /** The last position. */
  get last() {
    return 0;
  }

  /**
   * Return the position after some milliseconds.
   * @param {number} position
   * @param {number} _passed
   */
  next(position, _passed) {
    return position;
  }

  /**
   * Draw the picture at a position.
   * @param {number | null} _position
   */
  show(_position) {}

  /**
   * Fill an element with the controls.
   * @param {HTMLElement} bar
   * @param {string} group name of the controls
   * @param {string} slider name of the slider
   * @param {number} unit step of the slider
   */
  build(bar, group, slider, unit) {
    bar.classList.add("nv-player");
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", group);
    bar.innerHTML = `${["play", "back", "step"].map((name) => `<button type="button" class="${name}"></button>`).join("")}
      <input type="range" min="0" step="${unit}" aria-label="${slider}">`;
    const [play, back, step] = [".play", ".back", ".step"].map((name) => find(bar, name, HTMLButtonElement));
    const input = find(bar, "input", HTMLInputElement);
    this.parts = { bar, play, back, step, input };
    play.onclick = () => (this.playing ? this.pause() : this.play());
    back.onclick = () => this.go(Math.ceil(this.position ?? 0) - 1);
    step.onclick = () => this.go(this.position === null ? 0 : Math.floor(this.position) + 1);
    input.oninput = () => this.go(Number(input.value));
    labelButton(back, "back", "Back", "Back");
    labelButton(step, "step", "Step", "Step");
  }

  /**
   * Stop, and move to a position between 0 and the last.
   * @param {number | null} position
   */
  go(position) {
    this.pause();
    this.set(position === null ? null : Math.min(Math.max(position, 0), this.last));
  }

  /**
   * Move to a position without drawing it.
   * @param {number | null} position
   */
  place(position) {
    this.position = position;
  }

  /**
   * Move to a position.
   * @param {number | null} position
   */
  set(position) {
    this.place(position);
    this.tell();
    this.show(position);
  }

  play() {
    this.playing = true;
    let position = this.position;
    if (position === null || position >= this.last) this.set(0);
    let before = performance.now();
    /** @param {number} now */
    const tick = (now) => {
      position = this.position;
      if (!this.playing || position === null) return;
      const next = this.next(position, Math.min(now - before, LONGEST));
      before = now;
      if (next >= this.last) this.playing = false;
      if (next !== position) this.set(next);
      if (this.playing) requestAnimationFrame(tick);
    };
    this.tell();
    requestAnimationFrame(tick);
  }

  pause() {
    if (!this.playing) return;
    this.playing = false;
    this.tell();
  }

  /**
   * Update the controls to the position.
   * @param {string} start text of the first button `before` it has been pressed
   * @param {string} says the position in words
   */
  tell(start = "", says = "", before = this.position === null) {
    const { play, back, step, input } = this.parts;
    const { position } = this;
    if (this.playing) labelButton(play, "pause", "Pause");
    else if (before) labelButton(play, "play", start, start);
    else labelButton(play, "play", "Play");
    for (const part of [back, step, input]) part.hidden = position === null;
    back.disabled = position !== null && position <= 0;
    step.disabled = position !== null && position >= this.last;
    input.max = String(this.last);
    input.value = String(position ?? 0);
    input.setAttribute("aria-valuetext", says);
  }
}
