// The locked element, and the element that the pointer or the keyboard shows meanwhile.

import { isSameList } from "./indices.js";
import { SharedList } from "./shared.js";

/** @import {Index} from "./component.d.ts" */

const PAUSE = 250; // ms without another key before the element is locked

/**
 * What follows a selection: `show` lights the selected element, `announce` says it to a screen reader, `send` sends a
 * newly locked element to the server.
 * @typedef {{show: () => void, announce: () => void, send: (index: Index) => void}} SelectionActions
 */

export class Selection {
  /** @type {SharedList<Index>} */
  focus = new SharedList();
  /** @type {Index | null} */
  preview = null;
  timer = 0;

  /** @param {SelectionActions} actions */
  constructor(actions) {
    this.actions = actions;
  }

  /** Return the locked element. */
  get lock() {
    return this.focus.value ?? [];
  }

  /** Return the element to highlight. */
  get current() {
    return this.preview ?? this.lock;
  }

  /**
   * Store the locked element from the server.
   * @param {Index | null} focus
   */
  take(focus) {
    if (this.focus.take(focus)) this.preview = null;
  }

  /**
   * Show the element under the pointer, or the locked one for null.
   * @param {Index | null} index
   */
  point(index) {
    if (!index && !this.preview) return;
    this.preview = index;
    this.actions.show();
  }

  /**
   * Lock an element.
   * @param {Index} index
   * @param {boolean} [isOurs] whether this component sends it; another one may have sent it already
   */
  fix(index, isOurs = true) {
    clearTimeout(this.timer);
    const isLocked = isSameList(index, this.lock);
    if (!isLocked) this.focus.set(index);
    this.actions.show();
    this.actions.announce();
    if (!isLocked && isOurs) this.actions.send(index);
  }

  /**
   * Show an element selected by the keyboard, and lock it after a pause.
   * @param {Index} index
   */
  walkTo(index) {
    this.preview = index;
    this.actions.show();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.fix(index), PAUSE);
  }
}
