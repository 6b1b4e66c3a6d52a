// A slider that sends while it is dragged: one value at a time, the latest, as fast as the page follows.

import { readLatest } from "./data.js";
import { find } from "./dom.js";

/** @import {Given} from "./component.d.ts" */

/**
 * What `drag` of normviz/web/components/drag.py sends. `run`, which no browser reads, makes every run an answer.
 * @typedef {{label: string, texts: string[], index: number, run: number, disabled: boolean}} DragData
 */

const PATIENCE = 3000; // ms after which a page that has not answered is sent the next value

/** @type {WeakMap<HTMLElement, Sender>} */
const senders = new WeakMap();

/** Sends the latest of many values, and the next one when the last one is answered. */
export class Sender {
  /** @type {(value: number) => void} */
  send = () => {};
  /** @type {number | undefined} */
  wanted;
  /** @type {number | undefined} */
  waiting;

  /** @param {number} value */
  want(value) {
    this.wanted = value;
    this.next();
  }

  /** Send the next value: the page has answered the last one. */
  answer() {
    clearTimeout(this.waiting);
    this.waiting = undefined;
    this.next();
  }

  next() {
    if (this.wanted === undefined || this.waiting) return;
    const value = this.wanted;
    this.wanted = undefined;
    this.waiting = setTimeout(() => this.answer(), PATIENCE);
    this.send(value);
  }
}

/** @param {Given} given */
export default function ({ data: sent, parentElement, setStateValue }) {
  const root = find(parentElement, ".nv-drag", HTMLElement);
  /** @type {DragData | null} */
  const data = readLatest(root, sent);
  if (!data) return;
  const output = find(root, "output", HTMLOutputElement);
  const input = find(root, "input", HTMLInputElement);
  const sender = senders.get(root) ?? new Sender();
  senders.set(root, sender);
  sender.send = (index) => setStateValue("index", index);

  /** @param {number} index */
  const write = (index) => {
    output.textContent = data.texts[index];
    input.setAttribute("aria-valuetext", data.texts[index]);
    input.style.setProperty("--share", String(index / (data.texts.length - 1)));
  };

  find(root, "span", HTMLElement).textContent = data.label;
  input.disabled = data.disabled;
  input.max = String(data.texts.length - 1);
  input.oninput = () => {
    write(Number(input.value));
    sender.want(Number(input.value));
  };
  if (sender.wanted === undefined) {
    input.value = String(data.index);
    write(data.index);
  }
  sender.answer();
}
